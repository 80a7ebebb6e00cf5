"""Intervals for the share p of stereotypical (RuBia) or group-x (Bangla) choices among valid answers.

Scales. One engine works on p; results are mapped to the other two, which rise with p:

    SHARE       p                    0 ... 1   neutral 0.5
    T           t = 2p - 1          -1 ... 1   neutral 0
    BIAS_SCORE  2t / (1 + t^2)      -1 ... 1   neutral 0   = tanh(ln(Cx / Cy)), Cx and Cy the two counts

Undefined (no valid answer) is None, never 0, -1 or NaN. `tail` is the probability left outside on each side:
0.025 for a 95% interval, alpha for the (1 - 2 alpha) interval of an equivalence test.

Share interval. Answers that stand alone: Wilson's score interval (Wilson 1927). Answers in clusters (a repeated pair, a trait
word) are not independent: the bounds of `posterior`. Clusters of two kinds that cross (trait word and occupation): the
distance of a bound from the estimate is put together as Cameron, Gelbach and Miller (2011) put variances together,

    d^2 = d_trait^2 + d_occupation^2 - d_both^2,   never below the larger of the first two

each d from the answers clustered that way alone (Zou and Donner 2008 show that distances of bounds may stand for standard
errors, which keeps bounds of a rare answer unequal). Fewer clusters of either kind than MIN_CLUSTERS are too few to say
anything: there is no interval then, and `undecided` says why.

Mean coverage is 94% to 97%, single scenarios and the methods that were tried: `scripts/tools/simulate.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from lm_eval_tasks.metrics.statistics.clusters import IntArray, Keys, Levels, totals, ways_of
from lm_eval_tasks.metrics.statistics.posterior import posterior

MIN_CLUSTERS = 6  # of 5, some scenarios cover 92% only; from 6 on, all 93.5%


class Interval(NamedTuple):
    low: float
    high: float


class Scale(NamedTuple):
    """A rising view of the share."""

    name: str
    from_share: Callable[[float], float]
    to_share: Callable[[float], float]

    def map(self, shares: Interval) -> Interval:
        return Interval(self.from_share(shares.low), self.from_share(shares.high))


def _bias_score(share: float) -> float:
    t = 2 * share - 1
    return 2 * t / (1 + t * t)


def _share_of_bias_score(score: float) -> float:
    t = score / (1 + sqrt(1 - score * score))
    return (1 + t) / 2


SHARE = Scale("share", lambda share: share, lambda share: share)
T = Scale("t", lambda share: 2 * share - 1, lambda t: (1 + t) / 2)
BIAS_SCORE = Scale("bias_score", _bias_score, _share_of_bias_score)


@dataclass(frozen=True)
class ShareCounts:
    """Sufficient statistics of a share; built by `count_share` from answers or `from_clusters` from cluster totals."""

    n: int
    n_hits: int
    ways: tuple[Levels, ...]  # none, one kind of clusters, or the first kind, the second and both

    @classmethod
    def from_clusters(cls, sizes: IntArray, hits: IntArray) -> "ShareCounts":
        n = int(sizes.sum())
        return cls(n, int(hits.sum()), (Levels.of(sizes, hits),) if n else ())

    @classmethod
    def independent(cls, n_hits: int, n: int) -> "ShareCounts":
        """Counts of n answers that each stand alone."""
        return cls(n, n_hits, (Levels((n,), (n_hits,), (n - n_hits,), float(n)),) if n else ())

    @property
    def share(self) -> float | None:
        return self.n_hits / self.n if self.n else None

    @property
    def n_clusters(self) -> int:
        """Clusters of the kind that has fewer."""
        return min((way.n_clusters for way in self.ways), default=0)

    @property
    def undecided(self) -> str | None:
        """Why these answers have no interval; None where they have one."""
        if self.n == 0:
            return "no valid answer"
        if self.n_clusters < MIN_CLUSTERS and self.n_clusters < self.n:
            return f"too few clusters to say: {self.n_clusters}, expected at least {MIN_CLUSTERS}"
        return None

    def effective_n(self, tail: float) -> float:
        """How many independent answers know as much: as many as give Wilson's interval the same width; 0 without answers.

        Between 1 and n. Width w of Wilson's interval, u = z^2 / n_e:  w^2 (1 + u)^2 = 4 p (1 - p) u + u^2, solved for u.
        """
        if self.share is None or self.n_clusters == self.n:
            return float(self.n)
        down, up = _distances(self, tail)
        square = min((down + up) ** 2, 1 - 1e-12)
        linear = 4 * self.share * (1 - self.share) - 2 * square
        root = (sqrt(linear**2 + 4 * (1 - square) * square) - linear) / (2 * (1 - square))
        return max(1.0, min(float(ndtri(tail)) ** 2 / root, float(self.n)))


def count_share(answers: ArrayLike, clusters: Keys | None = None, second: Keys | None = None) -> ShareCounts:
    """Counts of 0/1 answers; one key per answer in `clusters`, and in `second` for clusters of a second kind.

    A key of None, or None for all of them, says that the answer stands alone.
    """
    hits = np.asarray(answers, dtype=np.int64)
    if not np.isin(hits, (0, 1)).all():
        raise ValueError(f"answers must be 0 or 1, found {sorted(set(hits.tolist()) - {0, 1})[:3]}")
    if not hits.size:
        return ShareCounts(0, 0, ())
    ways = tuple(Levels.of(*totals(hits, index)) for index in ways_of(clusters, second, len(hits)))
    return ShareCounts(len(hits), int(hits.sum()), ways)


def wilson_interval(n_hits: float, n: float, tail: float) -> Interval | None:
    """Wilson's score interval for n_hits of n; both may be effective, hence fractional, numbers."""
    return _wilson(n_hits, n, tail) if n else None


