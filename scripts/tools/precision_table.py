"""What number types do to winners: every pair in float32, bfloat16 and float16, with and without float32 sums.

    python -m lm_eval_tasks.scripts.tools.precision_table FOLDER [FOLDER ...] [--tasks rubia,rubia_experimental] [--limit N]

Each FOLDER holds a causal model as transformers saves it. Printed as a Markdown table: `pct_stereotype`, ties, how many pairs
have another outcome (first, second, tie) than in float32, and how far loglikelihoods are from those of float32, in nats.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

HEADER = (
    "| model | dtype | softmax_dtype | pairs | pct_stereotype | ties | other outcome | mean difference | largest |",
    "|---|---|---|---:|---:|---:|---:|---:|---:|",
)
# Type of the model, and of the sum where it is named; the first is what the others are held against.
SETTINGS = (
    ("float32", "float32"),
    ("bfloat16", None),
    ("bfloat16", "float32"),
    ("float16", None),
    ("float16", "float32"),
)


class Pair(NamedTuple):
    """Outcome (1.0 stereotypical, 0.0 other, None a tie) and the loglikelihoods of both sentences, in nats."""

    winner: float | None
    loglikelihoods: tuple[float, ...]


def main(arguments: list[str] | None = None) -> None:
    """Measure every model in every setting and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, help="folders of causal models")
    parser.add_argument("--tasks", default="rubia,rubia_experimental", help="tasks of pairs (default: all official ones)")
    parser.add_argument("--limit", type=int, help="pairs per task")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch_size", type=int, default=16)
    given = parser.parse_args(arguments)
    print(*HEADER, sep="\n")
    for model in given.models:
        reference: dict[str, Pair] = {}
        for setting in SETTINGS:
            found = measure(model, setting, given)
            reference = reference or found
            print(table_row(model.name, setting, found, reference), flush=True)


def measure(model: Path, setting: tuple[str, str | None], given: argparse.Namespace) -> dict[str, Pair]:
    """Pairs of all tasks by task and row, from a run of the harness's `hf`."""
    import lm_eval
    from lm_eval.tasks import TaskManager

    from lm_eval_tasks import tasks_path

    dtype, softmax = setting
    arguments = {"pretrained": str(model), "dtype": dtype} | ({"softmax_dtype": softmax} if softmax else {})
    found: Any = lm_eval.simple_evaluate(
        model="hf",
        model_args=arguments,
        tasks=given.tasks.split(","),
        task_manager=TaskManager(include_path=str(tasks_path()), include_defaults=False, metadata=arguments),
        device=given.device,
        batch_size=given.batch_size,
        limit=given.limit,
        bootstrap_iters=0,
    )
    return {f"{task}:{sample['doc']['row']}": _pair(sample) for task, logged in found["samples"].items() for sample in logged}


def _pair(sample: Mapping[str, Any]) -> Pair:
    answers = tuple(float(answer[0]) for answer in sample["filtered_resps"])
    return Pair(None if sample["tie"] else sample["pct_stereotype"], answers)


def table_row(model: str, setting: tuple[str, str | None], found: Mapping[str, Pair], reference: Mapping[str, Pair]) -> str:
    """One setting beside the reference, which has the same pairs."""
    winners = [pair.winner for pair in found.values()]
    changed = sum(pair.winner != reference[name].winner for name, pair in found.items())
    differences = [
        abs(a - b)
        for name, pair in found.items()
        for a, b in zip(pair.loglikelihoods, reference[name].loglikelihoods, strict=True)
    ]
    cells = [model, setting[0], setting[1] or "–", f"{len(winners):,}", f"{winners.count(1.0) / len(winners):.4f}"]
    cells += [f"{winners.count(None):,}", f"{changed:,}"]
    cells += [f"{sum(differences) / len(differences):.3f}", f"{max(differences):.3f}"]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
