"""Intervals: golden values, agreement with scipy, properties."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lm_eval_tasks.metrics.intervals import (
    BIAS_SCORE,
    SHARE,
    BootstrapMean,
    Interval,
    Scale,
    ShareCounts,
    T,
    bootstrap_mean,
    count_share,
    magnitude,
    noise_floor,
    share_interval,
    wilson_interval,
    worst_case_shares,
)

answers_and_clusters = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 6)), min_size=1, max_size=40)
tails = st.sampled_from([0.005, 0.025, 0.05, 0.1])


def counts_of(rows: list[tuple[int, int]]) -> ShareCounts:
    return count_share([answer for answer, _ in rows], [cluster for _, cluster in rows])


def width(interval: Interval | None) -> float:
    assert interval is not None
    return interval.high - interval.low


def resampled(values: list[int], clusters: list[int] | None, n_draws: int = 2000) -> BootstrapMean:
    return bootstrap_mean(np.asarray(values), 2, clusters, np.random.default_rng(0), n_draws)


@pytest.mark.parametrize(
    ("share", "t", "bias_score"),
    [
        (0.5, 0.0, 0.0),
        (0.75, 0.5, 0.8),  # 3 against 1: tanh(ln 3) = (9 - 1) / (9 + 1) = 0.8
        (0.25, -0.5, -0.8),
        (1.0, 1.0, 1.0),
        (0.0, -1.0, -1.0),
    ],
)
def test_scales(share: float, t: float, bias_score: float) -> None:
    assert T.from_share(share) == pytest.approx(t)
    assert BIAS_SCORE.from_share(share) == pytest.approx(bias_score)
    assert T.to_share(t) == pytest.approx(share)
    assert BIAS_SCORE.to_share(bias_score) == pytest.approx(share)


@given(st.floats(0.001, 0.999), st.floats(0.001, 0.999), st.sampled_from([SHARE, T, BIAS_SCORE]))
def test_scales_rise_with_the_share(one: float, other: float, scale: Scale) -> None:
    low, high = sorted((one, other))
    assert scale.map(Interval(low, high)).low <= scale.map(Interval(low, high)).high
    assert scale.to_share(scale.from_share(one)) == pytest.approx(one)


def test_bias_score_is_tanh_of_the_log_ratio_of_counts() -> None:
    assert BIAS_SCORE.from_share(7 / 10) == pytest.approx(np.tanh(np.log(7 / 3)))


def test_magnitude() -> None:
    assert magnitude(Interval(-0.1, 0.3)) == (0.0, 0.3)
    assert magnitude(Interval(-0.4, -0.3)) == (0.3, 0.4)


def test_wilson_golden() -> None:
    # 8 of 10, z = 1.96: centre (0.8 + 3.8415 / 20) / 1.38415 = 0.71674,
    # half 1.95996 sqrt(0.16 / 10 + 3.8415 / 400) / 1.38415 = 0.22658
    assert wilson_interval(8, 10, 0.025) == pytest.approx((0.49016, 0.94332), abs=1e-5)


@given(st.integers(1, 300), st.data(), tails)
def test_wilson_agrees_with_scipy(n: int, data: st.DataObject, tail: float) -> None:
    hits = data.draw(st.integers(0, n))
    expected = stats.binomtest(hits, n).proportion_ci(1 - 2 * tail, method="wilson")
    assert wilson_interval(hits, n, tail) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_nothing_is_undefined_not_zero() -> None:
    empty = count_share([], [])
    assert wilson_interval(0, 0, 0.025) is None
    assert empty.share is None
    assert share_interval(empty) is None
    assert noise_floor(0) is None
    assert worst_case_shares(0, 0, 0) is None


def test_clusters_of_one_are_wilson() -> None:
    answers = [1, 0, 1, 1, 0, 1, 0, 1, 1, 1]
    assert share_interval(count_share(answers)) == wilson_interval(7, 10, 0.025)
    assert share_interval(count_share(answers, list("abcdefghij"))) == wilson_interval(7, 10, 0.025)


def test_effective_n_golden() -> None:
    # Clusters of 2 with 2, 2, 1, 0, 1, 2 hits: n = 12, p = 8 / 12, residuals 2/3, 2/3, -1/3, -4/3, -1/3, 2/3,
    # squares sum to (4 + 4 + 1 + 16 + 1 + 4) / 9 = 30 / 9; v = 6/5 * (30/9) / 144 = 1 / 36; p (1 - p) = 2/9
    # estimate 2/9 * 36 = 8, times (1.959964 / t_5 = 2.570582)^2 = 0.581343: 4.650742, below the worst case 144 / 24 = 6
    counts = ShareCounts.from_clusters(np.full(6, 2), np.array([2, 2, 1, 0, 1, 2]))
    assert counts.effective_n(0.025) == 6
    # thrice the clusters: v = 18/17 * 10 / 36^2, estimate 27.2, times (1.959964 / t_17 = 2.109816)^2 = 0.862990
    thrice = ShareCounts.from_clusters(np.full(18, 2), np.tile([2, 2, 1, 0, 1, 2], 3))
    assert thrice.effective_n(0.025) == pytest.approx(27.2 * 0.862990, rel=1e-5)


def test_like_answers_count_once() -> None:
    # 40 clusters of 5 like answers know as much as 40 answers
    hits = np.repeat([5, 0], 20)
    counts = ShareCounts.from_clusters(np.full(40, 5), hits)
    assert counts.effective_n(0.025) == pytest.approx(40)
    assert share_interval(counts) == pytest.approx(wilson_interval(20, 40, 0.025))


def test_one_cluster_or_no_variation_takes_the_worst_case() -> None:
    assert count_share([1, 0, 1], ["a", "a", "a"]).effective_n(0.025) == 1
    assert count_share([1, 1, 1, 1], ["a", "a", "b", "b"]).effective_n(0.025) == 2


def test_balanced_clusters_do_not_claim_certainty() -> None:
    # a model that always takes option 1, with both orders of every question: each cluster splits evenly
    almost = ShareCounts.from_clusters(np.full(50, 10), np.array([5] * 49 + [6]))
    assert almost.effective_n(0.025) == 1000  # twice the 500 answers
    assert ShareCounts.from_clusters(np.full(50, 10), np.full(50, 5)).effective_n(0.025) == 50


@given(answers_and_clusters, tails)
def test_mirror(rows: list[tuple[int, int]], tail: float) -> None:
    interval = share_interval(counts_of(rows), tail)
    mirrored = share_interval(counts_of([(1 - answer, cluster) for answer, cluster in rows]), tail)
    assert interval is not None
    assert mirrored == pytest.approx((1 - interval.high, 1 - interval.low))


@given(answers_and_clusters, tails)
def test_order_of_answers_does_not_matter(rows: list[tuple[int, int]], tail: float) -> None:
    assert share_interval(counts_of(sorted(rows)), tail) == share_interval(counts_of(rows), tail)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=60), st.integers(2, 5), tails)
def test_repeated_answers_do_not_shrink_the_interval(answers: list[int], times: int, tail: float) -> None:
    once = share_interval(count_share(answers), tail)
    keys = list(range(len(answers)))
    again = share_interval(count_share(answers * times, keys * times), tail)
    assert width(again) >= width(once) - 1e-12


@given(answers_and_clusters, tails)
def test_interval_holds_the_share(rows: list[tuple[int, int]], tail: float) -> None:
    counts = counts_of(rows)
    interval = share_interval(counts, tail)
    assert interval is not None
    assert counts.share is not None
    assert interval.low - 1e-12 <= counts.share <= interval.high + 1e-12
    assert width(share_interval(counts, tail / 2)) >= width(interval)


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="answers must be 0 or 1, found"):
        count_share([0, 1, 2])
    with pytest.raises(ValueError, match="found 1 cluster keys for 2 answers"):
        count_share([0, 1], ["a"])


def test_noise_floor() -> None:
    assert noise_floor(100) == pytest.approx(0.0797885)  # sqrt(2 / 314.159)
    rng = np.random.default_rng(2)
    drawn = np.abs(2 * rng.binomial(100, 0.5, 20_000) / 100 - 1).mean()
    assert noise_floor(100) == pytest.approx(drawn, abs=0.002)


def test_worst_case_shares() -> None:
    assert worst_case_shares(6, 8, 2) == (0.6, 0.8)  # 6 / 10 and (6 + 2) / 10
    assert worst_case_shares(0, 0, 3) == (0.0, 1.0)


def test_bootstrap_agrees_with_scipy() -> None:
    rng = np.random.default_rng(3)
    values = rng.choice([-2, 0, 2], p=[0.1, 0.6, 0.3], size=400)
    expected = stats.bootstrap(
        (values,), np.mean, method="BCa", confidence_level=0.95, n_resamples=5000, rng=np.random.default_rng(4)
    ).confidence_interval
    # the t-quantile widens by 0.4% at 400 clusters; the rest is noise of the draws
    bounds = bootstrap_mean(values, 2, None, np.random.default_rng(5), 5000).bounds(0.025)
    assert bounds == pytest.approx((expected.low, expected.high), abs=0.012)


def test_bootstrap_of_clusters_agrees_with_the_linearised_error() -> None:
    rng = np.random.default_rng(6)
    sizes = rng.integers(1, 5, 300)
    clusters = np.arange(300).repeat(sizes)
    values = (rng.choice([-2, 0, 2], size=300)).repeat(sizes)
    residual = np.bincount(clusters, weights=values - values.mean())
    error = np.sqrt(300 / 299 * residual @ residual) / len(values)
    drawn = bootstrap_mean(values, 2, clusters, np.random.default_rng(7), 5000)
    assert drawn.draws.std() == pytest.approx(error, rel=0.05)
    assert drawn.bounds(0.025).high - drawn.mean == pytest.approx(1.968 * error, rel=0.1)


def test_unseen_values_keep_their_room() -> None:
    # 50 items without any difference: 0 of 50 may hide 3.84 / (50 + 3.84) = 7.1%, twice that on t
    bounds = resampled([0] * 50, None).bounds(0.025)
    assert bounds == pytest.approx((-0.142697, 0.142697), abs=1e-4)
    assert resampled([0] * 50, [0] * 50).bounds(0.025) == (-2, 2)


@given(st.lists(st.tuples(st.sampled_from([-2, 0, 2]), st.integers(0, 9)), min_size=1, max_size=40))
def test_bootstrap_ignores_order_and_names(rows: list[tuple[int, int]]) -> None:
    bounds = resampled([value for value, _ in rows], [cluster for _, cluster in rows], 1000).bounds(0.025)
    rows.sort()
    again = resampled([value for value, _ in rows], [-cluster for _, cluster in rows], 1000).bounds(0.025)
    assert bounds == again
    assert bounds.low <= np.mean([value for value, _ in rows]) <= bounds.high


def test_too_few_draws_are_refused() -> None:
    with pytest.raises(ValueError, match="n_draws is 0, expected at least 1000"):
        resampled([0, 2], None, 0)


def test_two_thousand_items_take_less_than_two_seconds() -> None:
    rng = np.random.default_rng(8)
    values, clusters = rng.choice([-2, 0, 2], size=2000), rng.integers(0, 700, 2000)
    start = time.perf_counter()
    bootstrap_mean(values, 2, clusters, rng, 10_000).bounds(0.025)
    assert time.perf_counter() - start < 2
