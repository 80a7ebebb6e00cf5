"""Bounds of a share from answers in clusters: the posterior of a beta-binomial model.

Each cluster has a share of its own, drawn from a beta distribution with mean p and intra-cluster correlation rho. Both are
unknown, both have Jeffreys' prior for a proportion, Beta(1/2, 1/2), and rho is integrated out. The likelihood needs the
`Levels` only: with a = p (1 - rho) / rho, b = (1 - p) (1 - rho) / rho,

    log L = sum_j hits_j log(a + j) + misses_j log(b + j) - sizes_j log(a + b + j)

Why not a variance: where hits are rare, or lie in few clusters, the sample shows too little of the correlation, and an
effective number of answers taken from it is too large exactly when the estimate is too low. Integrating over rho keeps
the correlations that such a sample cannot exclude. `scripts/tools/simulate.py --methods` compares.

Bounds are the quantiles, their distance from the estimate times sqrt(k / (k - 1)), k clusters, as for a variance. Where
all answers are alike nothing is known about rho: the bound is then at least Wilson's for `n_if_alike` answers.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lm_eval_tasks.metrics.statistics.clusters import Levels

FloatArray = NDArray[np.float64]

N_CORRELATIONS = 20
CORRELATIONS: FloatArray = (1 - np.cos((np.arange(N_CORRELATIONS) + 0.5) / N_CORRELATIONS * np.pi)) / 2
COARSE, FINE = 64, 128  # cells of the share
NEGLIGIBLE = 32.0  # log of how much less likely than the best a share is before it is left out
CHUNK = 32  # levels at a time, to bound memory


class Posterior(NamedTuple):
    """Probability below and above each edge."""

    edges: FloatArray
    below: FloatArray
    above: FloatArray

    def low(self, tail: float) -> float:
        return float(np.interp(tail, self.below, self.edges))

    def high(self, tail: float) -> float:
        return float(np.interp(tail, self.above[::-1], self.edges[::-1]))


def cells(low_angle: float, high_angle: float, n: int) -> FloatArray:
    """Edges of n cells, equal on the arcsine scale (0 to pi); there Jeffreys' prior is flat."""
    return np.asarray((1 - np.cos(np.linspace(low_angle, high_angle, n + 1))) / 2)


def log_likelihood(hits: ArrayLike, misses: ArrayLike, sizes: ArrayLike, shares: FloatArray) -> FloatArray:
    """Shape (..., shares, CORRELATIONS) for levels of shape (..., levels)."""
    up, down, all_ = (np.asarray(level, dtype=np.float64) for level in (hits, misses, sizes))
    spread = (1 - CORRELATIONS) / CORRELATIONS
    a, b = shares[:, None] * spread, (1 - shares)[:, None] * spread
    found = np.zeros((*up.shape[:-1], a.size))
    for start in range(0, up.shape[-1], CHUNK):
        part = slice(start, start + CHUNK)
        steps = np.arange(up.shape[-1])[part, None, None]
        found += up[..., part] @ np.log(a + steps).reshape(len(steps), -1)
        found += down[..., part] @ np.log(b + steps).reshape(len(steps), -1)
        found -= np.tile(all_[..., part] @ np.log(spread + steps[:, :, 0]), len(shares))
    return found.reshape(*up.shape[:-1], len(shares), N_CORRELATIONS)


def masses(hits: ArrayLike, misses: ArrayLike, sizes: ArrayLike, edges: FloatArray) -> FloatArray:
    """Posterior probability of each cell of the share, up to a factor; cells equal on the arcsine scale."""
    angles = np.arccos(1 - 2 * edges)
    logs = log_likelihood(hits, misses, sizes, (1 - np.cos((angles[1:] + angles[:-1]) / 2)) / 2)
    logs -= logs.max(axis=(-2, -1), keepdims=True)
    return np.asarray(np.exp(logs).sum(axis=-1))


@lru_cache(maxsize=4096)
def posterior(levels: Levels) -> Posterior:
    """Posterior of the share, on cells that follow the likelihood."""
    known = levels.hits, levels.misses, levels.sizes
    coarse = masses(*known, cells(0, np.pi, COARSE))
    kept = np.flatnonzero(coarse > coarse.max() * np.exp(-NEGLIGIBLE))
    step = np.pi / COARSE
    # one cell more on each side: a narrow likelihood may fall between the middles of two cells
    edges = cells(max(kept[0] - 1, 0) * step, min(kept[-1] + 2, COARSE) * step, FINE)
    fine = masses(*known, edges)
    fine /= fine.sum()
    below, above = np.cumsum(fine), np.cumsum(fine[::-1])[::-1]
    return Posterior(edges, np.concatenate([[0.0], below]), np.concatenate([above, [0.0]]))
