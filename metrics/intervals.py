"""Intervals for the share p of stereotypical (RuBia) or group-x (Bangla) choices among valid answers.

Scales. One engine works on p; results are mapped to the other two, which rise with p:

    SHARE       p                    0 ... 1   neutral 0.5
    T           t = 2p - 1          -1 ... 1   neutral 0
    BIAS_SCORE  2t / (1 + t^2)      -1 ... 1   neutral 0   = tanh(ln(Cx / Cy)), Cx and Cy the two counts

Undefined (no valid answer) is None, never 0, -1 or NaN. `tail` is the probability left outside on each side:
0.025 for a 95% interval, alpha for the (1 - 2 alpha) interval of an equivalence test.

Share interval: Wilson's score interval (Wilson 1927) with an effective number of answers. Answers that share a cluster
(a repeated pair, a trait word) are not independent. With clusters of m_i answers, y_i of them hits:

    residual  r_i   = y_i - m_i p
    variance  v     = k / (k - 1) * sum r_i^2 / n^2                           linearised, k clusters, n answers
    effective n_e   = p (1 - p) / v * (z / t_{k-1})^2                         Korn & Graubard 1998
    limits          n^2 / sum m_i^2  <=  n_e  <=  2 n

The lower limit is the effective number if all answers of a cluster are alike (Kish's worst case); it is used alone
where v says nothing (one cluster, or no residual at all). With clusters of one answer it equals n and the estimate is
below it, so independent answers get exactly Wilson's interval. The upper limit keeps a sample whose clusters happen to
be balanced from claiming certainty. It is 2 n and not n because with about ten clusters the estimate of v is noisy:
cut at n, the interval would cover 97% instead of 95%. Below ten clusters it covers 94% to 98%.

Bootstrap (only for differences of two runs, see decisions): means over whole clusters, drawn with replacement. Bounds
are bias-corrected and accelerated (Efron 1987), with z replaced by t_{k-1} sqrt(k / (k - 1)), Hesterberg's expansion
(2015) against short intervals with few clusters. A resample shows rare values too seldom, and those never seen not at
all, so a bound is never closer to the mean than Wilson's bound on the share of the extreme value alone allows. Its
effective number counts one imagined cluster of like answers: a few rare answers say little about the design effect.
The draw works on counts of distinct clusters: the order of items and the names of clusters cannot change it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtrit

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MAX_GAIN = 2.0  # upper limit of effective answers per answer


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
    n_clusters: int
    n_if_alike: float  # n^2 / sum m_i^2
    residual_squares: float  # sum r_i^2

    @classmethod
    def from_clusters(cls, sizes: IntArray, hits: IntArray) -> "ShareCounts":
        n, n_hits = int(sizes.sum()), int(hits.sum())
        if n == 0:
            return cls(0, 0, 0, 0.0, 0.0)
        scaled = n * hits - sizes * n_hits  # whole numbers: exactly zero when all clusters agree
        return cls(n, n_hits, len(sizes), n * n / float(sizes @ sizes), float(scaled @ scaled) / n**2)

    @property
    def share(self) -> float | None:
        return self.n_hits / self.n if self.n else None

    def effective_n(self, tail: float) -> float:
        """How many independent answers carry the same information, for bounds with this tail."""
        k = self.n_clusters
        if k < 2 or self.residual_squares == 0:
            return self.n_if_alike
        binomial = self.n_hits * (self.n - self.n_hits) / self.n
        small_sample = (k - 1) / k * (float(ndtri(tail)) / float(stdtrit(k - 1, tail))) ** 2
        estimate = self.n * binomial / self.residual_squares * small_sample
        return max(self.n_if_alike, min(estimate, MAX_GAIN * self.n))


def count_share(answers: ArrayLike, clusters: ArrayLike | None = None) -> ShareCounts:
    """Counts of 0/1 answers; `clusters` holds one key per answer, None says that every answer stands alone."""
    hits = np.asarray(answers, dtype=np.int64)
    if not np.isin(hits, (0, 1)).all():
        raise ValueError(f"answers must be 0 or 1, found {sorted(set(hits.tolist()) - {0, 1})[:3]}")
    return ShareCounts.from_clusters(*cluster_totals(hits, clusters))


def cluster_totals(values: IntArray, clusters: ArrayLike | None) -> tuple[IntArray, IntArray]:
    """Size and sum of values of each cluster, clusters in the order of their keys."""
    if clusters is None:
        return np.ones_like(values), values
    keys = np.asarray(clusters)
    if keys.shape != values.shape:
        raise ValueError(f"found {keys.size} cluster keys for {values.size} answers, expected one for each")
    _, index, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    totals = np.zeros(len(sizes), dtype=np.int64)
    np.add.at(totals, index, values)
    return sizes.astype(np.int64), totals


def wilson_interval(n_hits: float, n: float, tail: float) -> Interval | None:
    """Wilson's score interval for n_hits of n; both may be effective, hence fractional, numbers."""
    if n == 0:
        return None
    z, share = -float(ndtri(tail)), n_hits / n
    centre = share + z * z / (2 * n)
    half = z * sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    shrink = 1 + z * z / n
    return Interval(max(0.0, (centre - half) / shrink), min(1.0, (centre + half) / shrink))


