"""Two runs side by side: whether they can be compared, and the answers of both to the same items.

Items are paired by task and `doc_hash`. The hash covers what was asked and not how a tokenizer splits it, so models with
different tokenizers are compared, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lm_eval_tasks.metrics.runs.results import Document, Leaf, Run
from lm_eval_tasks.metrics.runs.summary import METRICS, answers, measures

_MUST_AGREE: tuple[tuple[str, Callable[[Leaf], Any]], ...] = (
    ("task version", lambda leaf: leaf.version),
    ("data hash", lambda leaf: leaf.metadata.get("data_file_sha256")),
    ("first-token convention", lambda leaf: leaf.metadata.get("first_token_convention")),
    ("role instruction", lambda leaf: leaf.metadata.get("instruction")),
)


@dataclass(frozen=True)
class Pairs:
    """Answers of two runs to the same items, those that are valid in both, of `n_documents` in all."""

    candidate: NDArray[np.bool_]
    baseline: NDArray[np.bool_]
    clusters: tuple[str, ...]
    second: tuple[str | None, ...] | None
    n_documents: int


def shared_tasks(baseline: Run, candidate: Run) -> list[str]:
    """Groups, then leaves, that both runs have."""
    return [name for name in (*candidate.groups, *candidate.leaves) if baseline.tasks(name) and candidate.tasks(name)]


def obstacles(baseline: Run, candidate: Run, task: str, metric: str) -> list[str]:
    """Why the two runs cannot be compared on a task; [] where they can."""
    old, new = baseline.tasks(task), candidate.tasks(task)
    if not old or not new:
        return [f"the {'baseline' if not old else 'candidate'} run has no complete {task}. Run that task."]
    kinds = [found[0] for found in (measures(old), measures(new)) if found and metric in METRICS[found[0]]]
    if len(kinds) < 2:
        return [f"metric: {metric} cannot be made of {task} in both runs"]
    found = [
        f"{what}: {_listed(map(value, old))} in the baseline, {_listed(map(value, new))} in the candidate"
        for what, value in _MUST_AGREE
        if set(map(value, old)) != set(map(value, new))
    ]
    if kinds[0] != "pairs" and (key := "system_instruction_sha") and baseline.identity.get(key) != candidate.identity.get(key):
        found.append("system instruction: the two runs were given different ones")
    only_old, only_new = _documents(old).keys() - _documents(new).keys(), _documents(new).keys() - _documents(old).keys()
    if only_old or only_new:
        found.append(
            f"document set: {len(only_old)} documents in the baseline only, {len(only_new)} in the candidate only "
            "(other rows, or --limit)"
        )
    return found


def pair(baseline: Run, candidate: Run, task: str, metric: str) -> Pairs:
    """Paired answers on a task without obstacles."""
    old, new = answers(baseline.tasks(task), metric), answers(candidate.tasks(task), metric)
    before = dict(zip(old.hashes, old.hits, strict=True))
    second = new.second or (None,) * len(new.hits)
    both = [item for item in zip(new.hashes, new.hits, new.clusters, second, strict=True) if item[0] in before]
    return Pairs(
        candidate=np.array([hit for _, hit, _, _ in both], dtype=bool),
        baseline=np.array([before[name] for name, *_ in both], dtype=bool),
        clusters=tuple(cluster for _, _, cluster, _ in both),
        second=tuple(one for *_, one in both) if new.second else None,
        n_documents=new.n_documents,
    )


def suspicion(baseline: Run, candidate: Run, tasks: Sequence[str]) -> str | None:
    """What to say where the candidate gave the baseline's response to every document of the tasks, or None."""
    old, new = (_documents([leaf for task in tasks for leaf in run.tasks(task)]) for run in (baseline, candidate))
    shared = old.keys() & new.keys()
    if not shared or any(old[item]["filtered_resps"] != new[item]["filtered_resps"] for item in shared):
        return None
    found = f"all {len(shared)} responses equal the baseline's"
    if baseline.model == candidate.model:
        return f"{found}: both runs are of {candidate.model}, so this compares a model with itself"
    return (
        f"{found}, though the models differ ({baseline.model} and {candidate.model}): possibly a response cache "
        "(--use_cache) that both runs share. Run the candidate again without it"
    )


def _documents(leaves: Sequence[Leaf]) -> dict[str, Document]:
    return {f"{leaf.name}:{document['doc_hash']}": document for leaf in leaves for document in leaf.documents}


def _listed(values: Any) -> str:
    return ", ".join(sorted({str(value) for value in values}))
