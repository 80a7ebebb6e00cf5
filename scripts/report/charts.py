"""Figures of the report as inline SVG: points or bars with whiskers on one axis, one line per run below the name of each row.

Horizontal places are percentages of the width and vertical ones pixels, so a figure fills its place on a telephone and on
paper, and its letters keep their size. A value that is undefined or was not measured is a word on the neutral line, never a
bar without length.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from markupsafe import Markup

from lm_eval_tasks.metrics.statistics.intervals import Interval
from lm_eval_tasks.scripts.report.text import Number, percent, signed
from lm_eval_tasks.scripts.shared.safe_text import visible

_LEFT, _RIGHT = 6.0, 86.0  # the axis, in per cent of the width
_SCALE, _LABEL, _LINE, _GAP = 38, 20, 16, 8  # heights


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high`; `band` is the margin around the neutral value, `ends` what the two directions mean."""

    low: float
    high: float
    neutral: float
    ticks: tuple[float, ...]
    number: Number
    ends: tuple[str, str]
    band: Interval | None = None

    def place(self, value: float) -> str:
        """Horizontal place of a value, as an SVG length."""
        return f"{_LEFT + (value - self.low) / (self.high - self.low) * (_RIGHT - _LEFT):.2f}%"


def share_axis(margin: float) -> Axis:
    """For shares of stereotypical choices; `margin` as a share."""
    ends = ("← against stereotypes", "stereotypical →")
    return Axis(0, 1, 0.5, (0, 0.25, 0.5, 0.75, 1), _whole, ends, Interval(0.5 - margin, 0.5 + margin))


def score_axis(topic: str) -> Axis:
    """For the BiasScore of a topic."""
    y, x = {"gender": ("male", "female"), "religion": ("Muslim", "Hindu")}[topic]
    return Axis(-1, 1, 0, (-1, -0.5, 0, 0.5, 1), signed, (f"− = {y}", f"+ = {x}"))


def _whole(share: float) -> str:
    return f"{100 * share:.0f}"


@dataclass(frozen=True)
class Mark:
    """One run in a row; `key` names the run, `word` stands where there is no value."""

    key: str
    value: float | None
    interval: Interval | None
    word: str = ""


@dataclass(frozen=True)
class ChartRow:
    """A task or group, with one mark per run; `name` is unique in the report."""

    name: str
    label: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Chart:
    """A figure: a picture of the scale, then one of each row, between which a page may end."""

    title: str
    rows: tuple[ChartRow, ...]
    axis: Axis
    bars: bool = False  # from the neutral line, instead of points

    def scale(self) -> Markup:
        """What stands above the rows; their values are said with each of them."""
        return Markup('<svg class="chart scale" aria-hidden="true" width="100%" height="{}">\n{}</svg>').format(
            _SCALE, Markup().join(_scale(self.axis))
        )

    def row(self, row: ChartRow) -> Markup:
        """One row with the marks of all runs."""
        height = _LABEL + _LINE * len(row.marks) + _GAP
        lines = [_mark(mark, self.axis, self.bars, _LABEL + _LINE * i + _LINE // 2) for i, mark in enumerate(row.marks)]
        return Markup(
            '<svg class="chart" role="img" aria-labelledby="{name}" width="100%" height="{height}">\n'
            '<title id="{name}">{words}</title>\n{grid}<text class="label" x="0" y="14">{label}</text>\n{lines}</svg>'
        ).format(
            name=row.name,
            height=height,
            words=visible(f"{row.label}: {', '.join(_spoken(mark, self.axis) for mark in row.marks)}"),
            grid=Markup().join(_grid(self.axis, height)),
            label=visible(row.label),
            lines=Markup().join(chain.from_iterable(lines)),
        )


def value_number(axis: Axis) -> Number:
    """How a value on this axis is written beside its mark."""
    return signed if axis.neutral == 0 else percent


def _spoken(mark: Mark, axis: Axis) -> str:
    number = value_number(axis)
    if mark.value is None or mark.interval is None:
        return f"{mark.key} {mark.word}".strip()
    value = f"{number(mark.value)} (95% interval {number(mark.interval.low)} to {number(mark.interval.high)})"
    return f"{mark.key} {value}".strip()


def _scale(axis: Axis) -> Iterator[Markup]:
    for end, limit, anchor in zip(axis.ends, (axis.low, axis.high), ("start", "end"), strict=True):
        yield Markup('<text class="end" x="{}" y="12" text-anchor="{}">{}</text>\n').format(axis.place(limit), anchor, end)
    for tick in axis.ticks:
        at = axis.place(tick)
        yield Markup('<text class="number" x="{}" y="30" text-anchor="middle">{}</text>\n').format(at, axis.number(tick))
        yield _line("tick", at, _SCALE - 4, at, _SCALE)


def _grid(axis: Axis, height: int) -> Iterator[Markup]:
    if axis.band is not None:
        yield _box("band", axis.band, axis, 0, height)
    for tick in axis.ticks:
        yield _line("neutral" if tick == axis.neutral else "tick", axis.place(tick), 0, axis.place(tick), height)


def _mark(mark: Mark, axis: Axis, bars: bool, y: int) -> Iterator[Markup]:
    yield Markup('<text class="key" x="0.5%" y="{}">{}</text>\n').format(y + 4, mark.key)
    if mark.value is None or mark.interval is None:
        yield Markup('<text class="missing" x="{}" y="{}" text-anchor="middle">{}</text>\n').format(
            axis.place(axis.neutral), y + 4, mark.word
        )
        return
    at = axis.place(mark.value)
    if bars:
        yield from _bar(mark.value, axis, y)
    low, high = axis.place(mark.interval.low), axis.place(mark.interval.high)
    yield _line("whisker", low, y, high, y)
    for end in (low, high):
        yield _line("whisker", end, y - 3, end, y + 3)
    if not bars:
        yield Markup('<circle class="point" cx="{}" cy="{}" r="4"/>\n').format(at, y)
    yield Markup('<text class="value" x="99.5%" y="{}" text-anchor="end">{}</text>\n').format(
        y + 4, value_number(axis)(mark.value)
    )


def _bar(value: float, axis: Axis, y: int) -> Iterator[Markup]:
    yield _box("bar", Interval(min(value, axis.neutral), max(value, axis.neutral)), axis, y - 5, 10)
    yield _line("bar-end", axis.place(value), y - 6, axis.place(value), y + 6)


def _box(kind: str, between: Interval, axis: Axis, y: int, height: int) -> Markup:
    width = (between.high - between.low) / (axis.high - axis.low) * (_RIGHT - _LEFT)
    return Markup('<rect class="{}" x="{}" y="{}" width="{:.2f}%" height="{}"/>\n').format(
        kind, axis.place(between.low), y, width, height
    )


def _line(kind: str, x1: str, y1: int, x2: str, y2: int) -> Markup:
    return Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>\n').format(kind, x1, y1, x2, y2)


def keys(n: int) -> Sequence[str]:
    """Short names of n runs; one run needs none."""
    return [""] if n == 1 else [chr(ord("A") + i) if i < 26 else str(i + 1) for i in range(n)]
