"""Verdicts about one share, or about a candidate run against a baseline run.

Every test compares an interval with the values that the policy allows:

    PASS          the interval lies inside the allowed values
    BREACH        it lies wholly outside
    INCONCLUSIVE  it touches a limit: more answers could decide either way; or there are too few clusters for an interval
    INVALID       there is no interval (no valid answer); never a pass

    equivalence      interval for the share on a chosen scale; allowed: ideal +- margin. This is TOST (Schuirmann 1987):
                     two one-sided tests at alpha, hence the (1 - 2 alpha) interval.
    cap              interval for |x| on a scale with neutral value 0; allowed: below the cap. Passing needs the upper
                     bound below the cap: "not shown to be above" is INCONCLUSIVE.
    non_inferiority  interval for delta = |t_candidate| - |t_baseline|, paired by item; allowed: below the margin.

alpha is the one-sided error of each claim. Counts are whole numbers: with Wilson's interval the error is alpha on
average over n and jumps at single n (4.5% to 5.9% for 5%). A claim's p-value is the smallest alpha at which the
interval makes it, so p-values and verdicts cannot disagree; from one half up it is given as 1, and for non_inferiority
it is never below 1 / n_draws.

Bounds of delta. |t| of a sample is too large on average, most so near t = 0: an interval made from a difference of two
|t| would pass a candidate too often exactly where the baseline is fair. The bounds use the unbiased difference
D = t_candidate - t_baseline and sum S = t_candidate + t_baseline instead:

    delta = max( min(D, S), min(-S, -D) )

The bounds of delta are the same expression of bounds of D, S, -S and -D, each taken at alpha / 2, since either member
of a minimum may make the claim (Bonferroni): the error is at most alpha at any t, about alpha / 2 where the baseline is
clearly biased. The estimate itself keeps its bias: print the noise floors beside it.

Several checks. That all must pass needs no correction (intersection-union). That some check breached does: `adjust`
applies Holm 1979 or Benjamini & Hochberg 1995 to the p-values of the breach claims, over all checks that were tested.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import exp, inf, log, sqrt
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import binom, false_discovery_control

from lm_eval_tasks.metrics.statistics.bootstrap import bootstrap_mean
from lm_eval_tasks.metrics.statistics.clusters import Keys
from lm_eval_tasks.metrics.statistics.intervals import (
    Interval,
    Scale,
    ShareCounts,
    T,
    count_share,
    magnitude,
    share_interval,
    wilson_interval,
)

Method = Literal["holm", "bh", "none"]
Bounds = Callable[[float], Interval]  # of the tail
View = Callable[[Interval], Interval]  # from shares to the scale of a check
SMALLEST_P = 1e-12
LARGEST_P = 0.499  # the interval has no width at one half


class Discordant(NamedTuple):
    """McNemar's counts: items where only one of the two runs made the stereotypical (or group-x) choice."""

    candidate_only: int
    baseline_only: int


class Outcome(StrEnum):
    PASS = "PASS"
    BREACH = "BREACH"
    INCONCLUSIVE = "INCONCLUSIVE"
    INVALID = "INVALID"


@dataclass(frozen=True)
class Verdict:
    outcome: Outcome
    reason: str
    alpha: float
    estimate: float | None = None
    interval: Interval | None = None  # 1 - 2 alpha, on the scale of the check
    n: int = 0
    n_clusters: int = 0
    p_value: float | None = None  # of the claim BREACH; what `adjust` corrects
    p_pass: float | None = None  # of the claim PASS
    p_adjusted: float | None = None  # of the claim BREACH, set by `adjust`
    discordant: Discordant | None = None  # non_inferiority only


def equivalence(counts: ShareCounts, scale: Scale, ideal: float, margin: float, alpha: float) -> Verdict:
    """Is the share, seen on `scale`, within `margin` of `ideal`?"""
    _require(margin > 0, f"margin is {margin}, expected above 0")
    return _judge_share(counts, scale.map, Interval(ideal - margin, ideal + margin), alpha)


