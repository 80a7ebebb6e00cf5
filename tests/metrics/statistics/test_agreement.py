"""Cohen's kappa: golden values with their derivation, its standard error by another way, and what is undefined."""

import math
from itertools import chain, product, repeat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_tasks.metrics.statistics.agreement import Agreement, cohen_kappa
from lm_eval_tasks.metrics.statistics.intervals import Interval

Z = 1.959963984540054
judgements = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=40)


def of_table(table: list[list[int]]) -> Agreement:
    """Agreement of items counted by the first annotator's category (row) and the second's (column)."""
    size = range(len(table))
    pairs = list(chain.from_iterable(repeat((i, j), table[i][j]) for i, j in product(size, size)))
    return cohen_kappa([i for i, _ in pairs], [j for _, j in pairs])


def kappa_of(shares: np.ndarray) -> float:
    chance = shares.sum(axis=1) @ shares.sum(axis=0)
    return float((np.trace(shares) - chance) / (1 - chance))


def test_golden_value() -> None:
    found = of_table([[20, 5], [10, 15]])
    # p_o = 35 / 50 = 0.7, p_e = 0.5 * 0.6 + 0.5 * 0.4 = 0.5, kappa = 0.2 / 0.5
    assert found.rate == 0.7
    assert found.kappa == pytest.approx(0.4)
    # diagonal 0.4 * 0.34^2 + 0.3 * 0.46^2, beside it 0.6^2 * (0.1 * 1.1^2 + 0.2 * 0.9^2), minus (0.4 - 0.5 * 0.6)^2
    error = math.sqrt((0.10972 + 0.10188 - 0.01) / (50 * 0.5**2))
    assert found.interval == pytest.approx(Interval(0.4 - Z * error, 0.4 + Z * error))


def test_agreement_by_chance_is_zero() -> None:
    assert of_table([[81, 9], [9, 1]]).kappa == pytest.approx(0)


def test_opposite_judgements_are_minus_one() -> None:
    found = of_table([[0, 7], [7, 0]])
    assert (found.rate, found.kappa) == (0, pytest.approx(-1))


@pytest.mark.parametrize("table", [[[40, 9], [3, 8]], [[20, 4, 1], [6, 15, 2], [0, 5, 9]], [[183, 3], [4, 10]]])
def test_standard_error_is_that_of_the_delta_method(table: list[list[int]]) -> None:
    """The same variance from numerical slopes of kappa in the shares, which are multinomial."""
    shares = np.array(table) / np.sum(table)
    step = 1e-6
    slopes = np.zeros_like(shares)
    for cell in np.ndindex(shares.shape):
        up, down = shares.copy(), shares.copy()
        up[cell] += step
        down[cell] -= step
        # shares of a multinomial sum to one, so kappa is taken of the shares as they are made to sum to one
        slopes[cell] = (kappa_of(up / up.sum()) - kappa_of(down / down.sum())) / (2 * step)
    variance = (shares * slopes**2).sum() - (shares * slopes).sum() ** 2
    found = of_table(table)
    assert found.interval is not None
    assert found.kappa is not None
    assert found.interval.high - found.kappa == pytest.approx(Z * math.sqrt(variance / np.sum(table)), rel=1e-5)


def test_interval_covers() -> None:
    """Of 2,000 samples of 200 items with true kappa 0.7, about 95 in 100 intervals hold it."""
    shares = np.array([[0.62, 0.07], [0.06, 0.25]])
    truth = kappa_of(shares)
    rng = np.random.default_rng(7)
    draws = rng.multinomial(200, shares.ravel(), size=2000).reshape(-1, 2, 2)
    intervals = [of_table(draw.tolist()).interval for draw in draws]
    covered = sum(one is not None and one.low <= truth <= one.high for one in intervals) / 2000
    assert 0.93 < covered < 0.97


@pytest.mark.parametrize(
    ("first", "second", "kappa"),
    [
        ([], [], None),
        ([1, 1, 1], [1, 1, 1], None),  # chance agrees fully
        ([1, 0, 1], [1, 0, 1], 1),
        ([1, 1, 1, 1], [1, 1, 0, 1], 0),  # one annotator never chose
        ([1, 1], [0, 0], 0),
    ],
)
def test_undefined(first: list[int], second: list[int], kappa: float | None) -> None:
    found = cohen_kappa(first, second)
    assert found.kappa == (None if kappa is None else pytest.approx(kappa))
    assert found.interval is None
    assert (found.rate is None) == (not first)


def test_items_must_match() -> None:
    with pytest.raises(ValueError, match="found 2 judgements of one annotator and 1 of the other, expected as many"):
        cohen_kappa([1, 0], [1])


@given(judgements)
def test_annotators_names_and_order_do_not_matter(pairs: list[tuple[str, str]]) -> None:
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    found = cohen_kappa(first, second)
    swapped = cohen_kappa(second[::-1], first[::-1])
    renamed = cohen_kappa([ord(one) for one in first], [ord(other) for other in second])
    for other in (swapped, renamed):
        assert other[:2] == found[:2]
        assert other.kappa == (None if found.kappa is None else pytest.approx(found.kappa))
        assert other.interval == (None if found.interval is None else pytest.approx(found.interval))
    if found.kappa is not None:
        assert -1 - 1e-9 <= found.kappa <= 1 + 1e-9


@given(judgements.filter(bool))
def test_doubled_items_keep_kappa_and_narrow_the_interval(pairs: list[tuple[str, str]]) -> None:
    once, twice = (cohen_kappa([a for a, _ in some], [b for _, b in some]) for some in (pairs, pairs * 2))
    assert twice.kappa == (None if once.kappa is None else pytest.approx(once.kappa))
    if once.interval is not None and twice.interval is not None:
        assert twice.interval.high - twice.interval.low <= once.interval.high - once.interval.low + 1e-9