def share_interval(counts: ShareCounts, tail: float = 0.025) -> Interval | None:
    """Interval for the share, clusters taken into account; None without answers."""
    if counts.share is None:
        return None
    n_effective = counts.effective_n(tail)
    return wilson_interval(counts.share * n_effective, n_effective, tail)


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


class Extreme(NamedTuple):
    """How often the sample shows one limit of its values, and how many independent answers that rests on."""

    share: float
    n_effective: float


@dataclass(frozen=True)
class BootstrapMean:
    """Resampled mean of values in {-reach, 0, reach}; made by `bootstrap_mean`."""

    mean: float
    n_clusters: int
    reach: int
    lowest: Extreme
    highest: Extreme
    draws: FloatArray  # sorted
    bias: float  # z0 of Efron 1987
    acceleration: float

    def bounds(self, tail: float) -> Interval:
        if self.n_clusters < 2:
            return Interval(-self.reach, self.reach)
        down = self.reach * _room(self.lowest, tail)
        up = self.reach * _room(self.highest, tail)
        low = min(self._quantile(tail), self.mean - down)
        high = max(self._quantile(1 - tail), self.mean + up)
        return Interval(max(low, -self.reach), min(high, self.reach))

    def _quantile(self, probability: float) -> float:
        k = self.n_clusters
        shifted = self.bias + sqrt(k / (k - 1)) * float(stdtrit(k - 1, probability))
        stretch = 1 - self.acceleration * shifted
        level = float(ndtr(self.bias + shifted / stretch)) if stretch > 0 else float(shifted > 0)
        rank = int(np.ceil(level * len(self.draws))) - 1
        return float(self.draws[min(max(rank, 0), len(self.draws) - 1)])


def bootstrap_mean(
    values: IntArray, reach: int, clusters: ArrayLike | None, rng: np.random.Generator, n_draws: int
) -> BootstrapMean:
    """Cluster bootstrap of the mean of values -reach, 0 or reach; at least one value and 1,000 draws."""
    if n_draws < 1000:
        raise ValueError(f"n_draws is {n_draws}, expected at least 1000: the bounds lie in the tails of the draws")
    sizes, totals = cluster_totals(values, clusters)
    kinds, counts = np.unique(np.column_stack([sizes, totals]), axis=0, return_counts=True)
    k, mean = len(sizes), float(totals.sum() / sizes.sum())
    resampled = rng.multinomial(k, counts / k, size=n_draws) @ kinds
    draws = np.sort(resampled[:, 1] / resampled[:, 0])
    below = (np.searchsorted(draws, mean, "left") + np.searchsorted(draws, mean, "right")) / (2 * n_draws)
    bias = float(ndtri(np.clip(below, 1 / n_draws, 1 - 1 / n_draws)))
    lowest, highest = (_extreme((values == end).astype(np.int64), clusters) for end in (-reach, reach))
    return BootstrapMean(mean, k, reach, lowest, highest, draws, bias, _acceleration(kinds, counts))


def _acceleration(kinds: IntArray, counts: IntArray) -> float:
    """Skewness of the mean from leaving out one cluster at a time; 0 where nothing varies."""
    if counts.sum() == 1:
        return 0.0
    left = counts @ kinds - kinds
    without = left[:, 1] / left[:, 0]
    deviation = np.average(without, weights=counts) - without
    squares, cubes = float(counts @ deviation**2), float(counts @ deviation**3)
    return cubes / (6 * squares**1.5) if squares > 0 else 0.0


def _extreme(present: IntArray, clusters: ArrayLike | None) -> Extreme:
    sizes, totals = cluster_totals(present, clusters)
    n, share = sizes.sum(), totals.sum() / sizes.sum()
    # one imagined cluster of average make-up, all its answers extreme, stands for what was not seen
    clustered = ((totals - sizes * share) ** 2).sum() + (sizes**2).mean()
    independent = n * share * (1 - share) + sizes.mean()
    return Extreme(float(share), float(n * min(1.0, independent / clustered)))


def _room(extreme: Extreme, tail: float) -> float:
    """How much larger the share of the extreme value may be."""
    bound = wilson_interval(extreme.share * extreme.n_effective, extreme.n_effective, tail)
    return bound.high - extreme.share if bound else 1.0
