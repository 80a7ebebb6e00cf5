"""Bootstrap of a mean over whole clusters; only for differences of two runs, see decisions.

Clusters are drawn with replacement. Bounds are bias-corrected and accelerated (Efron 1987), with z replaced by
t_{k-1} sqrt(k / (k - 1)), Hesterberg's expansion (2015) against short intervals with few clusters. A resample shows rare
values too seldom, and those never seen not at all, so a bound is never closer to the mean than the bound on the share of
the extreme value alone allows (`intervals.way_interval`). The draw works on counts of distinct clusters: the order of
items and the names of clusters cannot change it.

Two kinds of clusters that cross are drawn one kind at a time, and the answers that share both as a third; the distances of
the three bounds from the mean are put together as in `intervals`. With fewer than MIN_CLUSTERS the bounds are the whole range.
"""

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from lm_eval_tasks.metrics.statistics.clusters import IntArray, Keys, Levels, totals, ways_of
from lm_eval_tasks.metrics.statistics.intervals import MIN_CLUSTERS, Interval, crossed, way_interval

FloatArray = NDArray[np.float64]


class Extreme(NamedTuple):
    """How many values lie at one end of their range, of how many, and how they fall into clusters."""

    n_hits: int
    n: int
    way: Levels

    def room(self, tail: float) -> float:
        """How much larger the share of these values may be."""
        return way_interval(self.way, self.n_hits, self.n, tail).high - self.n_hits / self.n


@dataclass(frozen=True)
class OneWay:
    """Resampled mean of values in {-reach, 0, reach} over clusters of one kind."""

    mean: float
    n_clusters: int
    reach: int
    lowest: Extreme
    highest: Extreme
    draws: FloatArray  # sorted
    bias: float  # z0 of Efron 1987
    acceleration: float

    def bounds(self, tail: float) -> Interval:
        if self.n_clusters < MIN_CLUSTERS:
            return Interval(-self.reach, self.reach)
        down = self.reach * self.lowest.room(tail)
        up = self.reach * self.highest.room(tail)
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


@dataclass(frozen=True)
class BootstrapMean:
    """Mean and its bounds; made by `bootstrap_mean`."""

    mean: float
    reach: int
    ways: tuple[OneWay, ...]  # one kind of clusters, or the first kind, the second and both

    @property
    def n_clusters(self) -> int:
        return min(way.n_clusters for way in self.ways)

    def bounds(self, tail: float) -> Interval:
        if self.n_clusters < MIN_CLUSTERS:
            return Interval(-self.reach, self.reach)
        found = [way.bounds(tail) for way in self.ways]
        low = self.mean - crossed([self.mean - bound.low for bound in found])
        high = self.mean + crossed([bound.high - self.mean for bound in found])
        return Interval(max(low, -self.reach), min(high, self.reach))


def bootstrap_mean(
    values: IntArray,
    reach: int,
    clusters: Keys | None,
    rng: np.random.Generator,
    n_draws: int,
    second: Keys | None = None,
) -> BootstrapMean:
    """Mean of values -reach, 0 or reach, and what its bounds need; at least one value and 1,000 draws."""
    if n_draws < 1000:
        raise ValueError(f"n_draws is {n_draws}, expected at least 1000: the bounds lie in the tails of the draws")
    indices = ways_of(clusters, second, len(values))
    ways = tuple(_one_way(values, reach, index, rng, n_draws) for index in indices)
    return BootstrapMean(float(values.sum() / len(values)), reach, ways)


def _one_way(values: IntArray, reach: int, index: IntArray, rng: np.random.Generator, n_draws: int) -> OneWay:
    sizes, sums = totals(values, index)
    kinds, counts = np.unique(np.column_stack([sizes, sums]), axis=0, return_counts=True)
    k, mean = len(sizes), float(sums.sum() / sizes.sum())
    resampled = rng.multinomial(k, counts / k, size=n_draws) @ kinds
    draws = np.sort(resampled[:, 1] / resampled[:, 0])
    below = (np.searchsorted(draws, mean, "left") + np.searchsorted(draws, mean, "right")) / (2 * n_draws)
    bias = float(ndtri(np.clip(below, 1 / n_draws, 1 - 1 / n_draws)))
    lowest, highest = (_extreme((values == end).astype(np.int64), index) for end in (-reach, reach))
    return OneWay(mean, k, reach, lowest, highest, draws, bias, _acceleration(kinds, counts))


def _acceleration(kinds: IntArray, counts: IntArray) -> float:
    """Skewness of the mean from leaving out one cluster at a time; 0 where nothing varies."""
    if counts.sum() == 1:
        return 0.0
    left = counts @ kinds - kinds
    without = left[:, 1] / left[:, 0]
    deviation = np.average(without, weights=counts) - without
    squares, cubes = float(counts @ deviation**2), float(counts @ deviation**3)
    return cubes / (6 * squares**1.5) if squares > 0 else 0.0


def _extreme(present: IntArray, index: IntArray) -> Extreme:
    sizes, hits = totals(present, index)
    return Extreme(int(hits.sum()), int(sizes.sum()), Levels.of(sizes, hits))