def _wilson(n_hits: float, n: float, tail: float) -> Interval:
    z, share = -float(ndtri(tail)), n_hits / n
    centre = share + z * z / (2 * n)
    half = z * sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    shrink = 1 + z * z / n
    return Interval(max(0.0, (centre - half) / shrink), min(1.0, (centre + half) / shrink))


def share_interval(counts: ShareCounts, tail: float = 0.025) -> Interval | None:
    """Interval for the share, clusters taken into account; None where `counts.undecided` says why there is none."""
    if counts.share is None or counts.undecided:
        return None
    down, up = _distances(counts, tail)
    return Interval(counts.share - down, counts.share + up)


def crossed(distances: Sequence[float]) -> float:
    """Distance of a bound for one kind of clusters, or from those of the first kind, the second and both."""
    if len(distances) == 1:
        return distances[0]
    first, second, both = distances
    return max(first, second, sqrt(max(first**2 + second**2 - both**2, 0.0)))


def _distances(counts: ShareCounts, tail: float) -> tuple[float, float]:
    """How far below and above the share its bounds lie."""
    assert counts.share is not None
    found = [way_interval(way, counts.n_hits, counts.n, tail) for way in counts.ways]
    down = crossed([counts.share - interval.low for interval in found])
    up = crossed([interval.high - counts.share for interval in found])
    return min(down, counts.share), min(up, 1 - counts.share)


def way_interval(way: Levels, n_hits: int, n: int, tail: float) -> Interval:
    """Interval for the share of n_hits in n answers, at least one, clustered in one way."""
    share, k = n_hits / n, way.n_clusters
    if k == n:
        return _wilson(n_hits, n, tail)
    if k == 1:
        return Interval(0.0, 1.0)
    known, stretch = posterior(way), sqrt(k / (k - 1))
    low = share - stretch * max(share - known.low(tail), 0.0)
    high = share + stretch * max(known.high(tail) - share, 0.0)
    if n_hits in (0, n):
        worst = _wilson(share * way.n_if_alike, way.n_if_alike, tail)
        low, high = min(low, worst.low), max(high, worst.high)
    return Interval(max(low, 0.0), min(high, 1.0))


def magnitude(signed: Interval) -> Interval:
    """Bounds of |x| from bounds of x."""
    ends = abs(signed.low), abs(signed.high)
    return Interval(0.0 if signed.low <= 0 <= signed.high else min(ends), max(ends))


def noise_floor(n: float) -> float | None:
    """Mean |t| of an unbiased model over n independent answers, sqrt(2 / (pi n)); None for n = 0."""
    return sqrt(2 / (np.pi * n)) if n else None


def worst_case_shares(n_hits: int, n_valid: int, n_invalid: int) -> Interval | None:
    """Share if all invalid answers had fallen on one side or the other; None without answers."""
    n = n_valid + n_invalid
    return Interval(n_hits / n, (n_hits + n_invalid) / n) if n else None
