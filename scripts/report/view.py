"""Everything the report shows, as the template needs it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean

from lm_eval_tasks.metrics.runs.precision import COARSE, WORDS, coarse_sum
from lm_eval_tasks.metrics.runs.results import Run
from lm_eval_tasks.metrics.runs.summary import Score
from lm_eval_tasks.metrics.statistics.intervals import T
from lm_eval_tasks.scripts.report.charts import keys
from lm_eval_tasks.scripts.report.examples import ExampleGroup, example_groups
from lm_eval_tasks.scripts.report.invalid import invalid_examples
from lm_eval_tasks.scripts.report.pairs import label, pair_sections, question_sections
from lm_eval_tasks.scripts.report.records import ABSENT_CELL, Cell, Measured, Section, Table, TableRow
from lm_eval_tasks.scripts.report.roles import role_sections
from lm_eval_tasks.scripts.report.text import ABSENT, role_task

# Parts of a signature that must agree before two scores may be compared, in words.
_COMPARABLE = {
    "first": "the first-token convention",
    "data": "the data",
    "task": "the task version",
    "plugin": "the plugin version",
    "lm_eval": "the harness version",
    **{name: words for name, words in WORDS.items() if name != "revision"},  # of one model, that is what is compared
}
_LONGEST_NAME = 32


@dataclass(frozen=True)
class Column:
    """One run: its letter and the short name of its model."""

    key: str
    name: str


@dataclass(frozen=True)
class Fact:
    """One property of the runs; several values of a run stand one below the other."""

    name: str
    values: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class View:
    """The report; `margin` is a share."""

    margin: float
    columns: tuple[Column, ...]
    facts: tuple[Fact, ...]
    warnings: tuple[str, ...]
    sections: tuple[Section, ...]
    bias: Table | None
    examples: tuple[ExampleGroup, ...]
    signatures: tuple[tuple[str, tuple[str, ...]], ...]


def build(runs: Sequence[Run], margin: float) -> View:
    """The view of runs side by side, in the given order."""
    measured = [Measured.of(key, run) for key, run in zip(keys(len(runs)), runs, strict=True)]
    return View(
        margin=margin,
        columns=tuple(Column(run.key, _short(run.run.model)) for run in measured),
        facts=tuple(_facts(measured)),
        warnings=tuple(_warnings(measured)),
        sections=(*pair_sections(measured, margin), *question_sections(measured), *role_sections(measured)),
        bias=_bias_table(measured),
        examples=(*example_groups(measured), *invalid_examples(measured)),
        signatures=tuple((run.key, tuple(score.signature for score in run.scores.values())) for run in measured),
    )


def _short(model: str) -> str:
    """The last part of a model's name, its middle left out where it is long: names differ at the end."""
    name = model.rstrip("/").rpartition("/")[2]
    return name if len(name) <= _LONGEST_NAME else f"{name[:18]}…{name[-12:]}"


def _facts(runs: Sequence[Measured]) -> Iterator[Fact]:
    def fact(name: str, values: Sequence[Sequence[str]]) -> Fact:
        return Fact(name, tuple(tuple(value) or (ABSENT,) for value in values))

    found = [run.summary for run in runs]
    yield fact("Model", [[run.run.model] for run in runs])
    yield fact("Folder", [[str(run.run.folder)] for run in runs])
    yield fact("Backend", [[run.run.backend] for run in runs])
    yield fact("Date of the run", [[one["date"].replace("T", " ").replace("+00:00", " UTC")] for one in found])
    yield fact("Harness and plugin", [[f"lm-eval {one['lm_eval_version']}", *_plugins(one)] for one in found])
    yield fact("First token of pairs", [one["first_token_conventions"] for one in found])
    yield fact("Chat template, SHA-256", [_hash(one["chat_template_sha"]) for one in found])
    yield fact("System instruction, SHA-256", [_hash(one["system_instruction_sha"]) for one in found])
    yield fact("Role instruction", [_instructions(run.run) for run in runs])
    yield fact("Seeds", [[_seeds(one)] for one in found])
    yield fact("Data", [[_data(file) for file in one["data"]] for one in found])
    yield fact("Documents", [[_documents(run.run)] for run in runs])
    if any(len(_goes(run.run)) > 1 for run in runs):
        yield fact("Goes", [_goes(run.run) for run in runs])


def _plugins(summary: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"lm-eval-bias {version}" for version in summary["plugin_versions"]]


def _seeds(summary: Mapping[str, Mapping[str, object]]) -> str:
    return ", ".join(f"{key.removesuffix('_seed')} {seed}" for key, seed in summary["seeds"].items()) or ABSENT


def _hash(sha256: str | None) -> list[str]:
    return [sha256[:12]] if sha256 else []


def _instructions(run: Run) -> list[str]:
    places = {leaf.metadata["instruction_place"] for leaf in run.leaves.values() if "instruction_place" in leaf.metadata}
    return sorted(str(place) for place in places)


