"""Shows by simulation what the statistics promise; prints tables and exits with 1 if a promise is broken.

    coverage          share of 95% intervals that hold the true share. Answers that stand alone: Wilson's jumps with every
                      count, so its exact coverage is averaged over shares from 0.3 to 0.7, 94% to 96.5%. Clusters of one
                      kind or of two that cross: shares 0.02, 0.1, 0.3, 0.5 (and so their mirrors 0.7, 0.9, 0.98), two
                      models of correlation, 6 to 70 clusters of 1 to 30 answers. Each line is the mean over shares and
                      models, 93.5% to 97%, and the lowest of these scenarios, at least 93.5%. Without correlation, or
                      below 30 clusters, the data cannot exclude a correlation that is not there: no upper limit.
    error at margin   how often a model that sits on the margin passes: at most 5%. For independent answers the exact
                      error jumps with every n, like coverage: 5.0% on average over n from 100 to 400, at most 6%.
    difference        95% intervals of t_candidate - t_baseline where traits and occupations cross: at least 93.5%.
    power             P(PASS) of a fair model, alpha 0.05, margin 10 points.

Bounds on drawn rates allow three standard errors: of so many rows, some would break two by chance. Clusters: `repeats`
are sets of 1, 2 or 3 answers, `words` sets of 10; rho is the correlation of two answers in a cluster (1: always alike).
`--methods` prints coverage and width of other methods that were tried, over the same scenarios, and no promises.

    python -m lm_eval_tasks.scripts.tools.simulate --seed 1 --draws 2000 [--methods]
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr
from scipy.stats import binom

from lm_eval_tasks.metrics.statistics.bootstrap import bootstrap_mean
from lm_eval_tasks.metrics.statistics.clusters import IntArray
from lm_eval_tasks.metrics.statistics.decisions import Outcome, Verdict, equivalence, non_inferiority, power_of_equivalence
from lm_eval_tasks.metrics.statistics.intervals import SHARE, ShareCounts, wilson_interval
from lm_eval_tasks.scripts.tools.simulate_draws import interval_bounds
from lm_eval_tasks.scripts.tools.simulate_methods import (
    CORRELATIONS,
    CROSSED,
    ONE_WAY,
    TAIL,
    TRAIT_ONLY,
    CrossedDesign,
    OneWayDesign,
    methods_table,
    scenarios,
)
from lm_eval_tasks.scripts.tools.simulate_methods import Design as CoverageDesign

ALPHA = 0.05
MARGIN_SHARE = 0.10
MARGIN_T = 0.06
SIZES = (23, 50, 110, 243, 450, 944, 2000)
POWER = {50: 0.00, 110: 0.37, 243: 0.88, 450: 0.99}
FEW_CLUSTERS = 30
STANDARD_ERRORS = 3


class Design(NamedTuple):
    """How answers fall into clusters."""

    name: str
    pattern: tuple[int, ...]
    rho: float

    def __str__(self) -> str:
        return self.name if self.pattern == (1,) else f"{self.name} rho={self.rho}"

    def sizes(self, n: int) -> IntArray:
        repeated = np.resize(self.pattern, n)
        ends = np.minimum(np.cumsum(repeated), n)
        sizes = np.diff(ends, prepend=0)
        return np.asarray(sizes[sizes > 0], dtype=np.int64)


INDEPENDENT = Design("independent", (1,), 0.0)
ALIKE_REPEATS = Design("repeats", (1, 2, 3), 1.0)
UNRELATED_WORDS = Design("words", (10,), 0.0)
RELATED_WORDS = Design("words", (10,), 0.3)


class Pair(NamedTuple):
    """True behaviour of two runs."""

    name: str
    t_baseline: float
    opposite_flips: float  # share of items where only the baseline makes the choice


PAIRS = (
    Pair("fair, few flips", 0.0, 0.0),
    Pair("fair, many flips", 0.0, 0.1),
    Pair("biased, many flips", 0.3, 0.1),
)


class Row(NamedTuple):
    label: str
    value: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        return self.low <= self.value <= self.high

    def __str__(self) -> str:
        verdict = "ok" if self.holds else "BROKEN"
        return f"{self.label:<60}{self.value:8.4f}   {self.low:.4f} to {self.high:.4f}   {verdict}"


def draw_cells(design: Design, cells: list[float], n: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Cluster sizes and, for each cluster, how many answers fall in each cell."""
    sizes = design.sizes(n)
    if design.rho == 0:
        return sizes, rng.multinomial(sizes, cells)
    if design.rho == 1:
        return sizes, rng.multinomial(1, cells, size=len(sizes)) * sizes[:, None]
    concentration = (1 - design.rho) / design.rho
    own_cells = rng.dirichlet(np.asarray(cells) * concentration, size=len(sizes))
    return sizes, rng.multinomial(sizes, own_cells)


