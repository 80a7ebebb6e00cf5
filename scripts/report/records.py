"""What the report is made of: runs with their scores, and the tables and sections that show them, a column per run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lm_eval_tasks.metrics.runs.results import Run
from lm_eval_tasks.metrics.runs.summary import Score
from lm_eval_tasks.scripts.export import tables
from lm_eval_tasks.scripts.report.charts import Chart, ChartRow, Mark
from lm_eval_tasks.scripts.report.text import UNDEFINED, Number, span

NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Measured:
    """A run with its scores by task and metric, each made once."""

    key: str
    run: Run
    scores: Mapping[tuple[str, str], Score]
    summary: Mapping[str, Any]

    @classmethod
    def of(cls, key: str, run: Run) -> "Measured":
        return cls(key, run, {(s.task, s.metric): s for s in tables.all_scores(run)}, tables.summary(run))

    @cached_property
    def wordings(self) -> dict[tuple[str, str, str], Mapping[str, Any]]:
        """Spreads over wordings by family, domain and subdomain."""
        return {(w["family"], w["domain"], w["subdomain"]): w for w in self.summary["wordings"]}

    def of_kind(self, kind: str) -> Iterator[Score]:
        """All scores of one kind of task."""
        return (score for score in self.scores.values() if score.kind == kind)

    def mark(self, task: str, metric: str) -> Mark:
        """The run's line in a figure."""
        score = self.scores.get((task, metric))
        if score is None:
            return Mark(self.key, None, None, NOT_MEASURED)
        if score.value is None:
            return Mark(self.key, None, None, f"{UNDEFINED}: no valid answer")
        if score.undecided:
            return Mark(self.key, None, None, score.undecided)
        return Mark(self.key, score.value, score.value_interval)


@dataclass(frozen=True)
class Cell:
    """What one run got: a value, smaller lines below it, and whether there is a value at all."""

    value: str
    lines: tuple[str, ...] = ()
    missing: bool = False


@dataclass(frozen=True)
class TableRow:
    """A task, group or word (in language `lang`); `level` is total, group or leaf; `published` the paper's figures."""

    label: str
    level: str
    cells: tuple[Cell, ...]
    published: tuple[str, ...] = ()
    lang: str = "en"


@dataclass(frozen=True)
class Table:
    """A table with a column per run; `published` names further columns."""

    caption: str
    head: str
    rows: tuple[TableRow, ...]
    published: tuple[str, ...] = ()


@dataclass(frozen=True)
class Folded:
    """Tables that are opened on demand."""

    title: str
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class Section:
    """One part of the report; `kind` chooses the words around its tables and figures."""

    kind: str
    name: str
    title: str
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...] = ()
    folded: tuple[Folded, ...] = ()


ABSENT_CELL = Cell(NOT_MEASURED, missing=True)


def value_cell(score: Score, number: Number, below: tuple[str, ...]) -> Cell:
    """A score with its interval."""
    if score.value is None:
        return Cell(UNDEFINED, below, missing=True)
    return Cell(number(score.value), (score.undecided or span(score.value_interval, number), *below))


def how_many(score: Score) -> str:
    """Valid answers of a score."""
    of = "" if score.n_valid == score.n_documents else f" of {score.n_documents:,}"
    return f"n {score.n_valid:,}{of}{', limited' if score.limited else ''}"


def chart_row(runs: Sequence[Measured], task: str, label: str, metric: str) -> ChartRow:
    """A task's row in a figure."""
    return ChartRow(f"figure-{task}", label, tuple(run.mark(task, metric) for run in runs))
