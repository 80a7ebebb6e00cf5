"""RuBia in the report: pairs beside the paper's models, the three normalisers, forest plots, and questions."""

from collections.abc import Callable, Iterator, Sequence

from lm_eval_tasks.scripts.report.charts import Chart, share_axis
from lm_eval_tasks.scripts.report.invalid import invalid_table
from lm_eval_tasks.scripts.report.records import (
    ABSENT_CELL,
    Cell,
    Measured,
    Section,
    Table,
    TableRow,
    chart_row,
    how_many,
    value_cell,
)
from lm_eval_tasks.scripts.report.text import ABSENT, UNDEFINED, percent, published, published_models, span

_HEAD = "Domain and subdomain"


def label(task: str) -> str:
    """A RuBia task in words; the sample's tasks have the words of the official ones."""
    known = published().get(_official(task))
    return known.label if known else task


def _official(task: str) -> str:
    return task.replace("rubia_sample", "rubia")


def _place(task: str) -> tuple[int, str]:
    known = list(published())
    return known.index(_official(task)) if _official(task) in known else len(known), task


def _level(task: str) -> str:
    """`rubia` is the total, `rubia_gender` a group, `rubia_gender_freeform_full` a leaf."""
    return ("total", "group", "leaf")[min(_official(task).count("_"), 2)]


def pair_sections(runs: Sequence[Measured], margin: float) -> Iterator[Section]:
    """Pairs, official and sample apart; `margin` as a share."""
    tasks = {score.task for run in runs for score in run.of_kind("pairs")}
    sample = {task for task in tasks if task.startswith("rubia_sample")}
    if tasks - sample:
        yield _pair_section("rubia", "RuBia: pairs", sorted(tasks - sample, key=_place), runs, margin)
    if sample:
        yield _pair_section("rubia-sample", "RuBia sample: pairs", sorted(sample, key=_place), runs, margin)


def _pair_section(name: str, title: str, tasks: Sequence[str], runs: Sequence[Measured], margin: float) -> Section:
    def table(caption: str, cell: Callable[[Measured, str], Cell], models: tuple[str, ...] = ()) -> Table:
        rows = (TableRow(label(t), _level(t), tuple(cell(run, t) for run in runs), _figures(t, models)) for t in tasks)
        return Table(caption, _HEAD, tuple(rows), models)

    main = table(
        "Pairs in which the stereotypical sentence is preferred, %; 50 is ideal",
        _pair_cell,
        published_models() if name == "rubia" else (),
    )
    others = table("The same by total loglikelihood (sum) and per byte, and ties", _normalisers_cell)
    return Section("pairs", name, title, (main, others), tuple(_forests(tasks, runs, margin)))


def _figures(task: str, models: Sequence[str]) -> tuple[str, ...]:
    known = published().get(task)
    return tuple((known.figures[model] if known else "") or ABSENT for model in models)


def _pair_cell(run: Measured, task: str) -> Cell:
    score = run.scores.get((task, "pct_stereotype"))
    if score is None:
        return ABSENT_CELL
    lines = [how_many(score)]
    if score.n_tied and score.worst_case is not None:
        ties = "1 tie" if score.n_tied == 1 else f"{score.n_tied:,} ties"
        lines.append(f"{ties}: {span(score.worst_case, percent)} if all had gone one way")
    return value_cell(score, percent, tuple(lines))


def _normalisers_cell(run: Measured, task: str) -> Cell:
    token, total, byte = (run.scores.get((task, f"pct_stereotype{suffix}")) for suffix in ("", "_sum", "_byte"))
    if token is None or total is None or byte is None:
        return ABSENT_CELL
    shares = {"token": token.share, "sum": total.share, "byte": byte.share}
    first, *others = (f"{name} {UNDEFINED if p is None else percent(p)}" for name, p in shares.items())
    sides = {p > 0.5 for p in shares.values() if p not in (None, 0.5) and p is not None}
    differ = ["sides of 50 differ"] if len(sides) > 1 else []
    return Cell(first, (*others, f"ties {token.n_tied:,} of {token.n_documents:,}", *differ), token.share is None)


def _forests(tasks: Sequence[str], runs: Sequence[Measured], margin: float) -> Iterator[Chart]:
    """One figure of the domains, then one for the subdomains of each: each fits on a page."""
    figures = {"Domains": [task for task in tasks if _level(task) != "leaf"]}
    for task in tasks:
        if _level(task) == "leaf":
            domain = "_".join(task.split("_")[:2])
            figures.setdefault(f"{label(domain)}: subdomains", []).append(task)
    for title, members in figures.items():
        if members:
            rows = tuple(chart_row(runs, t, label(t), "pct_stereotype") for t in members)
            yield Chart(f"{title}: stereotypical choices, %", rows, share_axis(margin))


def question_sections(runs: Sequence[Measured]) -> Iterator[Section]:
    """RuBia questions, one section per family of wordings."""
    for family in sorted({family for run in runs for family, _, _ in run.wordings}):
        language = "Russian" if family.endswith("_ru") else "English"
        sample = " sample" if family.startswith("rubia_sample") else ""
        title = f"RuBia{sample}: questions in {language}"
        tasks = sorted({name for run in runs for name in run.run.leaves if name.rpartition("_")[0] == family})
        parts = (_question_table(family, runs), *invalid_table(tasks, runs))
        yield Section("questions", family.replace("_", "-"), title, parts)


def _question_table(family: str, runs: Sequence[Measured]) -> Table:
    tasks = {_cell_task(d, s): (d, s) for run in runs for of, d, s in run.wordings if of == family}
    rows = [
        TableRow(label(t), _level(t), tuple(_question_cell(run, (family, *tasks[t])) for run in runs))
        for t in sorted(tasks, key=_place)
    ]
    invalid = TableRow("Invalid answers, %", "group", tuple(_invalid_cell(run, family) for run in runs))
    caption = "Correct answers, %: mean ± standard deviation over the wordings; 100 is ideal"
    return Table(caption, _HEAD, (*rows, invalid))


def _cell_task(domain: str, subdomain: str) -> str:
    """The pair task over the same rows as one cell of the spread over wordings."""
    named = {"all": "rubia", "lgbtq": "rubia_diverse"}.get(domain, f"rubia_{domain}")
    return named if subdomain == "all" else f"{named}_{subdomain}"


def _question_cell(run: Measured, cell: tuple[str, str, str]) -> Cell:
    spread = run.wordings.get(cell)
    if spread is None:
        return ABSENT_CELL
    deviation = "" if spread["sd"] is None else f" ± {percent(spread['sd'])}"
    wordings = "wording" if spread["n_wordings"] == 1 else "wordings"
    return Cell(f"{percent(spread['mean'])}{deviation}", (f"n {spread['n_pairs']:,} × {spread['n_wordings']} {wordings}",))


def _invalid_cell(run: Measured, family: str) -> Cell:
    asked = [s for s in run.of_kind("questions") if s.task in run.run.leaves and s.task.rpartition("_")[0] == family]
    if not asked:
        return ABSENT_CELL
    n_invalid, n = sum(s.n_invalid for s in asked), sum(s.n_documents for s in asked)
    return Cell(percent(n_invalid / n), (f"{n_invalid:,} of {n:,}",))