def draw_counts(design: Design, share: float, n: int, rng: np.random.Generator) -> ShareCounts:
    sizes, drawn = draw_cells(design, [share, 1 - share], n, rng)
    return ShareCounts.from_clusters(sizes, drawn[:, 0])


def exact_coverage(n: int) -> float:
    """Of Wilson's 95% interval, mean over shares from 0.3 to 0.7."""
    shares = np.linspace(0.3, 0.7, 401)
    hits = np.arange(n + 1)
    bounds = np.asarray([wilson_interval(h, n, 0.025) for h in range(n + 1)])
    covered = (bounds[:, :1] <= shares) & (shares <= bounds[:, 1:])
    return float((binom.pmf(hits[:, None], n, shares) * covered).sum(axis=0).mean())


def scenario_coverages(design: CoverageDesign, rho: float, draws: int, rng: np.random.Generator) -> list[float]:
    """Of 95% intervals, for each scenario of a design at one correlation."""
    found = []
    for scenario in scenarios(design, rho):
        bounds = interval_bounds(scenario.draw(draws, rng), TAIL)
        found.append(bounds.coverage(scenario.share))
    return found


def fewest_clusters(design: CoverageDesign) -> int:
    return design.n_clusters if isinstance(design, OneWayDesign) else min(design.n_traits, design.n_occupations)


def design_rows(design: CoverageDesign, rho: float, draws: int, rng: np.random.Generator) -> Iterator[Row]:
    """Mean and lowest coverage of a design at one correlation."""
    found = scenario_coverages(design, rho, draws, rng)
    slack, slack_of_mean = (STANDARD_ERRORS * sqrt(0.05 * 0.95 / n) for n in (draws, draws * len(found)))
    has_upper = rho > 0 and fewest_clusters(design) >= FEW_CLUSTERS
    highest = 0.97 + slack_of_mean if has_upper else 1.0
    yield Row(f"{design} rho={rho}, mean", float(np.mean(found)), 0.935 - slack_of_mean, highest)
    yield Row(f"{design} rho={rho}, lowest", min(found), 0.935 - slack, 1.0)


def coverage_rows(draws: int, rng: np.random.Generator) -> Iterator[Row]:
    for n in SIZES:
        yield Row(f"coverage independent n={n} (exact)", exact_coverage(n), 0.94, 0.965)
    designs: tuple[CoverageDesign, ...] = (*ONE_WAY, *TRAIT_ONLY, *CROSSED)
    for design in designs:
        for rho in CORRELATIONS:
            yield from design_rows(design, rho, draws, rng)


def most_passes(draws: int) -> float:
    return ALPHA + STANDARD_ERRORS * sqrt(ALPHA * (1 - ALPHA) / draws)


def pass_rate(draw: Callable[[], Verdict], draws: int) -> float:
    return sum(draw().outcome is Outcome.PASS for _ in range(draws)) / draws


def draw_equivalence(design: Design, n: int, share: float, rng: np.random.Generator) -> Verdict:
    return equivalence(draw_counts(design, share, n, rng), SHARE, 0.5, MARGIN_SHARE, ALPHA)


def equivalence_rows(draws: int, rng: np.random.Generator) -> Iterator[Row]:
    edge = 0.5 + MARGIN_SHARE
    errors = [power_of_equivalence(n, SHARE, 0.5, MARGIN_SHARE, ALPHA, edge) for n in range(100, 400, 3)]
    yield Row("equivalence independent, mean over n (exact)", float(np.mean(errors)), 0.0, 0.051)
    yield Row("equivalence independent, worst n (exact)", max(errors), 0.0, 0.06)
    for design in (INDEPENDENT, ALIKE_REPEATS, UNRELATED_WORDS, RELATED_WORDS):
        for n in (332, 944):
            for share in (0.5 - MARGIN_SHARE, 0.5 + MARGIN_SHARE):
                rate = pass_rate(partial(draw_equivalence, design, n, share, rng), draws)
                yield Row(f"equivalence {design} n={n} share={share:.1f}", rate, 0.0, most_passes(draws))


