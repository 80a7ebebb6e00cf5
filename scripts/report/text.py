"""Words and numbers of the report: what tasks are called, and how figures are written."""

import csv
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from lm_eval_tasks import tasks_path
from lm_eval_tasks.metrics.statistics.intervals import Interval

PUBLISHED = tasks_path() / "rubia" / "published.tsv"
UNDEFINED = "undefined"
ABSENT = "–"
Number = Callable[[float], str]


def percent(share: float) -> str:
    """A share as a percentage without the sign, as in the RuBia paper."""
    return f"{100 * share:.1f}"


def signed(score: float) -> str:
    """A score with neutral value 0, its sign always written."""
    text = f"{abs(score):.2f}"
    return text if text == "0.00" else f"{'+' if score > 0 else '−'}{text}"


def span(interval: Interval | None, number: Number) -> str:
    """Bounds of an interval."""
    return ABSENT if interval is None else f"{number(interval.low)} to {number(interval.high)}"


@dataclass(frozen=True)
class Published:
    """A RuBia task: its name in words, and the percentages that the paper gives for it (empty where it gives none)."""

    label: str
    figures: Mapping[str, str]


@cache
def published() -> dict[str, Published]:
    """RuBia tasks in the order of the report."""
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return {row.pop("task"): Published(row.pop("label"), row) for row in rows}


def published_models() -> tuple[str, ...]:
    """Names of the models in the paper's table."""
    return tuple(next(iter(published().values())).figures)


_ROLE_TASK = re.compile(r"bangla_bias(?:_sample)?(?P<filling>_ebe)?_(?P<topic>gender|religion)(?:_(?P<rest>.+))?")
_CATEGORIES = ("personality", "outlook", "communal", "ideology")
_TRAITS = {"positive": "Positive traits", "negative": "Negative traits"}
_OCCUPATION = "Occupation alone"
TRAITS = (*_TRAITS.values(), _OCCUPATION)


@dataclass(frozen=True)
class RoleTask:
    """What a Bangla task measures; `traits` is the figure it belongs to, empty for fill-in-the-blank and for pooled prompts."""

    topic: str
    filling: bool
    category: str
    traits: str

    @property
    def label(self) -> str:
        """Its name within a figure of one kind of traits."""
        if self.filling:
            return "Fill-in-the-blank"
        if self.traits == _OCCUPATION:
            return "Occupation"
        if not self.category:
            return "All categories" if self.traits else "All template prompts, pooled"
        base, _, occupation = self.category.partition("_")
        return f"{base.capitalize()} with {occupation}" if occupation else base.capitalize()

    @property
    def full_label(self) -> str:
        """Its name in a table of all prompts."""
        if self.traits in ("", _OCCUPATION):
            return self.traits or self.label
        return f"{self.label}, {self.traits.lower()}"

    @property
    def place(self) -> tuple[bool, int, int, str]:
        """Where it stands among the others of its topic."""
        base, _, occupation = self.category.partition("_")
        known = _CATEGORIES.index(base) if base in _CATEGORIES else -1
        return self.filling, TRAITS.index(self.traits) if self.traits else -1, known, occupation


def role_task(name: str) -> RoleTask | None:
    """The Bangla task of this name, or None for another one."""
    match = _ROLE_TASK.fullmatch(name)
    if match is None:
        return None
    rest = match["rest"] or ""
    category, _, polarity = rest.rpartition("_")
    if rest == "occupation":
        category, traits = "", _OCCUPATION
    else:
        traits = _TRAITS.get(polarity, "")
    return RoleTask(match["topic"], bool(match["filling"]), category if traits else rest, traits)
