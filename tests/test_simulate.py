"""A short run of the simulation: coverage and error rates at the margin. The full run is scripts/simulate.py."""

import numpy as np
import pytest

from lm_eval_tasks.scripts.simulate import (
    ALIKE_REPEATS,
    CLUSTERED,
    INDEPENDENT,
    PAIRS,
    RELATED_WORDS,
    Design,
    Pair,
    draw_equivalence,
    draw_non_inferiority,
    drawn_coverage,
    exact_coverage,
    pass_rate,
    power_rows,
    show,
)


@pytest.mark.parametrize("n", [23, 110, 450])
def test_coverage_of_independent_answers(n: int) -> None:
    assert 0.94 <= exact_coverage(n) <= 0.965


@pytest.mark.parametrize("design", CLUSTERED, ids=str)
def test_coverage_of_clustered_answers(design: Design) -> None:
    coverage = drawn_coverage(design, 243, 1500, np.random.default_rng(5))
    assert 0.94 - 0.011 <= coverage <= 0.965 + 0.011  # two standard errors of 1,500 draws


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


def test_design_cuts_clusters_to_n() -> None:
    assert ALIKE_REPEATS.sizes(8).tolist() == [1, 2, 3, 1, 1]
    assert INDEPENDENT.sizes(3).tolist() == [1, 1, 1]


def test_a_broken_row_is_counted() -> None:
    row = next(power_rows())
    assert show([row, row._replace(value=0.5)]) == 1
