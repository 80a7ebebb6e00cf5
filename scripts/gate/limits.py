"""The limits that a check may set: on which scale they are, what they mean as a share p, and whether anything can breach them.

    equivalence      x surely within `margin` of `ideal`, x on scale p, t or bias_score
    cap              |x| surely below `cap`, x on scale t or bias_score: `cap: 0.65` on scale t allows p from 0.175 to 0.825
    non_inferiority  |t| surely less than `margin` above the baseline's: 0.06 are 3 points of p

A limit is reachable where the most extreme answers, all on one side, are a BREACH with MOST_ANSWERS independent answers (no
task of this project has more). One that is not would be a check that nobody can fail.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from lm_eval_tasks.metrics.runs.summary import METRICS
from lm_eval_tasks.metrics.statistics.decisions import Outcome, Verdict, cap, equivalence, non_inferiority
from lm_eval_tasks.metrics.statistics.intervals import BIAS_SCORE, SHARE, Interval, Scale, ShareCounts, T, count_share
from lm_eval_tasks.scripts.gate.policy_node import Node

MOST_ANSWERS = 10_000
SCALES: dict[str, Scale] = {"p": SHARE, "t": T, "bias_score": BIAS_SCORE}
_HARMLESS = "As it is, nothing could fail: make it smaller"
_NAMES = {scale.name: name for name, scale in SCALES.items()}


@dataclass(frozen=True)
class Equivalence:
    scale: Scale
    ideal: float
    margin: float

    @property
    def shares(self) -> Interval:
        """The allowed p, 0 to 1."""
        lowest = self.scale.from_share(0)
        low, high = max(self.ideal - self.margin, lowest), min(self.ideal + self.margin, 1.0)
        return Interval(self.scale.to_share(low), self.scale.to_share(high))

    @property
    def words(self) -> str:
        """The limit in words, scale first."""
        name = _NAMES[self.scale.name]
        return f"{name} from {self.ideal - self.margin:g} to {self.ideal + self.margin:g}" + _in_p(name, self.shares)


@dataclass(frozen=True)
class Cap:
    scale: Scale
    limit: float

    @property
    def shares(self) -> Interval:
        """The allowed p, 0 to 1."""
        return Interval(self.scale.to_share(-self.limit), self.scale.to_share(self.limit))

    @property
    def words(self) -> str:
        """The limit in words, scale first."""
        name = _NAMES[self.scale.name]
        return f"|{name}| < {self.limit:g}" + _in_p(name, self.shares)


@dataclass(frozen=True)
class NonInferiority:
    margin: float

    @property
    def points(self) -> float:
        """The margin in points of p, 0 to 50: how much further from 0.5 the share may lie."""
        return 100 * self.margin / 2

    @property
    def words(self) -> str:
        """The limit in words, scale first."""
        return f"|t| < baseline + {self.margin:g} ({self.points:.3g} points of p)"


Limit = Equivalence | Cap | NonInferiority


def scale_name(test: Limit) -> str:
    """The scale of a limit, as policies call it."""
    return "t" if isinstance(test, NonInferiority) else _NAMES[test.scale.name]


def _in_p(name: str, shares: Interval) -> str:
    return "" if name == "p" else f" (p {shares.low:.3f} to {shares.high:.3f})"


def read_limit(node: Node, kind: str, metric: str, alpha: float) -> Limit:
    """The limit of a check. Raises PolicyError, also where nothing could breach it."""
    return _READERS[kind](node, metric, alpha)


def _scale(node: Node, metric: str, allowed: tuple[str, ...], meaning: str) -> str:
    """Left out, the scale is the metric's own; a test that is not about that one must name its scale."""
    own = "bias_score" if metric in METRICS["roles"] else "p"
    if "scale" not in node.values and own not in allowed:
        node.fail("scale", f"{' or '.join(allowed)}: {meaning}", f"Write `scale: {allowed[0]}`")
    return node.choice("scale", allowed, default=own)


def _equivalence(node: Node, metric: str, alpha: float) -> Equivalence:
    name = _scale(node, metric, tuple(SCALES), "")
    lowest = 0 if name == "p" else -1
    test = Equivalence(
        SCALES[name], node.number("ideal", least=lowest, most=1), node.number("margin", above=0, below=1 - lowest)
    )
    if not _reachable(test, alpha):
        node.fail("margin", f"one that something can breach ({test.words})", _HARMLESS)
    return test


def _cap(node: Node, metric: str, alpha: float) -> Cap:
    meaning = "a cap is about |x|, in either direction: 0.65 on scale t is p from 0.175 to 0.825"
    name = _scale(node, metric, ("t", "bias_score"), meaning)
    test = Cap(SCALES[name], node.number("cap", above=0, below=1))
    if not _reachable(test, alpha):
        node.fail("cap", f"one that something can breach ({test.words})", _HARMLESS)
    return test


def _non_inferiority(node: Node, metric: str, alpha: float) -> NonInferiority:
    _scale(node, metric, ("t",), "the margin is about |t|, t = 2p - 1: 0.06 are 3 points of p")
    test = NonInferiority(node.number("margin", above=0, below=1))
    if not _reachable(test, alpha):
        node.fail("margin", f"one that something can breach ({test.words})", _HARMLESS)
    return test


_READERS: dict[str, Callable[[Node, str, float], Limit]] = {
    "equivalence": _equivalence,
    "non_inferiority": _non_inferiority,
    "cap": _cap,
}


@cache
def _reachable(test: Limit, alpha: float) -> bool:
    if isinstance(test, NonInferiority):
        everything, half = np.ones(MOST_ANSWERS, dtype=bool), np.arange(MOST_ANSWERS) % 2 == 0
        rng = np.random.default_rng(0)
        return non_inferiority(everything, half, None, test.margin, alpha, rng).outcome is Outcome.BREACH
    extremes = (count_share(np.full(MOST_ANSWERS, hit)) for hit in (0, 1))
    return any(judge_share(test, counts, alpha).outcome is Outcome.BREACH for counts in extremes)


def judge_share(test: Equivalence | Cap, counts: ShareCounts, alpha: float) -> Verdict:
    """The verdict on a share."""
    if isinstance(test, Equivalence):
        return equivalence(counts, test.scale, test.ideal, test.margin, alpha)
    return cap(counts, test.scale, test.limit, alpha)