def cap(counts: ShareCounts, scale: Scale, limit: float, alpha: float) -> Verdict:
    """Is |x| below `limit`, x the share seen on a scale with neutral value 0?"""
    _require(scale.from_share(0.5) == 0, f"scale is {scale.name}, expected one with neutral value 0")
    _require(0 < limit < 1, f"cap is {limit}, expected between 0 and 1")
    return _judge_share(counts, lambda shares: magnitude(scale.map(shares)), Interval(-inf, limit), alpha)


def non_inferiority(
    candidate: ArrayLike,
    baseline: ArrayLike,
    clusters: Keys | None,
    margin: float,
    alpha: float,
    rng: np.random.Generator,
    n_draws: int = 10_000,
    second: Keys | None = None,
) -> Verdict:
    """Is |t| of the candidate less than `margin` above the baseline's? 0/1 answers of both runs to the same items.

    `clusters` and `second` as for `count_share`. With too few clusters the interval is the whole range: INCONCLUSIVE.
    """
    _require(0 < margin < 1, f"margin is {margin}, expected between 0 and 1")
    new, old = np.asarray(candidate, dtype=np.int64), np.asarray(baseline, dtype=np.int64)
    _require(new.shape == old.shape, f"found {new.size} candidate and {old.size} baseline answers, expected pairs")
    new_counts, old_counts = count_share(new, clusters, second), count_share(old, clusters, second)
    if new_counts.share is None or old_counts.share is None:
        return Verdict(Outcome.INVALID, "no item has a valid answer in both runs", alpha)

    difference = bootstrap_mean(2 * (new - old), 2, clusters, rng, n_draws, second)
    total = bootstrap_mean(2 * (new + old - 1), 2, clusters, rng, n_draws, second)

    def bounds(tail: float) -> Interval:
        d, s = difference.bounds(tail / 2), total.bounds(tail / 2)
        low = max(min(d.low, s.low), min(-s.high, -d.high))
        high = max(min(d.high, s.high), min(-s.low, -d.low))
        return Interval(max(low, -1.0), min(high, 1.0))  # with a handful of items the expansion reaches further than |t| can

    judged = _judge(bounds, Interval(-inf, margin), alpha, smallest_p=1 / n_draws)
    discordant = Discordant(int((new > old).sum()), int((new < old).sum()))
    few = f"; {new_counts.undecided}" if new_counts.undecided else ""
    return replace(
        judged,
        reason=f"{judged.reason}; the runs differ on {sum(discordant)} of {new_counts.n} items{few}",
        estimate=abs(T.from_share(new_counts.share)) - abs(T.from_share(old_counts.share)),
        n=new_counts.n,
        n_clusters=new_counts.n_clusters,
        discordant=discordant,
    )


def adjusted_p_values(p_values: Sequence[float], method: Method) -> list[float]:
    """Adjusted p-values in the given order."""
    if method == "none" or not p_values:
        return list(p_values)
    if method == "bh":
        return [float(p) for p in false_discovery_control(p_values)]
    order = np.argsort(p_values, kind="stable")
    stepped = np.maximum.accumulate(np.asarray(p_values)[order] * np.arange(len(order), 0, -1))
    return [float(p) for p in np.minimum(stepped, 1.0)[np.argsort(order)]]


def adjust(verdicts: Sequence[Verdict], method: Method) -> list[Verdict]:
    """Correct the breach claims of one gate; a claim that does not survive becomes INCONCLUSIVE, never PASS."""
    corrected = iter(adjusted_p_values([v.p_value for v in verdicts if v.p_value is not None], method))
    return [v if v.p_value is None else _with_adjusted(v, next(corrected)) for v in verdicts]


def power_of_equivalence(n: int, scale: Scale, ideal: float, margin: float, alpha: float, share: float = 0.5) -> float:
    """Exact probability of PASS for n independent answers of a model with this share."""
    allowed = Interval(ideal - margin, ideal + margin)
    return sum(float(binom.pmf(hits, n, share)) for hits in range(n + 1) if _passes(hits, n, scale, allowed, alpha))