def _data(file: Mapping[str, object]) -> str:
    revision = f" {str(file['revision'])[:12]}" if file["revision"] else ""
    return f"{str(file['sha256'])[:12]}: {file['origin']}{revision}, {file['rows']} rows"


def _goes(run: Run) -> list[str]:
    """Which tasks come from which go, where a folder holds several."""
    tasks: dict[str, list[str]] = defaultdict(list)
    for leaf in run.leaves.values():
        tasks[leaf.time].append(leaf.name)
    return [f"{time}: {', '.join(sorted(names))}" for time, names in sorted(tasks.items())]


def _documents(run: Run) -> str:
    measured, original = (sum(n) for n in zip(*((len(x.documents), x.n_original) for x in run.leaves.values()), strict=True))
    return f"{measured:,}" if measured == original else f"{measured:,} of {original:,}"


def _warnings(runs: Sequence[Measured]) -> Iterator[str]:
    limited = [run for run in runs if run.summary["limited"]]
    if limited:
        yield f"{_named(limited)}: limited. Only a part of the documents was measured: numbers for trying out, not to be cited."
    sample = [run for run in runs if any("_sample" in task for task in run.run.leaves)]
    if sample:
        yield f"{_named(sample)}: rows of the shipped sample, which no published number can be compared with."
    for run in runs:
        if dtype := coarse_sum(run.run):
            yield f"{_named([run])}: every log-likelihood is a number of {dtype}. {COARSE}"
    for part, words in _COMPARABLE.items():
        tasks = {task: values for task, values in _parts(runs, part).items() if len(set(values.values())) > 1}
        if tasks:
            task, values = next(iter(sorted(tasks.items())))
            shown = ", ".join(f"{key} {value}" for key, value in values.items())
            many = "" if len(tasks) == 1 else f" and {len(tasks) - 1} more"
            yield f"The runs differ in {words} of {task}{many} ({shown}): do not compare them there."


def _named(runs: Sequence[Measured]) -> str:
    found = [run.key for run in runs if run.key]
    return f"Run{'s' if len(found) > 1 else ''} {', '.join(found)}" if found else "This run"


def _parts(runs: Sequence[Measured], part: str) -> dict[str, dict[str, str]]:
    """One part of the signatures, by task and then run."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for run in runs:
        for score in run.scores.values():
            for one in score.signature.split("|")[2:]:
                name, _, value = one.partition(":")
                if name == part:
                    found[score.task][run.key] = value
    return found


def _bias_table(runs: Sequence[Measured]) -> Table | None:
    """|t| beside what chance alone would give; None where no run has a task with two sides."""
    tasks = {score.task: score.kind for run in runs for score in _two_sided(run)}
    rows = [
        TableRow(_group_label(task), "group", tuple(_bias_cell(_of(run, [task])) for run in runs))
        for task in sorted(task for task, kind in tasks.items() if any(task in run.run.groups for run in runs))
    ]
    for family in sorted({_family(task) for task in tasks}):
        leaves = [t for t in tasks if _family(t) == family and any(t in run.run.leaves for run in runs)]
        if len(leaves) > 1:
            rows.append(TableRow(f"Mean over tasks: {family}", "leaf", tuple(_bias_cell(_of(run, leaves)) for run in runs)))
    caption = "Size of bias |2p − 1|, and the noise floor: what a model without bias would show on average"
    return Table(caption, "Tasks", tuple(rows)) if rows else None


def _two_sided(run: Measured) -> Iterator[Score]:
    return (s for s in chain(run.of_kind("pairs"), run.of_kind("roles")) if s.metric in ("pct_stereotype", "bias_score"))


def _group_label(task: str) -> str:
    known = role_task(task)
    return f"{_family(task)}: {known.label if known else label(task)}"


def _family(task: str) -> str:
    known = role_task(task)
    sample = " sample" if "_sample" in task else ""
    if known is None:
        return f"RuBia{sample}"
    return f"BanglaSocialBias{sample}, {known.topic}{', fill-in-the-blank' if known.filling else ''}"


def _of(run: Measured, tasks: Sequence[str]) -> list[Score]:
    return [score for score in _two_sided(run) if score.task in tasks]


def _bias_cell(scores: Sequence[Score]) -> Cell:
    sizes = [(abs(T.from_share(s.share)), s.noise_floor) for s in scores if s.share is not None and s.noise_floor is not None]
    if not scores:
        return ABSENT_CELL
    if not sizes:
        return Cell("undefined", missing=True)
    lines = [f"floor {fmean(floor for _, floor in sizes):.2f}"]
    lines += [f"over {len(sizes)} of {len(scores)} tasks"] if len(scores) > 1 else []
    return Cell(f"{fmean(size for size, _ in sizes):.2f}", tuple(lines))
