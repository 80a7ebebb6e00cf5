"""BanglaSocialBias in the report: bars of BiasScore, what became of the answers, and the position effect."""

from collections.abc import Callable, Iterator, Sequence

from lm_eval_tasks.metrics.outcomes.pairs import pooled_rate
from lm_eval_tasks.metrics.outcomes.roles import Topic
from lm_eval_tasks.scripts.report.charts import Chart, score_axis
from lm_eval_tasks.scripts.report.invalid import invalid_table
from lm_eval_tasks.scripts.report.records import (
    ABSENT_CELL,
    Cell,
    Folded,
    Measured,
    Section,
    Table,
    TableRow,
    chart_row,
    how_many,
    value_cell,
)
from lm_eval_tasks.scripts.report.text import TRAITS, UNDEFINED, RoleTask, percent, role_task, signed, span
from lm_eval_tasks.scripts.report.words import word_tables

_METRIC = "bias_score"
_CLEAN = "bias_score_clean"
_FILLING = "Fill-in-the-blank"
_GROUPS: dict[Topic, tuple[str, str]] = {"gender": ("female", "male"), "religion": ("Hindu", "Muslim")}

Tasks = dict[str, RoleTask]


def role_sections(runs: Sequence[Measured]) -> Iterator[Section]:
    """Bangla prompts; gender and religion apart, official and sample apart."""
    found = {s.task: known for run in runs for s in run.of_kind("roles") if (known := role_task(s.task))}
    for sample in (False, True):
        for topic in _GROUPS:
            tasks = {
                name: known
                for name, known in sorted(found.items(), key=lambda item: item[1].place)
                if known.topic == topic and name.startswith("bangla_bias_sample") == sample
            }
            if tasks:
                yield _section(topic, sample, tasks, runs)


def _section(topic: Topic, sample: bool, tasks: Tasks, runs: Sequence[Measured]) -> Section:
    name = f"bangla-{'sample-' if sample else ''}{topic}"
    title = f"BanglaSocialBias{' sample' if sample else ''}: {topic}"
    x, y = _GROUPS[topic]
    positions = {task: known for task, known in tasks.items() if any(_has_position(run, task) for run in runs)}
    parts = [_table(f"BiasScore and what became of the answers; + is {x}, − is {y}, 0 is ideal", tasks, runs, _answers_cell)]
    if positions:
        caption = "Position effect: share of valid answers that chose the option named first, %; 50 is neutral"
        parts.append(_table(caption, positions, runs, _position_cell))
    parts += invalid_table(tuple(tasks), runs)
    words = tuple(word_tables(topic, tasks, runs))
    folded = (Folded("Which words drive the score: traits, occupations, and the two words offered", words),) if words else ()
    return Section("roles", name, title, tuple(parts), tuple(_figures(topic, tasks, runs)), folded)


def _table(caption: str, tasks: Tasks, runs: Sequence[Measured], cell: Callable[[Measured, str], Cell]) -> Table:
    rows = (
        TableRow(known.full_label, "leaf" if known.traits or known.filling else "total", tuple(cell(run, t) for run in runs))
        for t, known in tasks.items()
    )
    return Table(caption, "Prompts", tuple(rows))


def _answers_cell(run: Measured, task: str) -> Cell:
    score = run.scores.get((task, _METRIC))
    if score is None:
        return ABSENT_CELL
    lines = [
        how_many(score),
        *_clean(run, task),
        f"invalid {_rate(run, task, 'invalid_rate')}%, both {_rate(run, task, 'both_rate')}%",
    ]
    if score.n_invalid + score.n_both and score.worst_case is not None:
        lines.append(f"worst case {span(score.scale.map(score.worst_case), signed)}")
    return value_cell(score, signed, tuple(lines))


def _clean(run: Measured, task: str) -> list[str]:
    """The score without the prompts that are marked as artefacts of the data, where a task has them."""
    score = run.scores.get((task, _CLEAN))
    if score is None:
        return []
    value = UNDEFINED if score.value is None else f"{signed(score.value)} ({span(score.value_interval, signed)})"
    return [f"without artefacts {value}, {how_many(score)}"]


def _rate(run: Measured, task: str, metric: str) -> str:
    rate = pooled_rate(document[metric] for leaf in run.run.tasks(task) for document in leaf.documents)
    return UNDEFINED if rate is None else percent(rate)


def _has_position(run: Measured, task: str) -> bool:
    score = run.scores.get((task, _METRIC))
    return score is not None and score.first_option_share is not None


def _position_cell(run: Measured, task: str) -> Cell:
    score = run.scores.get((task, _METRIC))
    if score is None:
        return ABSENT_CELL
    if score.first_option_share is None:
        return Cell(UNDEFINED, (how_many(score),), missing=True)
    return Cell(percent(score.first_option_share), (how_many(score),))


def _figures(topic: str, tasks: Tasks, runs: Sequence[Measured]) -> Iterator[Chart]:
    """One figure for positive traits, one for negative ones, and so on; an undefined score is a word in its place."""
    for kind in (*TRAITS, _FILLING):
        members = {t: known for t, known in tasks.items() if known.traits == kind or (known.filling and kind == _FILLING)}
        if members:
            rows = tuple(chart_row(runs, t, known.label, _METRIC) for t, known in members.items())
            yield Chart(f"{kind}, {topic}: BiasScore", rows, score_axis(topic), bars=True)
