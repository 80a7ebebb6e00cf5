"""A short run of the simulation: coverage and error rates at the margin. The full run is scripts/tools/simulate.py."""

import numpy as np
import pytest

from lm_eval_tasks.metrics.statistics.intervals import ShareCounts, count_share, share_interval
from lm_eval_tasks.scripts.tools.simulate import (
    ALIKE_REPEATS,
    INDEPENDENT,
    PAIRS,
    RELATED_WORDS,
    Design,
    Pair,
    crossed_difference_holds,
    design_rows,
    draw_equivalence,
    draw_non_inferiority,
    exact_coverage,
    pass_rate,
    power_rows,
    show,
)
from lm_eval_tasks.scripts.tools.simulate_draws import Model, draw_crossed, draw_one_way, interval_bounds
from lm_eval_tasks.scripts.tools.simulate_methods import METHODS, CrossedDesign, OneWayDesign, Scenario
from lm_eval_tasks.scripts.tools.simulate_methods import Design as CoverageDesign


@pytest.mark.parametrize("n", [23, 110, 450])
def test_coverage_of_independent_answers(n: int) -> None:
    assert 0.94 <= exact_coverage(n) <= 0.965


@pytest.mark.parametrize(
    "design", [OneWayDesign(8, (10,)), OneWayDesign(30, (1, 2, 3, 5, 30)), CrossedDesign(6, 14, 2)], ids=str
)
@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6])
def test_coverage_of_clustered_answers(design: CoverageDesign, rho: float) -> None:
    rows = list(design_rows(design, rho, 400, np.random.default_rng(5)))
    assert [row.label for row in rows if not row.holds] == []


def test_earlier_method_breaks_the_promise() -> None:
    scenario = Scenario(OneWayDesign(8, (10,)), 0.1, 0.6, "beta")
    ways = scenario.draw(1000, np.random.default_rng(6))
    assert METHODS["Wilson, at most 2n"](ways).coverage(0.1) < 0.92
    assert METHODS["in use"](ways).coverage(0.1) > 0.935


@pytest.mark.parametrize("sizes", [[7] * 12, [1, 2, 3, 5, 30] * 3, [1] * 20])
def test_many_draws_at_once_are_the_intervals_in_use(sizes: list[int]) -> None:
    way = draw_one_way(np.array(sizes), 0.1, 0.3, "beta", 20, np.random.default_rng(7))
    found = interval_bounds((way,), 0.025)
    for hits, *expected in zip(way.hits, found.low, found.high, strict=True):
        assert share_interval(ShareCounts.from_clusters(way.sizes, hits)) == pytest.approx(expected, abs=2e-3)


def test_many_crossed_draws_are_the_intervals_in_use() -> None:
    ways = draw_crossed((6, 14, 2), 0.3, 0.3, "both", 10, np.random.default_rng(8))
    found = interval_bounds(ways, 0.025)
    for i in range(10):
        cells = ways[2].hits[i]
        answers = np.concatenate([cells > 0, cells > 1])
        traits, occupations = np.tile(np.repeat(np.arange(6), 14), 2), np.tile(np.arange(14), 12)
        counts = count_share(answers, traits, occupations)
        assert share_interval(counts) == pytest.approx((found.low[i], found.high[i]), abs=2e-3)


@pytest.mark.parametrize("model", ["beta", "threshold"])
def test_drawn_correlation_is_the_one_named(model: Model) -> None:
    pairs = draw_one_way(np.full(40_000, 2), 0.2, 0.3, model, 1, np.random.default_rng(9)).hits[0]
    # two hits: 0.2^2 + 0.3 * 0.2 * 0.8 = 0.088
    assert (pairs == 2).mean() == pytest.approx(0.088, abs=0.005)


@pytest.mark.parametrize("method", METHODS)
def test_methods_hold_the_estimate(method: str) -> None:
    ways = Scenario(OneWayDesign(14, (10,)), 0.3, 0.1, "beta").draw(50, np.random.default_rng(10))
    bounds = METHODS[method](ways)
    assert (bounds.low >= 0).all()
    assert (bounds.low <= ways[0].share + 1e-9).all()
    assert (ways[0].share <= bounds.high + 1e-9).all()


@pytest.mark.parametrize("design", [INDEPENDENT, ALIKE_REPEATS, RELATED_WORDS], ids=str)
def test_equivalence_error(design: Design) -> None:
    rng = np.random.default_rng(11)
    rate = pass_rate(lambda: draw_equivalence(design, 450, 0.6, rng), 600)
    assert rate <= 0.05 + 0.027  # three standard errors


@pytest.mark.parametrize("design", [INDEPENDENT, ALIKE_REPEATS], ids=str)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_non_inferiority_error(design: Design, pair: Pair) -> None:
    rng = np.random.default_rng(12)
    rate = pass_rate(lambda: draw_non_inferiority(pair, design, 278, rng), 300)
    assert rate <= 0.05 + 0.038  # three standard errors


def test_crossed_difference_needs_both_kinds_of_clusters() -> None:
    def held(two_way: bool) -> float:
        rng = np.random.default_rng(13)
        design = CrossedDesign(30, 14, 1)
        return float(np.mean([crossed_difference_holds(PAIRS[1], design, 0.3, two_way, rng) for _ in range(200)]))

    assert held(two_way=True) >= 0.935 - 0.046  # three standard errors
    assert held(two_way=False) < 0.88


def test_design_cuts_clusters_to_n() -> None:
    assert ALIKE_REPEATS.sizes(8).tolist() == [1, 2, 3, 1, 1]
    assert INDEPENDENT.sizes(3).tolist() == [1, 1, 1]


def test_a_broken_row_is_counted() -> None:
    row = next(power_rows())
    assert show([row, row._replace(value=0.5)]) == 1
