"""Read the logged answers of older results by the rules of this version, and say what changed.

    lm-eval-bias reread DIR [--output NEW]

A run logs every answer, so a better reading needs no new run. Prints, for each task of questions or Bangla prompts, how many
answers are read otherwise than the files say, from what to what. With --output, the run is written to a new folder with the
outcomes and scores of this version; the files say which version read them (`answers_read_by`). Nothing in DIR is changed, and
pairs of sentences have nothing to read.

Exit codes: 0 done, 2 usage error, 5 files that are not what the harness writes.
"""

import argparse
import json
import math
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval_tasks import __version__
from lm_eval_tasks.metrics.outcomes.documents import metrics_of
from lm_eval_tasks.metrics.runs.results import FILTER, Document, EvidenceError, aggregate
from lm_eval_tasks.scripts.report.examples import outcome_of
from lm_eval_tasks.scripts.shared.folders import FolderError, existing_folder
from lm_eval_tasks.scripts.shared.streams import guarded

READ_BY = "answers_read_by"  # metadata key
Changes = Counter[tuple[str, str]]


def main(arguments: Sequence[str]) -> int:
    """Entry point; returns the exit code."""
    return guarded(_main, arguments)


def _main(arguments: Sequence[str]) -> int:
    chosen = _parser().parse_args(arguments)
    try:
        folder = existing_folder(chosen.folder)
        if chosen.output and chosen.output.exists():
            raise FolderError(f"{chosen.output} exists, and nothing is overwritten. Name a new folder with --output.")
        made = list(_read_again(folder))
    except FolderError as error:
        print(f"lm-eval-bias reread: {error}", file=sys.stderr)
        return 2
    except EvidenceError as error:
        print(f"lm-eval-bias reread: {error}", file=sys.stderr)
        return 5
    for path, documents in made:
        print(_changes_line(path, documents))
    if chosen.output:
        _write(folder, chosen.output, made)
        print(f"written to {chosen.output}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lm-eval-bias reread", description="Read logged answers by the rules of this version."
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="results folder of a run, with samples")
    parser.add_argument("--output", type=Path, metavar="NEW", help="folder to write the run to, as this version reads it")
    return parser


def _read_again(folder: Path) -> Iterator[tuple[Path, list[tuple[Document, Document]]]]:
    """Samples files with answers, each with its documents as they are and as this version reads them."""
    paths = sorted(folder.rglob("samples_*.jsonl"))
    found = [(path, [_document(path, line, n) for n, line in enumerate(_lines(path), start=1)]) for path in paths]
    with_answers = [(path, documents) for path, documents in found if documents and _is_answered(documents[0])]
    if not with_answers:
        raise EvidenceError(f"{folder} holds no samples of questions or Bangla prompts: there is nothing to read again.")
    for path, documents in with_answers:
        yield path, [(document, document | metrics_of(document)) for document in documents]


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="backslashreplace").split("\n")[:-1]


def _document(path: Path, line: str, number: int) -> Document:
    try:
        document: Document = json.loads(line)
        if not isinstance(document["doc"], dict) or not isinstance(document["filtered_resps"], list):
            raise TypeError("doc or filtered_resps of another type")
    except (ValueError, KeyError, TypeError) as error:
        raise EvidenceError(
            f"{path} line {number} is not what the harness writes ({type(error).__name__}: {error})."
        ) from error
    return document


def _is_answered(document: Document) -> bool:
    return "invalid_rate" in document.get("metrics", ())


def _changes_line(path: Path, documents: Sequence[tuple[Document, Document]]) -> str:
    changes: Changes = Counter((outcome_of(old), outcome_of(new)) for old, new in documents)
    changed = {pair: n for pair, n in changes.items() if pair[0] != pair[1]}
    listed = ", ".join(
        f"{old} → {new} {n:,}" for (old, new), n in sorted(changed.items(), key=lambda item: (-item[1], item[0]))
    )
    task = path.name.removeprefix("samples_").rpartition("_")[0]
    return f"{task}: {sum(changed.values()):,} of {len(documents):,} answers are read otherwise{': ' if listed else ''}{listed}"


def _write(folder: Path, output: Path, made: Sequence[tuple[Path, list[tuple[Document, Document]]]]) -> None:
    shutil.copytree(folder, output)
    by_task: dict[tuple[str, str], list[Document]] = {}
    for path, documents in made:
        news = [new for _, new in documents]
        text = "".join(json.dumps(new, ensure_ascii=False) + "\n" for new in news)
        (output / path.relative_to(folder)).write_text(text, encoding="utf-8", errors="backslashreplace")
        task, _, time = path.stem.removeprefix("samples_").rpartition("_")
        by_task[task, time] = news
    for path in output.rglob("results_*.json"):
        time = path.stem.removeprefix("results_")
        results = json.loads(path.read_text(encoding="utf-8"))
        for (task, of), news in by_task.items():
            if of == time:
                results["results"][task] |= _scores(news)
                results["configs"][task].setdefault("metadata", {})[READ_BY] = __version__
        _average_groups(results)
        path.write_text(json.dumps(results, indent=2, ensure_ascii=False), encoding="utf-8")


def _scores(documents: Sequence[Document]) -> dict[str, float | str]:
    found: dict[str, float | str] = {}
    for metric in documents[0]["metrics"]:
        values = [float(document[metric]) for document in documents]
        found[f"{metric},{FILTER}"] = aggregate(metric, values)
        found[f"{metric}_stderr,{FILTER}"] = _standard_error(values) if metric.endswith("_rate") else "N/A"
    return found


def _standard_error(values: Sequence[float]) -> float | str:
    n = len(values)
    if n < 2:
        return "N/A"
    mean = math.fsum(values) / n
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)


def _average_groups(results: dict[str, Any]) -> None:
    """Groups average the rates of their leaves by size, as the harness does."""
    children: Mapping[str, list[str]] = results.get("group_subtasks", {})
    for group in children:
        leaves = [leaf for leaf in _leaves(group, children) if leaf in results["results"]]
        for table in (results["results"], results.get("groups", {})):
            for key in [key for key in table.get(group, {}) if key.endswith(f"_rate,{FILTER}")]:
                sizes = [(results["n-samples"][leaf]["effective"], results["results"][leaf]) for leaf in leaves]
                having = [(n, scores[key]) for n, scores in sizes if key in scores]
                if having:
                    table[group][key] = math.fsum(n * value for n, value in having) / sum(n for n, _ in having)


def _leaves(group: str, children: Mapping[str, list[str]]) -> list[str]:
    return [leaf for child in children[group] for leaf in (_leaves(child, children) if child in children else [child])]