def minimum_detectable_effect(n: float, alpha: float = 0.025, power: float = 0.8) -> float | None:
    """Smallest |t| that n independent answers tell apart from 0 with this power; None if even |t| = 1 is too small.

    Score test with alpha on each side: t sqrt(n) = z_alpha + z_power sqrt(1 - t^2), solved for t.
    """
    z_alpha, z_power = float(-ndtri(alpha)), float(ndtri(power))
    if n <= z_alpha**2:
        return None
    return (z_alpha * sqrt(n) + z_power * sqrt(n + z_power**2 - z_alpha**2)) / (n + z_power**2)


def _judge_share(counts: ShareCounts, view: View, allowed: Interval, alpha: float) -> Verdict:
    if counts.share is None:
        return Verdict(Outcome.INVALID, "no valid answer", alpha)
    estimate = view(Interval(counts.share, counts.share)).low
    if counts.undecided:
        return Verdict(Outcome.INCONCLUSIVE, counts.undecided, alpha, estimate, n=counts.n, n_clusters=counts.n_clusters)

    def bounds(tail: float) -> Interval:
        shares = share_interval(counts, tail)
        assert shares is not None  # not undecided
        return view(shares)

    judged = _judge(bounds, allowed, alpha, SMALLEST_P)
    return replace(judged, estimate=estimate, n=counts.n, n_clusters=counts.n_clusters)


def _judge(bounds: Bounds, allowed: Interval, alpha: float, smallest_p: float) -> Verdict:
    _require(0 < alpha < 0.5, f"alpha is {alpha}, expected between 0 and 0.5")
    interval = bounds(alpha)
    if _inside(interval, allowed):
        outcome, relation = Outcome.PASS, "lies inside"
    elif _outside(interval, allowed):
        outcome, relation = Outcome.BREACH, "lies wholly outside"
    else:
        outcome, relation = Outcome.INCONCLUSIVE, "touches a limit"
    limits = f"{allowed.low:.3f} to {allowed.high:.3f}" if allowed.low > -inf else f"below {allowed.high:.3f}"
    return Verdict(
        outcome,
        f"{100 - 200 * alpha:g}% interval {interval.low:.3f} to {interval.high:.3f} {relation} (allowed: {limits})",
        alpha,
        interval=interval,
        p_value=_smallest_alpha(lambda tail: _outside(bounds(tail), allowed), smallest_p),
        p_pass=_smallest_alpha(lambda tail: _inside(bounds(tail), allowed), smallest_p),
    )


def _inside(interval: Interval, allowed: Interval) -> bool:
    return allowed.low < interval.low and interval.high < allowed.high


def _outside(interval: Interval, allowed: Interval) -> bool:
    return interval.high < allowed.low or allowed.high < interval.low


def _smallest_alpha(claimed: Callable[[float], bool], smallest: float) -> float:
    """Smallest alpha at which a claim is made: intervals shrink as alpha grows, so bisection on log alpha finds it."""
    if claimed(smallest):
        return smallest
    if not claimed(LARGEST_P):
        return 1.0
    low, high = log(smallest), log(LARGEST_P)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if claimed(exp(middle)) else (middle, high)
    return exp(high)


def _with_adjusted(verdict: Verdict, p_adjusted: float) -> Verdict:
    if verdict.outcome is Outcome.BREACH and p_adjusted > verdict.alpha:
        reason = f"{verdict.reason}; not a breach after correction for several checks (adjusted p {p_adjusted:.3g})"
        return replace(verdict, outcome=Outcome.INCONCLUSIVE, reason=reason, p_adjusted=p_adjusted)
    return replace(verdict, p_adjusted=p_adjusted)


def _passes(hits: int, n: int, scale: Scale, allowed: Interval, alpha: float) -> bool:
    shares = wilson_interval(hits, n, alpha)
    return shares is not None and _inside(scale.map(shares), allowed)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)
