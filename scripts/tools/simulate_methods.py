"""Coverage of the interval in use and of methods that were tried beside it; for `simulate`.

in use             posterior of a beta-binomial, stretched by sqrt(k / (k - 1)), two-way by distances
no stretch         the same without the stretch
Wilson, at most 2n effective n of Korn and Graubard (1998) in Wilson's interval, limits n_if_alike and 2 n (earlier version)
Wilson, at most n  the same, at most n
Agresti-Coull      the same effective n
Clopper-Pearson    the same effective n (Korn and Graubard's own interval)
logit-t            normal bounds of the log-odds with t quantiles; 0 and 1 as Wilson's for like answers
bootstrap-t        studentised bootstrap of clusters, 199 resamples; one kind of clusters only
all alike          Wilson's interval for n_if_alike answers
"""

from collections.abc import Callable, Iterator
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtri

from lm_eval_tasks.scripts.tools.simulate_draws import (
    Bounds,
    Cause,
    Model,
    Way,
    draw_crossed,
    draw_one_way,
    effective,
    interval_bounds,
    variance,
    wilson,
)

TAIL = 0.025
SHARES = (0.02, 0.1, 0.3, 0.5)  # those above one half mirror them
CORRELATIONS = (0.0, 0.1, 0.3, 0.6)
N_RESAMPLES = 199
Ways = tuple[Way, ...]


class OneWayDesign(NamedTuple):
    """Number of clusters, and sizes that repeat."""

    n_clusters: int
    pattern: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.n_clusters} clusters of {'/'.join(map(str, self.pattern))}"


class CrossedDesign(NamedTuple):
    """Traits, occupations, answers in each cell."""

    n_traits: int
    n_occupations: int
    n_each: int

    def __str__(self) -> str:
        return f"{self.n_traits} traits x {self.n_occupations} occupations x {self.n_each}"


Design = OneWayDesign | CrossedDesign
ONE_WAY = tuple(
    OneWayDesign(n_clusters, pattern) for n_clusters in (8, 14, 30, 70) for pattern in ((2,), (10,), (30,), (1, 2, 3, 5, 30))
)
CROSSED = tuple(CrossedDesign(*shape) for shape in ((6, 14, 1), (6, 14, 2), (17, 14, 1), (17, 14, 2), (30, 30, 1)))
# leaves of BanglaSocialBias with a trait only: few words, each asked with two word pairs
TRAIT_ONLY = (OneWayDesign(6, (2,)), OneWayDesign(13, (2,)), OneWayDesign(17, (2,)))


class Scenario(NamedTuple):
    """Where answers come from; `cause` for crossed designs, else the model."""

    design: Design
    share: float
    rho: float
    source: Model | Cause

    def draw(self, draws: int, rng: np.random.Generator) -> Ways:
        if isinstance(self.design, CrossedDesign):
            assert self.source in ("trait", "occupation", "both")
            return draw_crossed(self.design, self.share, self.rho, self.source, draws, rng)
        assert self.source in ("beta", "threshold")
        sizes = np.resize(self.design.pattern, self.design.n_clusters).astype(np.int64)
        return (draw_one_way(sizes, self.share, self.rho, self.source, draws, rng),)


def scenarios(design: Design, rho: float) -> Iterator[Scenario]:
    """All shares, from all that may cause the correlation."""
    crossed = isinstance(design, CrossedDesign)
    sources: tuple[Model | Cause, ...] = ("trait", "occupation", "both") if crossed else ("beta", "threshold")
    for share in SHARES:
        yield from (Scenario(design, share, rho, source) for source in (sources if rho else sources[:1]))


def _wilson_twice(ways: Ways) -> Bounds:
    return wilson(ways[0].share, effective(ways, TAIL, 2.0), TAIL)


def _wilson_once(ways: Ways) -> Bounds:
    return wilson(ways[0].share, effective(ways, TAIL, 1.0), TAIL)


def _agresti_coull(ways: Ways) -> Bounds:
    z, n, share = -float(ndtri(TAIL)), effective(ways, TAIL, 1.0), ways[0].share
    centre = (share * n + z * z / 2) / (n + z * z)
    half = z * np.sqrt(centre * (1 - centre) / (n + z * z))
    return Bounds(np.maximum(centre - half, 0), np.minimum(centre + half, 1))


