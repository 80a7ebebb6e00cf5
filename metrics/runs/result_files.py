"""Files that the harness wrote for one run: found, parsed strictly, and checked against each other.

`results_<time>.json` (or `NAME_<time>.json`, for --output_path NAME.json) holds scores and configuration of one go, and
`samples_<task>_<time>.jsonl` the documents of one task, one a line. Every samples file belongs to exactly one results file of
its time, and the other way round. The documents must give every number of the results file, and their metrics must be what
their rows and responses give (`rescoring`).
"""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_tasks.metrics.outcomes.roles import score_of_sides
from lm_eval_tasks.metrics.runs.rescoring import FILTER, hash_of_documents, problems
from lm_eval_tasks.metrics.runs.result_form import SECTIONS, problem_of_results

_TIME = r"(?P<time>\d{4}-\d\d-\d\dT[\d.:-]+)"
_RESULTS = re.compile(rf".+_{_TIME}\.json")
_SAMPLES = re.compile(rf"samples_(?P<task>.+)_{_TIME}\.jsonl")

__all__ = ["FILTER", "Document", "EvidenceError", "Go", "aggregate", "find_goes", "find_samples", "read_documents"]

Document = dict[str, Any]


class EvidenceError(ValueError):
    """Results that cannot be used; the message says which file and why."""


class Go(NamedTuple):
    """One results file: where it lies, when it was written, and what it holds."""

    path: Path
    time: str
    content: Mapping[str, Any]


def find_goes(folder: Path) -> list[Go]:
    """Results files below `folder` in order of time. Raises EvidenceError."""
    found: dict[str, Go] = {}
    for path in sorted(folder.rglob("*.json")):
        if match := _RESULTS.fullmatch(path.name):
            content = _parse(path, _text(path))
            if not isinstance(content, dict) or not content.keys() >= set(SECTIONS):
                raise EvidenceError(f"{path} is not a results file of lm-eval. Remove it or run again.")
            if other := found.get(match["time"]):
                raise EvidenceError(
                    f"{other.path} and {path} carry the same time: two runs, or a copy. Give each run a folder of its own."
                )
            found[match["time"]] = Go(path, match["time"], content)
    for go in found.values():
        if problem := problem_of_results(go.content, go.time):
            raise EvidenceError(f"{go.path}: {problem}. The file was changed after the run; run again.")
    if not found:
        raise EvidenceError(f"{folder} holds no results files. Run with --output_path {folder} --log_samples.")
    return [found[time] for time in sorted(found)]


def find_samples(folder: Path, goes: list[Go]) -> dict[tuple[str, str], Path]:
    """Samples files below `folder` by task and time, each of them of one of the goes. Raises EvidenceError."""
    times = {go.time: go for go in goes}
    found: dict[tuple[str, str], Path] = {}
    for path in sorted(folder.rglob("samples_*.jsonl")):
        match = _SAMPLES.fullmatch(path.name)
        if match is None:
            raise EvidenceError(f"{path} is not named as lm-eval names samples. Remove it or run again.")
        go = times.get(match["time"])
        if go is None or match["task"] not in go.content["configs"] or path.parent != go.path.parent:
            raise EvidenceError(
                f"{path} belongs to no results file beside it of its time and task: it is of another run, or that run did not "
                "end. Give each run a folder of its own, and remove what is left of others."
            )
        found[match["task"], match["time"]] = path
    if not found:
        raise EvidenceError(f"{folder} holds no samples files. Run with --log_samples --output_path {folder}.")
    return found


def read_documents(go: Go, task: str, path: Path) -> list[Document]:
    """The documents of a task in order of `doc_id`, checked one by one and against the results file. Raises EvidenceError."""
    lines = _text(path).split("\n")
    if lines.pop():
        raise EvidenceError(f"{path} ends in the middle of a line: it is cut short. Run again.")
    documents = [_parse(path, line, number) for number, line in enumerate(lines, start=1)]
    if any("bypass" in _names(document) for document in documents):
        raise EvidenceError(f"{path} is of a run of --predict_only, which measures nothing. Run without it.")
    for number, problem in problems(documents):
        raise EvidenceError(
            f"{path} line {number}{_named(documents[number - 1])}: {problem}. The file was changed after the run, or its "
            "answers were read by the rules of another version (`lm-eval-bias reread` reads them again). Else run again."
        )
    _check_numbers(go, task, path, documents)
    return sorted(documents, key=lambda document: int(document["doc_id"]))


def _check_numbers(go: Go, task: str, path: Path, documents: list[Document]) -> None:
    ids = [document["doc_id"] for document in documents]
    if twice := {one for one in ids if ids.count(one) > 1} if len(set(ids)) < len(ids) else set():
        raise EvidenceError(
            f"{path} holds document {min(twice)} twice: --samples named it twice, or the file was changed. Run again."
        )
    n_original, n_effective = (go.content["n-samples"][task][key] for key in ("original", "effective"))
    if len(documents) != n_effective:
        raise EvidenceError(f"{path} holds {len(documents)} documents, {go.path.name} says {n_effective}: it is cut short.")
    if ids and not 0 <= min(ids) <= max(ids) < n_original:
        raise EvidenceError(
            f"{path} holds the documents {min(ids)} to {max(ids)}, and {go.path.name} says that the task has {n_original}, "
            "from 0 on. One of the files was changed after the run; run again."
        )
    metrics = {tuple(document["metrics"]) for document in documents}
    if len(metrics) > 1:
        raise EvidenceError(f"{path}: documents have different metrics. The file was changed after the run; run again.")
    if go.content["task_hashes"].get(task) != hash_of_documents(documents):
        raise EvidenceError(
            f"{path}: its documents are not those that {go.path.name} was written with, or in another order (task_hashes). "
            "One of the files was changed after the run; run again."
        )
    _check_scores(go, task, documents)


def _check_scores(go: Go, task: str, documents: list[Document]) -> None:
    scores = go.content["results"].get(task, {})
    for metric in documents[0]["metrics"] if documents else ():
        written = scores.get(f"{metric},{FILTER}")
        expected = aggregate(metric, [document[metric] for document in documents])
        if not _same(written, expected):
            raise EvidenceError(
                f"{go.path}: {metric} of {task} is {written}, but its samples give {expected}. "
                "One of the files was changed after the run; run again."
            )


def aggregate(metric: str, values: list[float]) -> float | str:
    """What a task makes of the values of its documents."""
    if metric.startswith("bias_score"):
        return score_of_sides(values)
    return math.fsum(values) if metric.startswith("n_") else math.fsum(values) / len(values)


def _same(written: Any, expected: float | str) -> bool:
    if isinstance(expected, str) or isinstance(written, str):
        return bool(written == expected)
    is_number = isinstance(written, int | float) and not isinstance(written, bool)
    return is_number and math.isclose(written, expected, abs_tol=1e-9)


def _names(document: Any) -> Any:
    metrics = document.get("metrics") if isinstance(document, dict) else None
    return metrics if isinstance(metrics, list) else ()


def _named(document: Any) -> str:
    return f" (document {document['doc_id']})" if isinstance(document, dict) and "doc_id" in document else ""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise EvidenceError(f"{path} is not UTF-8 text: {error}. The file is damaged; run again.") from error


def _parse(path: Path, text: str, line: int = 1) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise EvidenceError(f"{path} line {line}: {error}. The file is damaged; run again.") from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")
