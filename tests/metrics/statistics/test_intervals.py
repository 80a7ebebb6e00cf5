"""Intervals: golden values, agreement with scipy, properties."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lm_eval_tasks.metrics.statistics.bootstrap import BootstrapMean, bootstrap_mean
from lm_eval_tasks.metrics.statistics.intervals import (
    BIAS_SCORE,
    MIN_CLUSTERS,
    SHARE,
    Interval,
    Scale,
    ShareCounts,
    T,
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


def integrated(sizes: list[int], hits: list[int], tail: float) -> Interval:
    """Posterior quantiles by brute force: the beta-binomial of scipy, midpoints on Jeffreys' scale of share and correlation."""
    angles = (np.arange(600) + 0.5) / 600 * np.pi
    shares, rho = (1 - np.cos(angles)) / 2, (1 - np.cos((np.arange(80) + 0.5) / 80 * np.pi)) / 2
    a, b = shares[:, None] * (1 - rho) / rho, (1 - shares)[:, None] * (1 - rho) / rho
    log = sum(stats.betabinom.logpmf(y, m, a, b) for m, y in zip(sizes, hits, strict=True))
    mass = np.exp(log - np.max(log)).sum(axis=1)
    below = np.cumsum(mass) / mass.sum()
    return Interval(float(np.interp(tail, below, shares)), float(np.interp(1 - tail, below, shares)))


@pytest.mark.parametrize("tail", [0.005, 0.025])
def test_clustered_interval_is_the_stretched_posterior(tail: float) -> None:
    sizes, hits = [5, 9, 2, 14, 7, 7, 3, 1], [2, 1, 0, 9, 3, 0, 1, 1]
    share, stretch = 17 / 48, np.sqrt(8 / 7)
    raw = integrated(sizes, hits, tail)
    expected = share - stretch * (share - raw.low), share + stretch * (raw.high - share)
    assert share_interval(ShareCounts.from_clusters(np.array(sizes), np.array(hits)), tail) == pytest.approx(
        expected, abs=0.004
    )


def test_two_kinds_of_clusters_golden() -> None:
    # d^2 = d_first^2 + d_second^2 - d_both^2, each from a single clustering of the same answers
    rng = np.random.default_rng(9)
    first, second = np.repeat(np.arange(12), 14), np.tile(np.arange(14), 12)
    answers = (rng.random(168) < 0.2 + 0.5 * (first % 2) + 0.2 * (second % 3 == 0)).astype(int)
    share = answers.mean()
    ups = [share_interval(count_share(answers, keys)).high - share for keys in (first, second, None)]  # type: ignore[union-attr]
    crossed = share_interval(count_share(answers, first, second))
    assert crossed is not None
    assert crossed.high - share == pytest.approx(np.sqrt(ups[0] ** 2 + ups[1] ** 2 - ups[2] ** 2))
    assert width(crossed) > width(share_interval(count_share(answers, first)))


@given(answers_and_clusters, tails)
def test_second_clusters_of_one_change_nothing(rows: list[tuple[int, int]], tail: float) -> None:
    answers, keys = [answer for answer, _ in rows], [cluster for _, cluster in rows]
    once = count_share(answers, keys)
    assert count_share(answers, keys, list(range(len(rows)))) == once
    assert count_share(answers, keys, [None] * len(rows)) == once
    assert share_interval(count_share(answers, list(range(len(rows))), keys), tail) == share_interval(once, tail)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=60), tails)
def test_crossed_interval_properties(rows: list[tuple[int, int, int]], tail: float) -> None:
    answers, first, second = (list(column) for column in zip(*rows, strict=True))
    counts = count_share(answers, first, second)
    found, mirrored = share_interval(counts, tail), share_interval(count_share([1 - a for a in answers], first, second), tail)
    assert (found is None) == (counts.undecided is not None)
    assert share_interval(count_share(answers[::-1], [f"x{key}" for key in first[::-1]], second[::-1]), tail) == found
    if found is not None and mirrored is not None:
        assert mirrored == pytest.approx((1 - found.high, 1 - found.low), abs=1e-6)
        assert share_interval(count_share(answers, second, first), tail) == pytest.approx(found)
        assert 0 <= found.low <= np.mean(answers) + 1e-12
        assert np.mean(answers) - 1e-12 <= found.high <= 1
        wider = share_interval(counts, tail / 2)
        assert width(wider) >= width(found) - 1e-9


def test_keys_of_none_stand_alone() -> None:
    answers = [1, 0, 1, 1, 0, 0, 1, 1]
    keys = ["a", "a", None, None, "b", "b", "c", "d"]
    named = ["a", "a", "only 1", "only 2", "b", "b", "c", "d"]
    assert count_share(answers, keys) == count_share(answers, named)


