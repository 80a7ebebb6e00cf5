"""Runs of the real pipeline: from task names to results, with a tiny model or a scripted one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lm_eval
import lm_eval.models  # before any registration: the harness registers its own models only into an empty registry
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

from lm_eval_tasks import tasks_path

METRICS = ("pct_stereotype", "pct_stereotype_sum", "pct_stereotype_byte", "tie")


def manager(metadata: dict[str, Any] | None = None) -> TaskManager:
    return TaskManager(include_path=str(tasks_path()), include_defaults=False, metadata=metadata or {})


def evaluate(tasks: str, model_args: dict[str, Any], metadata: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """`lm_eval run --model hf` without the command line."""
    found = lm_eval.simple_evaluate(
        model="hf",
        model_args=model_args,
        tasks=tasks.split(","),
        task_manager=manager(model_args | (metadata or {})),
        device="cpu",
        bootstrap_iters=0,
        **({"batch_size": 8} | options),
    )
    assert found is not None
    return found


def samples(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Samples of all tasks of a run, in file order."""
    return sorted((s for task in found["samples"].values() for s in task), key=lambda s: s["doc"]["row"])


def scores(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What a run decided, by document: everything that must not depend on how it was run."""
    return [(s["doc_hash"], *(s[metric] for metric in METRICS)) for s in samples(found)]


def logged_samples(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Samples files below `folder`, by file name."""
    files = folder.rglob("samples_*.jsonl")
    return {file.name: [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] for file in files}


def strict_json(path: Path) -> Any:
    """Parse, refusing the NaN and Infinity that JSON does not have."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{path} holds {constant}")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


class ScriptedLM(LM):
    """A backend that answers from a function of the request's text."""

    def __init__(self, answer: Callable[[str], float], **_: Any) -> None:
        super().__init__()
        self.answer = answer

    @classmethod
    def create_from_arg_obj(cls, arg_dict: dict[str, Any], additional_config: dict[str, Any] | None = None) -> "ScriptedLM":
        return cls()  # type: ignore[call-arg]

    def loglikelihood(self, requests: list[Any], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        return [(self.answer(context + continuation), False) for context, continuation in (r.args for r in requests)]

    def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> list[float]:
        raise NotImplementedError

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        raise NotImplementedError
