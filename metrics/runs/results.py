"""A run, as the harness wrote it: the only place, with `result_files`, that knows the form of results and samples files.

A run is what one model left in one folder, perhaps in several goes; the newest go of a task counts. All that is known of the
model must agree between the goes. Several processes may have permuted the lines of a samples file: they are sorted by `doc_id`.

Numbers are made from the samples, never taken from the results file: every metric of every document is made again from the
logged responses (`rescoring`), and the two files must agree. Whatever cannot be used is refused with the file and the reason
(`EvidenceError`). Runs of --limit are marked, not refused.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_tasks.metrics.runs.result_files import (
    FILTER,
    Document,
    EvidenceError,
    Go,
    aggregate,
    find_goes,
    find_samples,
    read_documents,
)

__all__ = ["FILTER", "Document", "EvidenceError", "Leaf", "Run", "aggregate", "read_run"]

_OWN = re.compile(r"rubia|bangla_bias")
# What must not differ between the goes of one run: a score pooled over them would mean nothing. The second kind matters
# only where text is generated: pairs are raw text in every mode, and are often run apart.
_IDENTITY = (
    "model_name",
    "backend",
    "model_args",
    "model_dtype",
    "model_revision",
    "model_sha",
    "model_num_parameters",
    "pll",
    "lm_eval_version",
)
_PROMPTING = ("chat_template_sha", "system_instruction_sha")
# How a run was made, and not what was measured.
_NO_IDENTITY = {"batch_size", "max_batch_size", "num_concurrent", "timeout", "max_retries", "device", "verify_certificate"}
_SAME_OF_PAIRS = "first_token_convention"


@dataclass(frozen=True)
class Leaf:
    """One task of a run: its documents in order of `doc_id`, its version, and what it recorded of its data and model.

    `time` is that of the go that it comes from.
    """

    name: str
    version: str
    documents: tuple[Document, ...]
    metadata: Mapping[str, Any]
    n_original: int
    metrics: tuple[str, ...]
    time: str = ""

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


def read_run(folder: Path, defined: Mapping[str, frozenset[str]] | None = None) -> Run:
    """The run below `folder`, tasks of this project only; `defined`: the leaves that groups must have. Raises EvidenceError."""
    try:
        return _read_run(folder, defined or {})
    except (KeyError, AttributeError, TypeError, IndexError, ValueError) as error:
        if isinstance(error, EvidenceError):
            raise
        raise EvidenceError(
            f"{folder}: a results or samples file has not the form that lm-eval writes ({type(error).__name__}: {error}). "
            "It was edited, or written by another version; run again."
        ) from error


def _read_run(folder: Path, defined: Mapping[str, frozenset[str]]) -> Run:
    goes = find_goes(folder)
    samples = find_samples(folder, goes)
    identity = _common(goes)
    leaves: dict[str, Leaf] = {}
    groups: dict[str, tuple[str, ...]] = {}
    for go in goes:
        numbers = go.content["n-samples"]
        absent = {task for task, n in numbers.items() if n["original"] == 0}  # leaves that a file of one's own lacks
        for task in filter(_OWN.match, sorted(go.content["configs"].keys() - absent)):
            leaves[task] = _leaf(go, task, samples)
        for group in filter(_OWN.match, go.content.get("group_subtasks", {})):
            members = _below(group, go.content["group_subtasks"])
            if group in defined and (set(members) != defined[group] or len(members) != len(defined[group])):
                raise EvidenceError(
                    f"{go.path}: the group {group} has {len(members)} tasks, which are not the {len(defined[group])} of its "
                    "definition. The file was changed after the run, or is of another version; run again."
                )
            groups[group] = tuple(leaf for leaf in members if leaf not in absent)
    if not leaves:
        raise EvidenceError(f"{folder} holds no results of RuBia or BanglaSocialBias tasks.")
    _check_conventions(folder, leaves)
    last = goes[-1].content
    seeds = {key: value for key, value in last["config"].items() if key.endswith("_seed")}
    return Run(folder, last["model_name"], str(last["config"]["model"]), leaves, groups, identity, seeds, last["date"])


def _leaf(go: Go, task: str, samples: Mapping[tuple[str, str], Path]) -> Leaf:
    path = samples.get((task, go.time))
    if path is None:
        raise EvidenceError(f"{go.path}: {task} has no samples of the same time. Run it with --log_samples.")
    documents = read_documents(go, task, path)
    metadata = go.content["configs"][task].get("metadata") or {}
    metrics = tuple(documents[0]["metrics"]) if documents else ()
    n_original = go.content["n-samples"][task]["original"]
    return Leaf(task, str(go.content["versions"][task]), tuple(documents), metadata, n_original, metrics, go.time)


def _check_conventions(folder: Path, leaves: Mapping[str, Leaf]) -> None:
    found = {leaf.metadata[_SAME_OF_PAIRS]: leaf.name for leaf in leaves.values() if _SAME_OF_PAIRS in leaf.metadata}
    if len(found) > 1:
        listed = ", ".join(f"{value!r} in {name}" for value, name in sorted(found.items(), key=str))
        raise EvidenceError(f"{folder} is not one run: the first token of pairs is {listed}. Run all of them again.")


def _identity_of(go: Go) -> dict[str, Any]:
    config = go.content["config"]
    known = {key: config.get(key) for key in ("pll", "model_dtype", "model_revision", "model_sha", "model_num_parameters")}
    given = config.get("model_args")
    if isinstance(given, str):
        given = dict(part.partition("=")[::2] for part in given.split(",") if part)
    named = {key: value for key, value in (given or {}).items() if key not in _NO_IDENTITY}
    model_args = json.dumps(named, sort_keys=True, ensure_ascii=False)
    return dict(go.content) | known | {"backend": config["model"], "model_args": model_args}


def _common(goes: list[Go]) -> dict[str, Any]:
    generating = [go for go in goes if _generates(go)]
    return _equal(goes, _IDENTITY) | _equal(generating, _PROMPTING)


def _generates(go: Go) -> bool:
    configs = go.content["configs"].items()
    return any(_OWN.match(task) and config.get("output_type") == "generate_until" for task, config in configs)


def _equal(goes: list[Go], keys: tuple[str, ...]) -> dict[str, Any]:
    """The values of `keys`, equal in all goes; None where there is no go."""
    if not goes:
        return dict.fromkeys(keys)
    first, *others = [(go.path, _identity_of(go)) for go in goes]
    for path, go in others:
        for key in keys:
            if first[1].get(key) != go.get(key):
                raise EvidenceError(
                    f"{first[0]} and {path} are not one run: {key} is {first[1].get(key)!r} and {go.get(key)!r}. "
                    "Give each model and setting a folder of its own."
                )
    return {key: first[1].get(key) for key in keys}


def _below(group: str, children: Mapping[str, list[str]]) -> list[str]:
    return [leaf for child in children[group] for leaf in (_below(child, children) if child in children else [child])]