def test_like_answers_count_once() -> None:
    # 40 clusters of 5 like answers know about as much as 40 answers
    hits = np.repeat([5, 0], 20)
    counts = ShareCounts.from_clusters(np.full(40, 5), hits)
    assert 34 < counts.effective_n(0.025) < 42
    assert share_interval(counts) == pytest.approx(wilson_interval(20, 40, 0.025), abs=0.015)


def test_effective_n_gives_wilsons_interval_the_same_width() -> None:
    counts = ShareCounts.from_clusters(np.full(12, 8), np.array([1, 2, 8, 0, 3, 5, 4, 7, 2, 1, 6, 2]))
    n = counts.effective_n(0.025)
    assert counts.share is not None
    assert n < counts.n
    assert width(wilson_interval(counts.share * n, n, 0.025)) == pytest.approx(width(share_interval(counts)))
    assert count_share([1, 0, 1]).effective_n(0.025) == 3
    assert count_share([]).effective_n(0.025) == 0


def test_too_few_clusters_have_no_interval() -> None:
    sizes = np.full(MIN_CLUSTERS, 40)
    enough = ShareCounts.from_clusters(sizes, np.arange(MIN_CLUSTERS))
    few = ShareCounts.from_clusters(sizes[1:], np.arange(MIN_CLUSTERS - 1))
    assert enough.undecided is None
    assert share_interval(enough) is not None
    assert few.undecided == "too few clusters to say: 5, expected at least 6"
    assert share_interval(few) is None
    assert few.share is not None
    # few of the second kind are too few as well; answers that stand alone never are
    assert count_share([0, 1] * 20, np.repeat(np.arange(20), 2), np.tile([0, 1], 20)).undecided is not None
    assert share_interval(count_share([1, 0])) == wilson_interval(1, 2, 0.025)


def test_all_alike_takes_the_worst_case() -> None:
    # 8 clusters of 20 misses may be 8 answers: Wilson's bound of 0 in 8, 3.8415 / (8 + 3.8415) = 0.32441
    interval = share_interval(ShareCounts.from_clusters(np.full(8, 20), np.zeros(8, dtype=np.int64)))
    assert interval == pytest.approx((0.0, 0.32441), abs=1e-5)


def test_balanced_clusters_do_not_claim_certainty() -> None:
    # a model that always takes option 1, with both orders of every question: each cluster splits evenly
    even = ShareCounts.from_clusters(np.full(50, 10), np.full(50, 5))
    assert 250 < even.effective_n(0.025) <= 500


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=6, max_size=20))
def test_more_clusters_narrow_the_interval(pairs: list[tuple[int, int]]) -> None:
    sizes, hits = np.array([hits + misses + 1 for hits, misses in pairs]), np.array([hits for hits, _ in pairs])
    once = share_interval(ShareCounts.from_clusters(sizes, hits))
    twice = share_interval(ShareCounts.from_clusters(np.tile(sizes, 2), np.tile(hits, 2)))
    assert width(twice) < width(once)


@given(answers_and_clusters, tails)
def test_mirror(rows: list[tuple[int, int]], tail: float) -> None:
    interval = share_interval(counts_of(rows), tail)
    mirrored = share_interval(counts_of([(1 - answer, cluster) for answer, cluster in rows]), tail)
    if interval is None:
        assert mirrored is None
        return
    assert mirrored == pytest.approx((1 - interval.high, 1 - interval.low), abs=1e-6)


@given(answers_and_clusters, tails)
def test_order_of_answers_does_not_matter(rows: list[tuple[int, int]], tail: float) -> None:
    assert share_interval(counts_of(sorted(rows)), tail) == share_interval(counts_of(rows), tail)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=60), st.integers(2, 5), tails)
def test_repeated_answers_do_not_shrink_the_interval(answers: list[int], times: int, tail: float) -> None:
    once = share_interval(count_share(answers), tail)
    keys = list(range(len(answers)))
    again = share_interval(count_share(answers * times, keys * times), tail)
    if len(answers) >= MIN_CLUSTERS:
        assert width(again) >= 0.9 * width(once)


@given(answers_and_clusters, tails)
def test_interval_holds_the_share(rows: list[tuple[int, int]], tail: float) -> None:
    counts = counts_of(rows)
    interval = share_interval(counts, tail)
    if interval is None:
        assert counts.undecided
        return
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
    assert drawn.ways[0].draws.std() == pytest.approx(error, rel=0.05)
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
