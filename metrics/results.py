"""Reading what the harness wrote: the only place that knows the form of its samples files.

`samples_<task>_<time>.jsonl` holds one document a line. Several runs may have written to one folder: the newest file of a
task counts. Several processes may have permuted the lines: they are sorted by `doc_id`.
"""

import json
import re
from pathlib import Path
from typing import Any

_SAMPLES = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[\d.:-]+)\.jsonl")


class EvidenceError(ValueError):
    """Results that cannot be used; the message says which file and why."""


def read_samples(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Documents by task, from the newest samples file of each task below `folder`. Raises EvidenceError."""
    newest: dict[str, tuple[str, Path]] = {}
    for path in sorted(folder.rglob("samples_*.jsonl")):
        if match := _SAMPLES.fullmatch(path.name):
            newest[match["task"]] = max(newest.get(match["task"], ("", path)), (match["time"], path))
    if not newest:
        raise EvidenceError(f"{folder} holds no samples files. Run with --log_samples --output_path {folder}.")
    return {task: _documents(path) for task, (_, path) in sorted(newest.items())}


def _documents(path: Path) -> list[dict[str, Any]]:
    documents = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], start=1):
        try:
            documents.append(json.loads(line, parse_constant=_refuse))
        except ValueError as error:
            raise EvidenceError(f"{path} line {number}: {error}. The file is damaged; run again.") from error
    return sorted(documents, key=lambda document: int(document["doc_id"]))


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")
