"""Reading what the harness wrote: the only place that knows the form of its results and samples files.

A run is what one model left in one folder, perhaps in several goes. `results_<time>.json` holds scores and configuration of one
go, `samples_<task>_<time>.jsonl` the documents of one task, one a line; the newest go of a task counts. Several processes may
have permuted the lines: they are sorted by `doc_id`.

Numbers are taken from the samples, never from the results file, which may have been edited: the two must agree. Whatever
cannot be used is refused with the file and the reason (`EvidenceError`): no samples, two models, a metric that is not a finite
number, a truncated file, a run of --predict_only, scores that the samples do not give. Runs of --limit are marked, not refused.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_tasks.metrics.roles import score_of_sides

FILTER = "none"
_TIME = r"(?P<time>\d{4}-\d\d-\d\dT[\d.:-]+)"
_RESULTS = re.compile(rf"results_{_TIME}\.json")
_SAMPLES = re.compile(rf"samples_(?P<task>.+)_{_TIME}\.jsonl")
_OWN = re.compile(r"rubia|bangla_bias")
# What must not differ between the goes of one run: a score pooled over them would mean nothing. The second kind matters
# only where text is generated: pairs are raw text in every mode, and are often run apart.
_IDENTITY = ("model_name", "backend", "model_args", "model_dtype", "model_revision", "pll", "lm_eval_version")
_PROMPTING = ("chat_template_sha", "system_instruction_sha")
# What this project reads of every document.
_NEEDED = ("doc", "doc_hash", "filtered_resps", "metrics")

Document = dict[str, Any]


class EvidenceError(ValueError):
    """Results that cannot be used; the message says which file and why."""


@dataclass(frozen=True)
class Leaf:
    """One task of a run: its documents in order of `doc_id`, its version, and what it recorded of its data and model."""

    name: str
    version: str
    documents: tuple[Document, ...]
    metadata: Mapping[str, Any]
    n_original: int
    metrics: tuple[str, ...]

    @property
    def limited(self) -> bool:
        """Whether fewer documents were measured than the task has (--limit, --samples)."""
        return len(self.documents) < self.n_original


@dataclass(frozen=True, eq=False)  # compared by identity, so that what is made of a run can be kept by run
class Run:
    """What one model left in one folder; `groups` lists the leaves below each group, `identity` what all goes share."""

    folder: Path
    model: str
    backend: str
    leaves: Mapping[str, Leaf]
    groups: Mapping[str, tuple[str, ...]]
    identity: Mapping[str, Any]
    seeds: Mapping[str, Any]
    date: float

    def tasks(self, name: str) -> list[Leaf]:
        """Leaves of a leaf or group; [] where the run does not have it, or not all of it."""
        names = self.groups.get(name, (name,))
        return [self.leaves[one] for one in names] if all(one in self.leaves for one in names) else []


def read_run(folder: Path) -> Run:
    """The run below `folder`, tasks of this project only. Raises EvidenceError."""
    try:
        return _read_run(folder)
    except (KeyError, AttributeError, TypeError, IndexError) as error:
        raise EvidenceError(
            f"{folder}: a results or samples file has not the form that lm-eval writes ({type(error).__name__}: {error}). "
            "It was edited, or written by another version; run again."
        ) from error


def _read_run(folder: Path) -> Run:
    goes = _goes(folder)
    samples = _newest_samples(folder)
    identity = _common(goes)
    leaves: dict[str, Leaf] = {}
    groups: dict[str, tuple[str, ...]] = {}
    for time, (path, go) in sorted(goes.items()):
        absent = {task for task, n in go["n-samples"].items() if n["original"] == 0}  # leaves that a file of one's own lacks
        for task in filter(_OWN.match, sorted(go["configs"].keys() - absent)):
            leaves[task] = _leaf(path, go, task, samples.get(task), time)
        for group in filter(_OWN.match, go.get("group_subtasks", {})):
            groups[group] = tuple(leaf for leaf in _below(group, go["group_subtasks"]) if leaf not in absent)
    if not leaves:
        raise EvidenceError(f"{folder} holds no results of RuBia or BanglaSocialBias tasks.")
    _, last = goes[max(goes)]
    seeds = {key: value for key, value in last["config"].items() if key.endswith("_seed")}
    return Run(folder, last["model_name"], str(last["config"]["model"]), leaves, groups, identity, seeds, last["date"])


def _goes(folder: Path) -> dict[str, tuple[Path, dict[str, Any]]]:
    found = {}
    for path in sorted(folder.rglob("results_*.json")):
        if match := _RESULTS.fullmatch(path.name):
            go = _parse(path, _text(path))
            if not isinstance(go, dict) or not {"results", "configs", "config", "n-samples"} <= set(go):
                raise EvidenceError(f"{path} is not a results file of lm-eval. Remove it or run again.")
            config = go["config"]
            model_args = json.dumps(config.get("model_args"), sort_keys=True, ensure_ascii=False)
            go |= {"backend": config["model"], "model_args": model_args}
            go |= {key: config.get(key) for key in ("pll", "model_dtype", "model_revision")}
            found[match["time"]] = (path, go)
    if not found:
        raise EvidenceError(f"{folder} holds no results files. Run with --output_path {folder} --log_samples.")
    return found


def _common(goes: Mapping[str, tuple[Path, dict[str, Any]]]) -> dict[str, Any]:
    in_order = [goes[time] for time in sorted(goes)]
    generating = [(path, go) for path, go in in_order if _generates(go)]
    return _equal(in_order, _IDENTITY) | _equal(generating, _PROMPTING)


def _generates(go: Mapping[str, Any]) -> bool:
    return any(_OWN.match(task) and config.get("output_type") == "generate_until" for task, config in go["configs"].items())


def _equal(goes: list[tuple[Path, dict[str, Any]]], keys: tuple[str, ...]) -> dict[str, Any]:
    """The values of `keys`, equal in all goes; None where there is no go."""
    if not goes:
        return dict.fromkeys(keys)
    (first_path, first), *others = goes
    for path, go in others:
        for key in keys:
            if first.get(key) != go.get(key):
                raise EvidenceError(
                    f"{first_path} and {path} are not one run: {key} is {first.get(key)!r} and {go.get(key)!r}. "
                    "Give each model and setting a folder of its own."
                )
    return {key: first.get(key) for key in keys}


def _newest_samples(folder: Path) -> dict[str, tuple[str, Path]]:
    newest: dict[str, tuple[str, Path]] = {}
    for path in sorted(folder.rglob("samples_*.jsonl")):
        if match := _SAMPLES.fullmatch(path.name):
            newest[match["task"]] = max(newest.get(match["task"], ("", path)), (match["time"], path))
    if not newest:
        raise EvidenceError(f"{folder} holds no samples files. Run with --log_samples --output_path {folder}.")
    return newest


def _leaf(path: Path, go: Mapping[str, Any], task: str, samples: tuple[str, Path] | None, time: str) -> Leaf:
    if samples is None or samples[0] < time:
        raise EvidenceError(f"{path}: {task} has no samples of the same time. Run it with --log_samples.")
    documents = _documents(samples[1])
    if len({document["doc_id"] for document in documents}) < len(documents):
        raise EvidenceError(f"{samples[1]} holds a document twice. The file was changed after the run; run again.")
    if lacking := [key for key in _NEEDED if any(key not in document for document in documents)]:
        raise EvidenceError(
            f"{samples[1]}: documents lack {', '.join(lacking)}. The file was changed after the run; run again."
        )
    n_effective = go["n-samples"][task]["effective"]
    if samples[0] == time:
        if len(documents) != n_effective:
            raise EvidenceError(
                f"{samples[1]} holds {len(documents)} documents, {path.name} says {n_effective}: it is cut short."
            )
        _check_scores(path, go["results"].get(task, {}), task, documents)
    metadata = go["configs"][task].get("metadata") or {}
    metrics = tuple(documents[0]["metrics"]) if documents else ()
    return Leaf(task, str(go["versions"][task]), tuple(documents), metadata, go["n-samples"][task]["original"], metrics)


def _check_scores(path: Path, scores: Mapping[str, Any], task: str, documents: list[Document]) -> None:
    for metric in documents[0]["metrics"] if documents else ():
        written = scores.get(f"{metric},{FILTER}")
        if metric == "bypass" or written is None:
            raise EvidenceError(f"{path}: {task} has no score of {metric}. A run of --predict_only measures nothing.")
        values = [document[metric] for document in documents]
        expected = _aggregate(metric, values)
        if not _same(written, expected):
            raise EvidenceError(
                f"{path}: {metric} of {task} is {written}, but its samples give {expected}. "
                "One of the files was changed after the run."
            )


def _aggregate(metric: str, values: list[float]) -> float | str:
    """What the task makes of the values of its documents."""
    if metric.startswith("bias_score"):
        return score_of_sides(values)
    return math.fsum(values) if metric.startswith("n_") else math.fsum(values) / len(values)


def _same(written: Any, expected: float | str) -> bool:
    if isinstance(expected, str) or isinstance(written, str):
        return bool(written == expected)
    return math.isclose(written, expected, abs_tol=1e-9)


def _below(group: str, children: Mapping[str, list[str]]) -> list[str]:
    return [leaf for child in children[group] for leaf in (_below(child, children) if child in children else [child])]


def _documents(path: Path) -> list[Document]:
    lines = _text(path).split("\n")
    if lines.pop():
        raise EvidenceError(f"{path} ends in the middle of a line: it is cut short. Run again.")
    documents = [_parse(path, line, number) for number, line in enumerate(lines, start=1)]
    for number, document in enumerate(documents, start=1):
        for metric in document.get("metrics", ()):
            value = document.get(metric)
            if not isinstance(value, int | float) or not math.isfinite(value):
                raise EvidenceError(f"{path} line {number}: {metric} is {value!r}, expected a finite number.")
    return sorted(documents, key=lambda document: int(document["doc_id"]))


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
