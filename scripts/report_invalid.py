"""Why answers are invalid: how many were refusals, empty, cut off, contradictory or other words, and what some of them say."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from lm_eval_tasks.metrics.documents import INVALID_KINDS, invalid_kind
from lm_eval_tasks.metrics.results import Document
from lm_eval_tasks.scripts.report_records import ABSENT_CELL, Cell, Measured, Table, TableRow
from lm_eval_tasks.scripts.report_text import percent

KINDS = tuple(dict.fromkeys(INVALID_KINDS.values()))


def invalid_documents(run: Measured, tasks: Sequence[str]) -> dict[str, list[Document]]:
    """The invalid answers of a run's tasks, by kind, in the order of the report; a kind without any is there too."""
    found: dict[str, list[Document]] = {kind: [] for kind in KINDS}
    for task in tasks:
        leaf = run.run.leaves.get(task)
        for document in leaf.documents if leaf else ():
            if kind := invalid_kind(document):
                found[kind].append(document)
    return found


def invalid_table(tasks: Sequence[str], runs: Sequence[Measured]) -> Iterator[Table]:
    """One table, or none where no answer of any run is invalid."""
    by_run = [invalid_documents(run, tasks) for run in runs]
    n_asked = [sum(len(leaf.documents) for task in tasks if (leaf := run.run.leaves.get(task))) for run in runs]
    rows: dict[str, list[Cell]] = defaultdict(list)
    for found, n in zip(by_run, n_asked, strict=True):
        for kind in KINDS:
            count = len(found[kind])
            rows[kind].append(Cell(percent(count / n), (f"{count:,} of {n:,}",)) if n else ABSENT_CELL)
    if any(documents for found in by_run for documents in found.values()):
        caption = "Answers that could not be read, by what they were, % of all answers"
        yield Table(caption, "Invalid answers", tuple(TableRow(kind, "leaf", tuple(cells)) for kind, cells in rows.items()))
