"""Answers in clusters drawn from two models, and bounds of many draws at once; for `simulate`.

    beta       each cluster has a share of its own from a beta distribution (the model that `metrics.posterior` assumes)
    threshold  an answer is a hit where a normal variable is below a threshold; clusters shift it (not that model)

The correlation is that of two 0/1 answers that share all their clusters. In crossed designs (trait x occupation, each cell
with the same few answers) it is due to the trait, to the occupation, or half to each on the normal scale.
"""

from math import pi, sqrt
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, owens_t, stdtrit

from lm_eval_tasks.metrics.statistics.clusters import IntArray
from lm_eval_tasks.metrics.statistics.posterior import cells, masses

FloatArray = NDArray[np.float64]
Cause = Literal["trait", "occupation", "both"]
Model = Literal["beta", "threshold"]
EDGES = cells(0, pi, 160)


class Bounds(NamedTuple):
    """Limits of one interval per draw."""

    low: FloatArray
    high: FloatArray

    def coverage(self, share: float) -> float:
        return float(((self.low <= share) & (share <= self.high)).mean())


class Way(NamedTuple):
    """Clusters of one kind: their sizes, and their hits in each draw (draws x clusters)."""

    sizes: IntArray
    hits: IntArray

    @property
    def share(self) -> FloatArray:
        return np.asarray(self.hits.sum(axis=1) / self.sizes.sum())


def normal_correlation(share: float, correlation: float) -> float:
    """Correlation of two normal variables that gives two hits this correlation; by bisection."""
    h, low, high = float(ndtri(share)), 0.0, 1.0 - 1e-9
    for _ in range(50):
        middle = (low + high) / 2
        both = share - 2 * float(owens_t(h, sqrt((1 - middle) / (1 + middle))))
        low, high = (middle, high) if both - share**2 < correlation * share * (1 - share) else (low, middle)
    return low if correlation else 0.0


def draw_one_way(sizes: IntArray, share: float, rho: float, model: Model, draws: int, rng: np.random.Generator) -> Way:
    shape = (draws, len(sizes))
    if rho == 0:
        own: FloatArray | float = share
    elif model == "beta":
        own = rng.beta(share * (1 - rho) / rho, (1 - share) * (1 - rho) / rho, shape)
    else:
        latent = normal_correlation(share, rho)
        own = ndtr((ndtri(share) + sqrt(latent) * rng.standard_normal(shape)) / sqrt(1 - latent))
    return Way(sizes, rng.binomial(sizes, own, shape))


def draw_crossed(
    shape: tuple[int, int, int], share: float, rho: float, cause: Cause, draws: int, rng: np.random.Generator
) -> tuple[Way, Way, Way]:
    """Traits, occupations and cells of a full cross of (traits, occupations, answers in a cell)."""
    n_traits, n_occupations, n_each = shape
    latent = normal_correlation(share, rho)
    by_trait = {"trait": latent, "occupation": 0.0, "both": latent / 2}[cause]
    shift = sqrt(by_trait) * rng.standard_normal((draws, n_traits, 1))
    shift = shift + sqrt(latent - by_trait) * rng.standard_normal((draws, 1, n_occupations))
    hits = rng.binomial(n_each, ndtr((ndtri(share) + shift) / sqrt(1 - latent)))
    return (
        Way(np.full(n_traits, n_occupations * n_each), hits.sum(axis=2)),
        Way(np.full(n_occupations, n_traits * n_each), hits.sum(axis=1)),
        Way(np.full(n_traits * n_occupations, n_each), hits.reshape(draws, -1)),
    )


def wilson(share: FloatArray, n: FloatArray | float, tail: float) -> Bounds:
    z = -float(ndtri(tail))
    half = z * np.sqrt(share * (1 - share) / n + (z / (2 * np.asarray(n))) ** 2)
    centre, shrink = share + z * z / (2 * np.asarray(n)), 1 + z * z / np.asarray(n)
    return Bounds(np.maximum((centre - half) / shrink, 0.0), np.minimum((centre + half) / shrink, 1.0))


def variance(way: Way) -> FloatArray:
    """Linearised variance of the share."""
    residuals = way.hits - way.sizes * way.share[:, None]
    k = len(way.sizes)
    return np.asarray(k / (k - 1) * (residuals**2).sum(axis=1) / way.sizes.sum() ** 2)


def effective(ways: tuple[Way, ...], tail: float, most: float) -> FloatArray:
    """Effective n of Korn and Graubard from the variance, two-way where there are three; between all alike and most * n."""
    k = min(len(way.sizes) for way in ways[:2])
    n, share = ways[0].sizes.sum(), ways[0].share
    alike = 1 / sum(float(way.sizes @ way.sizes) / n**2 for way in ways[:2])
    parts = [variance(way) for way in ways]
    found = parts[0] if len(parts) == 1 else parts[0] + parts[1] - parts[2]
    found = np.where(found > 0, found, np.max(parts, axis=0))
    estimate = share * (1 - share) / np.maximum(found, 1e-300) * (float(ndtri(tail)) / float(stdtrit(k - 1, tail))) ** 2
    return np.asarray(np.where(found > 0, np.clip(estimate, alike, most * n), alike))


def posterior_bounds(way: Way, tail: float, stretch: bool = True) -> Bounds:
    """Bounds of `metrics.intervals` for clusters of one kind."""
    n, share, k = int(way.sizes.sum()), way.share, len(way.sizes)
    if k == n:
        return wilson(share, n, tail)
    steps = np.arange(way.sizes.max())
    hits, misses = (np.stack([(x > j).sum(axis=1) for j in steps], axis=1) for x in (way.hits, way.sizes - way.hits))
    mass = masses(hits, misses, (way.sizes > steps[:, None]).sum(axis=1)[None], EDGES)
    below = np.cumsum(mass / mass.sum(axis=1, keepdims=True), axis=1)
    known = [np.array([np.interp(level, row, EDGES[1:]) for row in below]) for level in (tail, 1 - tail)]
    factor = sqrt(k / (k - 1)) if stretch else 1.0
    low = share - factor * np.maximum(share - known[0], 0)
    high = share + factor * np.maximum(known[1] - share, 0)
    worst = wilson(share, n**2 / float(way.sizes @ way.sizes), tail)
    alike = (share == 0) | (share == 1)
    low, high = np.where(alike, np.minimum(low, worst.low), low), np.where(alike, np.maximum(high, worst.high), high)
    return Bounds(np.clip(low, 0, 1), np.clip(high, 0, 1))


def interval_bounds(ways: tuple[Way, ...], tail: float, stretch: bool = True) -> Bounds:
    """Bounds of `metrics.intervals.share_interval` for each draw."""
    found, share = [posterior_bounds(way, tail, stretch) for way in ways], ways[0].share
    if len(found) == 1:
        return found[0]
    down, up = (
        np.maximum(np.maximum(a, b), np.sqrt(np.maximum(a**2 + b**2 - c**2, 0)))
        for a, b, c in ([share - bound.low for bound in found], [bound.high - share for bound in found])
    )
    return Bounds(np.maximum(share - down, 0), np.minimum(share + up, 1))
