"""Why answers are invalid: how many were refusals, empty, cut off, contradictory or other words, and what some of them say."""

from collections.abc import Iterator, Sequence

from lm_eval_tasks.metrics.outcomes.documents import INVALID_KINDS, invalid_kind
from lm_eval_tasks.metrics.runs.results import Document, Leaf
from lm_eval_tasks.scripts.report.examples import PER_TASK, ExampleGroup, answer_example
from lm_eval_tasks.scripts.report.records import ABSENT_CELL, Cell, Measured, Table, TableRow
from lm_eval_tasks.scripts.report.text import percent

KINDS = tuple(dict.fromkeys(INVALID_KINDS.values()))


Found = dict[str, list[tuple[Leaf, Document]]]


def invalid_table(tasks: Sequence[str], runs: Sequence[Measured]) -> Iterator[Table]:
    """One table, or none where no answer of any run is invalid."""
    by_run = [_invalid(run, tasks) for run in runs]
    n_asked = [sum(len(leaf.documents) for leaf in _leaves(run, tasks)) for run in runs]
    if any(documents for found in by_run for documents in found.values()):
        rows = (TableRow(kind, "leaf", tuple(map(_cell, [found[kind] for found in by_run], n_asked))) for kind in KINDS)
        yield Table("Answers that could not be read, by what they were, % of all answers", "Invalid answers", tuple(rows))


def invalid_examples(runs: Sequence[Measured]) -> Iterator[ExampleGroup]:
    """A few answers of each kind and run."""
    for run in runs:
        for kind, found in _invalid(run, sorted(run.run.leaves)).items():
            if found:
                examples = tuple(answer_example(leaf, document) for leaf, document in found[:PER_TASK])
                yield ExampleGroup(run.key, f"invalid answers: {kind}", f"first of {len(found):,}", examples)


def _leaves(run: Measured, tasks: Sequence[str]) -> list[Leaf]:
    return [run.run.leaves[task] for task in tasks if task in run.run.leaves]


def _invalid(run: Measured, tasks: Sequence[str]) -> Found:
    """Invalid answers by kind, in the order of the report; a kind without any is there too."""
    found: Found = {kind: [] for kind in KINDS}
    for leaf in _leaves(run, tasks):
        for document in leaf.documents:
            if kind := invalid_kind(document):
                found[kind].append((leaf, document))
    return found


def _cell(documents: Sequence[object], n: int) -> Cell:
    return Cell(percent(len(documents) / n), (f"{len(documents):,} of {n:,}",)) if n else ABSENT_CELL
