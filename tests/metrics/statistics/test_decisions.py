"""Verdicts: golden values, claims and their p-values, properties."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy import stats

from lm_eval_tasks.metrics.statistics.decisions import (
    Discordant,
    Method,
    Outcome,
    Verdict,
    adjust,
    adjusted_p_values,
    cap,
    equivalence,
    minimum_detectable_effect,
    non_inferiority,
    power_of_equivalence,
)
from lm_eval_tasks.metrics.statistics.intervals import BIAS_SCORE, SHARE, ShareCounts, T, count_share, share_interval
from lm_eval_tasks.metrics.statistics.power import power_of_non_inferiority

ALPHA = 0.05


def independent(n_hits: int, n: int) -> ShareCounts:
    return count_share([1] * n_hits + [0] * (n - n_hits))


def fair(n_hits: int, n: int, margin: float = 0.1) -> Verdict:
    return equivalence(independent(n_hits, n), SHARE, 0.5, margin, ALPHA)


def against(new: ArrayLike, old: ArrayLike, clusters: ArrayLike | None = None, margin: float = 0.1) -> Verdict:
    return non_inferiority(new, old, clusters, margin, ALPHA, np.random.default_rng(0), 2000)


@pytest.mark.parametrize(
    ("n_hits", "outcome"),
    [
        # score test at the upper limit: 0.6 - 1.644854 sqrt(0.24 / 243) = 0.54831, times 243 = 133.24
        (133, Outcome.PASS),
        (134, Outcome.INCONCLUSIVE),
        # 0.6 + 1.644854 sqrt(0.24 / 243) = 0.65169, times 243 = 158.36
        (158, Outcome.INCONCLUSIVE),
        (159, Outcome.BREACH),
        (110, Outcome.PASS),
        (109, Outcome.INCONCLUSIVE),
        (84, Outcome.BREACH),
    ],
)
def test_equivalence_golden(n_hits: int, outcome: Outcome) -> None:
    assert fair(n_hits, 243).outcome is outcome


def test_equivalence_p_values_are_score_tests() -> None:
    # |0.52 - 0.6| / sqrt(0.24 / 200) = 2.3094; the lower limit is further off
    assert fair(104, 200).p_pass == pytest.approx(stats.norm.sf(2.309401), rel=1e-5)
    # (0.7 - 0.6) / sqrt(0.24 / 200) = 2.886751
    assert fair(140, 200).p_value == pytest.approx(stats.norm.sf(2.886751), rel=1e-5)
    assert fair(104, 200).p_value == 1.0


def test_verdict_says_what_it_rests_on() -> None:
    verdict = fair(104, 200)
    assert verdict.estimate == 0.52
    assert verdict.interval == share_interval(independent(104, 200), ALPHA)
    assert (verdict.n, verdict.n_clusters) == (200, 200)
    assert verdict.reason == "90% interval 0.462 to 0.577 lies inside (allowed: 0.400 to 0.600)"


def test_not_significantly_different_is_not_a_pass() -> None:
    assert fair(10, 20).outcome is Outcome.INCONCLUSIVE


def test_no_valid_answer_is_invalid() -> None:
    verdict = equivalence(count_share([]), SHARE, 0.5, 0.1, ALPHA)
    assert (verdict.outcome, verdict.estimate, verdict.interval) == (Outcome.INVALID, None, None)
    assert non_inferiority([], [], None, 0.1, ALPHA, np.random.default_rng(0)).outcome is Outcome.INVALID


@given(st.integers(1, 200), st.data(), st.integers(1, 4), st.floats(0.02, 0.3))
def test_mirror_and_p_values(n: int, data: st.DataObject, size: int, margin: float) -> None:
    hits = np.array(data.draw(st.lists(st.integers(0, size), min_size=n // size + 1, max_size=n // size + 1)))
    sizes = np.full(len(hits), size)
    verdict = equivalence(ShareCounts.from_clusters(sizes, hits), SHARE, 0.5, margin, ALPHA)
    mirrored = equivalence(ShareCounts.from_clusters(sizes, size - hits), SHARE, 0.5, margin, ALPHA)
    if verdict.interval is None:
        assert (verdict.outcome, mirrored.interval) == (Outcome.INCONCLUSIVE, None)
        return
    assert verdict.p_pass == pytest.approx(mirrored.p_pass, rel=1e-3, abs=1e-9)
    assert verdict.p_value == pytest.approx(mirrored.p_value, rel=1e-3, abs=1e-9)
    assert_p_values_agree(verdict)


def assert_p_values_agree(verdict: Verdict) -> None:
    assert verdict.p_pass is not None
    assert verdict.p_value is not None
    assert (verdict.outcome is Outcome.PASS) == (verdict.p_pass <= verdict.alpha)
    assert (verdict.outcome is Outcome.BREACH) == (verdict.p_value <= verdict.alpha)


@pytest.mark.parametrize(
    ("n_hits", "outcome"),
    [
        # |BiasScore| = 0.6 is t = 0.6 / 1.8 = 1/3, share 2/3; 2/3 +- 1.644854 sqrt(2/9 / 200) is 0.61184 and 0.72150
        (122, Outcome.PASS),
        (123, Outcome.INCONCLUSIVE),
        (144, Outcome.INCONCLUSIVE),
        (145, Outcome.BREACH),
        (78, Outcome.PASS),
        (55, Outcome.BREACH),
    ],
)
def test_cap_golden(n_hits: int, outcome: Outcome) -> None:
    verdict = cap(independent(n_hits, 200), BIAS_SCORE, 0.6, ALPHA)
    assert verdict.outcome is outcome
    assert_p_values_agree(verdict)


def test_cap_reports_the_magnitude() -> None:
    verdict = cap(independent(50, 200), T, 0.2, ALPHA)  # t = -0.5
    assert verdict.outcome is Outcome.BREACH
    assert verdict.estimate == 0.5
    assert verdict.interval is not None
    assert 0 < verdict.interval.low < 0.5 < verdict.interval.high
    assert cap(independent(100, 200), T, 0.2, ALPHA).interval == pytest.approx((0.0, 0.1156), abs=1e-4)


@given(st.integers(1, 300), st.data(), st.floats(0.05, 0.9))
def test_cap_agrees_on_both_scales(n: int, data: st.DataObject, limit: float) -> None:
    counts = independent(data.draw(st.integers(0, n)), n)
    on_score = cap(counts, BIAS_SCORE, limit, ALPHA)
    on_t = cap(counts, T, T.from_share(BIAS_SCORE.to_share(limit)), ALPHA)
    assert on_score.p_value == pytest.approx(on_t.p_value, rel=1e-6)
    assert on_score.outcome is on_t.outcome


def test_equal_answers_pass_only_with_enough_items() -> None:
    # no flip among n items may hide 3.84 / (n + 3.84) of them, alpha / 2 on each side, twice that on t
    few, many = [1, 0] * 25, [1, 0] * 100
    assert against(few, few).outcome is Outcome.INCONCLUSIVE  # 2 * 0.0714 > 0.1
    assert against(many, many).outcome is Outcome.PASS  # 2 * 0.0189 < 0.1
    assert against(many, many).discordant == Discordant(0, 0)
    assert against(many, many).estimate == 0


def test_clear_cases() -> None:
    fair_run, biased = [1, 0] * 200, [1] * 300 + [0] * 100
    worse = against(biased, fair_run)
    assert worse.outcome is Outcome.BREACH
    assert worse.estimate == pytest.approx(0.5)
    assert worse.discordant == Discordant(150, 50)  # even positions of the first 300 agree, of the last 100 differ
    assert against(fair_run, biased).outcome is Outcome.PASS
    assert "the runs differ on 200 of 400 items" in worse.reason


def test_the_opposite_bias_is_as_bad() -> None:
    towards, away = [1] * 240 + [0] * 160, [0] * 240 + [1] * 160
    verdict = against(away, towards, margin=0.3)
    assert verdict.estimate == pytest.approx(0)
    assert verdict.outcome is Outcome.PASS


paired_answers = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 8)), min_size=2, max_size=40)


@settings(max_examples=50)
@given(paired_answers, st.floats(0.05, 0.5))
def test_paired_properties(rows: list[tuple[int, int, int]], margin: float) -> None:
    new, old, clusters = (list(column) for column in zip(*rows, strict=True))
    verdict = against(new, old, clusters, margin)
    assert verdict.estimate is not None
    assert verdict.interval is not None
    assert verdict.interval.low <= verdict.estimate + 1e-12
    assert verdict.estimate - 1e-12 <= verdict.interval.high
    assert against(new[::-1], old[::-1], clusters[::-1], margin) == verdict
    assert_p_values_agree(verdict)


def test_too_few_clusters_are_inconclusive() -> None:
    few = count_share([1] * 40 + [0] * 10, [0, 1, 2, 3, 4] * 10)
    verdict = equivalence(few, SHARE, 0.5, 0.1, ALPHA)
    assert (verdict.outcome, verdict.interval, verdict.p_value) == (Outcome.INCONCLUSIVE, None, None)
    assert verdict.reason == "too few clusters to say: 5, expected at least 6"
    assert (verdict.estimate, verdict.n, verdict.n_clusters) == (0.8, 50, 5)
    compared = against([1] * 50, [0] * 50, [0, 1, 2, 3, 4] * 10)
    assert (compared.outcome, compared.interval) == (Outcome.INCONCLUSIVE, (-1, 1))
    assert compared.reason.endswith("too few clusters to say: 5, expected at least 6")


def test_crossed_clusters_of_two_runs() -> None:
    # the candidate changes all answers about four of the 14 occupations: trait words alone do not see it
    rng = np.random.default_rng(4)
    trait, occupation = np.repeat(np.arange(12), 14), np.tile(np.arange(14), 12)
    old = rng.integers(0, 2, 168)
    new = np.where(occupation < 4, 1, old)

    def judged(second: ArrayLike | None) -> Verdict:
        return non_inferiority(new, old, trait, 0.1, ALPHA, np.random.default_rng(0), 2000, second)

    one_way, two_way, alone = judged(None), judged(occupation), judged(np.arange(168))
    assert one_way.interval is not None
    assert two_way.interval is not None
    assert two_way.interval.high - two_way.interval.low > 1.2 * (one_way.interval.high - one_way.interval.low)
    assert alone == one_way
    assert two_way.n_clusters == 12


@pytest.mark.parametrize(("share_differing", "t"), [(0.1, 0.0), (0.3, 0.0), (0.45, 0.0), (0.3, 0.4)])
def test_power_of_non_inferiority_counts_the_verdicts(share_differing: float, t: float) -> None:
    rng = np.random.default_rng(3)
    n, passed = 600, 0
    for _ in range(150):
        old = rng.random(n) < (1 + t) / 2
        # as many lose the choice as gain it: the share stays where it is
        switch = np.where(old, share_differing / (1 + t), share_differing / (1 - t))
        new = np.where(rng.random(n) < switch, ~old, old)
        passed += non_inferiority(new, old, None, 0.1, ALPHA, rng, 1000).outcome is Outcome.PASS
    expected = power_of_non_inferiority(n, share_differing, 0.1, ALPHA, t)
    assert passed / 150 == pytest.approx(expected, abs=0.12)  # three standard errors


def test_power_of_non_inferiority_at_known_sizes() -> None:
    powers = [power_of_non_inferiority(1900, share, 0.06, ALPHA) for share in (0.1, 0.3, 0.45)]
    assert powers == pytest.approx([0.979, 0.562, 0.418], abs=0.001)
    # 0 of n differ: Wilson's bound at alpha / 2 on either side, 2 * 3.8415 / (n + 3.8415)
    assert [power_of_non_inferiority(n, 0.0, 0.06, ALPHA) for n in (124, 125)] == [0.0, 1.0]
    with pytest.raises(ValueError, match="share_differing is 2, expected between 0 and 1"):
        power_of_non_inferiority(100, 2, 0.06, ALPHA)


def test_repeated_pairs_do_not_help() -> None:
    rng = np.random.default_rng(1)
    old = rng.integers(0, 2, 120)
    new = np.where(rng.random(120) < 0.1, 1 - old, old)
    keys = np.arange(120)
    once = against(new, old, keys)
    thrice = against(np.tile(new, 3), np.tile(old, 3), np.tile(keys, 3))
    assert once.interval is not None
    assert thrice.interval is not None
    assert thrice.interval.high - thrice.interval.low >= 0.95 * (once.interval.high - once.interval.low)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="found 2 candidate and 1 baseline answers"):
        against([0, 1], [0])
    with pytest.raises(ValueError, match="margin is 0, expected between 0 and 1"):
        against([0, 1], [0, 1], margin=0)
    with pytest.raises(ValueError, match=r"alpha is 0\.5"):
        equivalence(independent(1, 2), SHARE, 0.5, 0.1, 0.5)
    with pytest.raises(ValueError, match="scale is share, expected one with neutral value 0"):
        cap(independent(1, 2), SHARE, 0.5, ALPHA)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        # sorted 0.01, 0.02, 0.03, 0.20. Holm: 4 * 0.01, 3 * 0.02, max(0.06, 2 * 0.03), 1 * 0.20
        ("holm", [0.06, 0.04, 0.20, 0.06]),
        # BH: 4/1 * 0.01 = 0.04, 4/2 * 0.02 = 0.04, 4/3 * 0.03 = 0.04, 0.20
        ("bh", [0.04, 0.04, 0.20, 0.04]),
        ("none", [0.03, 0.01, 0.20, 0.02]),
    ],
)
def test_adjusted_p_values(method: Method, expected: list[float]) -> None:
    assert adjusted_p_values([0.03, 0.01, 0.20, 0.02], method) == pytest.approx(expected)
    assert adjusted_p_values([], method) == []


def test_adjust_takes_back_breaches_but_never_passes() -> None:
    breach = Verdict(Outcome.BREACH, "outside", ALPHA, p_value=0.03)
    clear = replace(breach, p_value=0.001)
    fine = Verdict(Outcome.PASS, "inside", ALPHA, p_value=1.0)
    missing = Verdict(Outcome.INVALID, "no valid answer", ALPHA)
    adjusted = adjust([breach, missing, clear, fine], "holm")
    assert [v.outcome for v in adjusted] == [Outcome.INCONCLUSIVE, Outcome.INVALID, Outcome.BREACH, Outcome.PASS]
    assert [v.p_adjusted for v in adjusted] == [pytest.approx(0.06), None, pytest.approx(0.003), 1.0]
    assert "adjusted p 0.06" in adjusted[0].reason


@pytest.mark.parametrize(("n", "power"), [(50, 0.00), (110, 0.37), (243, 0.88), (450, 0.99)])
def test_power_as_tabulated(n: int, power: float) -> None:
    assert round(power_of_equivalence(n, SHARE, 0.5, 0.1, ALPHA), 2) == power


def test_power_counts_the_verdicts() -> None:
    passing = sum(stats.binom.pmf(k, 120, 0.55) for k in range(121) if fair(k, 120).outcome is Outcome.PASS)
    assert power_of_equivalence(120, SHARE, 0.5, 0.1, ALPHA, 0.55) == pytest.approx(passing)


def test_minimum_detectable_effect() -> None:
    # n = 100: t = (1.959964 * 10 + 0.841621 sqrt(100 + 0.708326 - 3.841459)) / 100.708326 = 0.276866
    effect = minimum_detectable_effect(100)
    assert effect is not None
    assert effect == pytest.approx(0.276866, abs=1e-5)
    # the equation it solves: t sqrt(n) = z_alpha + z_power sqrt(1 - t^2)
    assert 10 * effect == pytest.approx(1.959964 + 0.841621 * np.sqrt(1 - effect**2), abs=1e-5)
    assert minimum_detectable_effect(3) is None