def answer_cells(pair: Pair) -> list[float]:
    """Probability that both runs make the choice, the candidate only, the baseline only, neither: MARGIN_T apart."""
    towards = MARGIN_T / 2 + pair.opposite_flips
    both = (1 + pair.t_baseline) / 2 - pair.opposite_flips
    return [both, towards, pair.opposite_flips, 1 - both - towards - pair.opposite_flips]


def draw_non_inferiority(pair: Pair, design: Design, n: int, rng: np.random.Generator) -> Verdict:
    """A candidate exactly MARGIN_T more biased than the baseline."""
    sizes, drawn = draw_cells(design, answer_cells(pair), n, rng)
    cell = np.tile(range(4), len(sizes)).repeat(drawn.ravel())
    clusters = np.arange(len(sizes)).repeat(sizes)
    candidate, baseline = np.isin(cell, (0, 1)), np.isin(cell, (0, 2))
    return non_inferiority(candidate, baseline, clusters, MARGIN_T, ALPHA, rng, n_draws=1000)


def crossed_difference_holds(pair: Pair, design: CrossedDesign, rho: float, two_way: bool, rng: np.random.Generator) -> bool:
    """Whether the 95% interval of t_candidate - t_baseline holds MARGIN_T; traits and occupations move both runs."""
    shape = (design.n_traits, design.n_occupations, design.n_each)
    shift = rng.standard_normal((design.n_traits, 1, 1)) + rng.standard_normal((1, design.n_occupations, 1))
    level = ndtr(sqrt(rho / 2) * shift + sqrt(1 - rho) * rng.standard_normal(shape)).ravel()
    both, candidate_only, baseline_only, _ = answer_cells(pair)
    # the two kinds of difference at the ends, so that traits and occupations move the difference
    in_order = np.searchsorted(np.cumsum([candidate_only, both, 1 - both - candidate_only - baseline_only]), level)
    difference = 2 * ((in_order == 0).astype(np.int64) - (in_order == 3))
    traits, occupations = (index.ravel() for index in np.indices(shape)[:2])
    drawn = bootstrap_mean(difference, 2, traits, rng, 1000, occupations if two_way else None)
    low, high = drawn.bounds(TAIL)
    return bool(low <= MARGIN_T <= high)


def difference_rows(draws: int, rng: np.random.Generator) -> Iterator[Row]:
    slack = STANDARD_ERRORS * sqrt(0.05 * 0.95 / draws)
    for design in (CrossedDesign(6, 14, 2), CrossedDesign(17, 14, 2), CrossedDesign(30, 30, 1)):
        for rho in (0.0, 0.3):
            held = [crossed_difference_holds(PAIRS[1], design, rho, True, rng) for _ in range(draws)]
            yield Row(f"difference {design} rho={rho}", float(np.mean(held)), 0.935 - slack, 1.0)


def non_inferiority_rows(draws: int, rng: np.random.Generator) -> Iterator[Row]:
    for design, n in ((INDEPENDENT, 278), (INDEPENDENT, 944), (ALIKE_REPEATS, 278), (RELATED_WORDS, 944)):
        for pair in PAIRS:
            rate = pass_rate(partial(draw_non_inferiority, pair, design, n, rng), draws)
            yield Row(f"non-inferiority {design} n={n} {pair.name}", rate, 0.0, most_passes(draws))


def power_rows() -> Iterator[Row]:
    for n, expected in POWER.items():
        value = power_of_equivalence(n, SHARE, 0.5, MARGIN_SHARE, ALPHA)
        yield Row(f"power of equivalence n={n}", value, expected - 0.005, expected + 0.005)


def show(rows: Iterable[Row]) -> int:
    """Print every row; how many are broken."""
    n_broken = 0
    for row in rows:
        print(row, flush=True)
        n_broken += not row.holds
    return n_broken


def main() -> int:
    parser = argparse.ArgumentParser(description="Simulate coverage, error rates and power.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=2000, help="draws of each scenario")
    parser.add_argument("--methods", action="store_true", help="print the table of methods instead")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    if options.methods:
        for line in methods_table(options.draws, rng):
            print(line, flush=True)
        return 0
    tables = (
        power_rows(),
        coverage_rows(options.draws, rng),
        equivalence_rows(options.draws, rng),
        non_inferiority_rows(options.draws, rng),
        difference_rows(options.draws, rng),
    )
    return 1 if sum(show(table) for table in tables) else 0


if __name__ == "__main__":
    sys.exit(main())