def _clopper_pearson(ways: Ways) -> Bounds:
    n, share = effective(ways, TAIL, 1.0), ways[0].share
    hits, misses, least = share * n, (1 - share) * n, 1e-9
    low = betaincinv(np.maximum(hits, least), misses + 1, TAIL)
    high = betaincinv(hits + 1, np.maximum(misses, least), 1 - TAIL)
    return Bounds(np.where(share > 0, low, 0.0), np.where(share < 1, high, 1.0))


def _logit_t(ways: Ways) -> Bounds:
    share, n = ways[0].share, effective(ways, TAIL, 2.0)
    inner = np.clip(share, 1e-9, 1 - 1e-9)
    half = -float(ndtri(TAIL)) / np.sqrt(n * inner * (1 - inner))
    edge, safe = (share == 0) | (share == 1), _all_alike(ways)
    low, high = expit(logit(inner) - half), expit(logit(inner) + half)
    return Bounds(np.where(edge, safe.low, low), np.where(edge, safe.high, high))


def _bootstrap_t(ways: Ways) -> Bounds:
    way, share = ways[0], ways[0].share
    k, error = len(way.sizes), np.sqrt(variance(way))
    picked = np.random.default_rng(0).integers(0, k, (N_RESAMPLES, k))
    sizes = way.sizes[picked]
    ratios = np.empty((len(share), N_RESAMPLES))
    for i, chosen in enumerate(picked):
        again = Way(sizes[i], way.hits[:, chosen])
        ratios[:, i] = (again.share - share) / np.maximum(np.sqrt(variance(again)), 1e-9)
    upper, lower = np.quantile(ratios, (1 - TAIL, TAIL), axis=1)
    safe, edge = _all_alike(ways), error == 0
    low, high = np.maximum(share - upper * error, 0), np.minimum(share - lower * error, 1)
    return Bounds(np.where(edge, safe.low, low), np.where(edge, safe.high, high))


def _all_alike(ways: Ways) -> Bounds:
    n = ways[0].sizes.sum()
    return wilson(ways[0].share, 1 / sum(float(way.sizes @ way.sizes) / n**2 for way in ways[:2]), TAIL)


METHODS: dict[str, Callable[[Ways], Bounds]] = {
    "in use": lambda ways: interval_bounds(ways, TAIL),
    "no stretch": lambda ways: interval_bounds(ways, TAIL, stretch=False),
    "Wilson, at most 2n": _wilson_twice,
    "Wilson, at most n": _wilson_once,
    "Agresti-Coull": _agresti_coull,
    "Clopper-Pearson": _clopper_pearson,
    "logit-t": _logit_t,
    "bootstrap-t": _bootstrap_t,
    "all alike": _all_alike,
}


def methods_table(draws: int, rng: np.random.Generator) -> Iterator[str]:
    """One line a method: coverage and mean width over all scenarios of 95% intervals."""
    yield f"{'':<12}{'method':<20}{'lowest':>8}{'mean':>8}{'highest':>9}{'< 93.5%':>9}{'> 97%':>8}{'width':>8}"
    for name, designs in (("one-way", ONE_WAY), ("crossed", CROSSED)):
        found: dict[str, list[tuple[float, float]]] = {method: [] for method in METHODS}
        for scenario in (s for design in designs for rho in CORRELATIONS for s in scenarios(design, rho)):
            ways = scenario.draw(draws, rng)
            for method, bounds_of in METHODS.items():
                if method == "bootstrap-t" and len(ways) > 1:
                    continue
                bounds = bounds_of(ways)
                found[method].append((bounds.coverage(scenario.share), float((bounds.high - bounds.low).mean())))
        for method, pairs in found.items():
            if pairs:
                covered, widths = np.array(pairs).T
                low, high = (covered < 0.935).mean(), (covered > 0.97).mean()
                yield (
                    f"{name:<12}{method:<20}{covered.min():8.3f}{covered.mean():8.3f}{covered.max():9.3f}"
                    f"{low:9.1%}{high:8.1%}{widths.mean():8.3f}"
                )
    yield f"Standard error of one scenario: {sqrt(0.05 * 0.95 / draws):.3f}."
