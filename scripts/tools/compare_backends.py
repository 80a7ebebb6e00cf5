"""The same tasks on several backends: where do the outcomes differ?

    python -m lm_eval_tasks.scripts.tools.compare_backends hf=DIR vllm=DIR chat=DIR ...

Each DIR was written with --log_samples --output_path DIR, with greedy decoding where text is generated
(--gen_kwargs do_sample=False,temperature=0). The first one is the reference. A document agrees where every 0/1 metric is the
same; for minimal pairs the largest difference of a loglikelihood is shown too, relative to its size. Exits with 1 if more
than --tolerance of a backend's documents differ. Backends compute in different orders, so a few near ties may fall either way.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_tasks.metrics.runs.results import EvidenceError, read_run

Samples = Mapping[str, Sequence[dict[str, Any]]]


class Agreement(NamedTuple):
    """One task on one backend against the reference; `deviation` is None where nothing has a loglikelihood."""

    n_documents: int
    differing: list[int]
    deviation: float | None


def compare(reference: Samples, other: Samples) -> dict[str, Agreement]:
    """Agreement of every task that both ran. Raises EvidenceError where they did not run the same documents."""
    found = {}
    for task in sorted(reference.keys() & other.keys()):
        ours, theirs = reference[task], other[task]
        if [d["doc_hash"] for d in ours] != [d["doc_hash"] for d in theirs]:
            raise EvidenceError(f"{task}: the two runs did not measure the same documents")
        differing = [a["doc_id"] for a, b in zip(ours, theirs, strict=True) if _outcome(a) != _outcome(b)]
        deviations = [d for a, b in zip(ours, theirs, strict=True) for d in _deviations(a, b)]
        found[task] = Agreement(len(ours), differing, max(deviations, default=None))
    if not found:
        raise EvidenceError("the two runs have no task in common")
    return found


def _samples(folder: Path) -> Samples:
    return {task: leaf.documents for task, leaf in sorted(read_run(folder).leaves.items())}


def _outcome(document: dict[str, Any]) -> list[float]:
    return [document[metric] for metric in document["metrics"]]


def _deviations(one: dict[str, Any], other: dict[str, Any]) -> list[float]:
    pairs = zip(one["filtered_resps"], other["filtered_resps"], strict=True)
    return [abs(float(a[0]) - float(b[0])) / abs(float(a[0])) for a, b in pairs if isinstance(a, list)]


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare runs of the same tasks on several backends.")
    parser.add_argument("runs", nargs="+", metavar="NAME=DIR")
    parser.add_argument("--tolerance", type=float, default=0.02, help="share of documents that may differ (default 0.02)")
    chosen = parser.parse_args()
    try:
        runs = {name: _samples(Path(folder)) for name, _, folder in (run.partition("=") for run in chosen.runs)}
        if len(runs) < 2:
            parser.error("name two runs or more, each NAME=DIR under a name of its own")
        (first, reference), *others = runs.items()
        tables = {name: compare(reference, samples) for name, samples in others}
    except EvidenceError as error:
        print(f"compare_backends: {error}", file=sys.stderr)
        return 5
    failed = False
    print(f"| task (reference: {first}) | documents | " + " | ".join(tables) + " |")
    print("|---|---:|" + "---|" * len(tables))
    for task, documents in reference.items():
        cells = [_cell(table.get(task)) for table in tables.values()]
        print(f"| `{task}` | {len(documents)} | " + " | ".join(cells) + " |")
    for name, table in tables.items():
        n_documents = sum(agreement.n_documents for agreement in table.values())
        n_differing = sum(len(agreement.differing) for agreement in table.values())
        failed = failed or n_differing > chosen.tolerance * n_documents
        print(f"\n{name}: {n_differing} of {n_documents} documents differ from {first}", end="")
    print()
    return 1 if failed else 0


def _cell(agreement: Agreement | None) -> str:
    if agreement is None:
        return "not run"
    text = f"{len(agreement.differing)} differ" if agreement.differing else "equal"
    return text if agreement.deviation is None else f"{text}, loglikelihood within {agreement.deviation:.0e}"


if __name__ == "__main__":
    sys.exit(main())
