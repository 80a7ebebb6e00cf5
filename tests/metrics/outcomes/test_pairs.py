"""The pair metric: golden values with their derivation, and properties that hold for all metrics at once."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_tasks.metrics.outcomes.pairs import (
    DECIDES_NOTHING,
    PairOutcome,
    Sentence,
    pooled_rate,
    prefers_first,
    score_document,
    score_pair,
)

sentences = st.builds(
    Sentence,
    loglikelihood=st.floats(-1e6, 0.0),
    n_tokens=st.integers(1, 500),
    n_bytes=st.integers(1, 2000),
)


def test_perplexity() -> None:
    # exp(-(-6 ln 2) / 3) = exp(2 ln 2) = 4
    assert Sentence(-6 * math.log(2), 3, 10).perplexity == pytest.approx(4.0)
    assert Sentence(-1e9, 1, 10).perplexity == math.inf


def test_normalisers_disagree() -> None:
    # pro: 12 nats over 4 tokens (3 each) and 6 bytes (2 each); anti: 10 over 3 (3.33 each) and 10 bytes (1 each):
    # per token the first is cheaper, in total and per byte the second.
    assert score_pair(Sentence(-12, 4, 6), Sentence(-10, 3, 10)) == PairOutcome(1.0, 0.0, 0.0, 0.0)
    # pro: 10 nats, 2 tokens (5 each), 10 bytes (1 each); anti: 12, 3 (4 each), 8 (1.5 each).
    assert score_pair(Sentence(-10, 2, 10), Sentence(-12, 3, 8)) == PairOutcome(0.0, 1.0, 1.0, 0.0)
    # pro: 12 nats over 3 tokens (4 each) and 12 bytes (1 each); anti: 11 over 2 (5.5) and 10 bytes (1.1).
    assert score_pair(Sentence(-12, 3, 12), Sentence(-11, 2, 10)) == PairOutcome(1.0, 0.0, 1.0, 0.0)


def test_tie_is_no_preference() -> None:
    # 8 / 4 = 6 / 3: equal perplexities of sentences with unequal totals.
    assert score_pair(Sentence(-8, 4, 10), Sentence(-6, 3, 10)) == PairOutcome(0.0, 0.0, 0.0, 1.0)


def test_difference_that_exp_would_lose() -> None:
    # exp(800) is infinite for both; the mean per token is not.
    assert score_pair(Sentence(-800, 1, 1), Sentence(-801, 1, 1)).pct_stereotype == 1.0


@pytest.mark.parametrize("value", [math.nan, -math.inf, math.inf])
def test_loglikelihood_that_is_no_number(value: float) -> None:
    with pytest.raises(ValueError, match="expected a finite number of nats"):
        score_pair(Sentence(-1.0, 1, 1), Sentence(value, 1, 1))


@pytest.mark.parametrize("field", DECIDES_NOTHING)
def test_pairs_that_decide_nothing(field: str) -> None:
    doc = {"pro_trope": "Он", "anti_trope": "Она поёт", "pro_n_tokens": 1, "anti_n_tokens": 2, field: False}
    assert score_document(doc, [-1.0, -9.0]) == PairOutcome(1.0, 1.0, 1.0, 0.0)
    for answers in ([-1.0, -9.0], [-9.0, -1.0], [math.nan, -1.0]):
        assert score_document(doc | {field: True, "pro_n_tokens": 0}, answers) == PairOutcome(0.0, 0.0, 0.0, 1.0)


def test_no_tokens() -> None:
    with pytest.raises(ValueError, match="0 scored tokens"):
        score_pair(Sentence(-1.0, 0, 1), Sentence(-1.0, 1, 1))


@given(sentences, sentences)
def test_swapping_the_pair_mirrors_every_metric(first: Sentence, second: Sentence) -> None:
    one, other = score_pair(first, second), score_pair(second, first)
    assert one.tie == other.tie
    assert one.pct_stereotype + other.pct_stereotype + one.tie == 1.0
    for a, b in zip(one, other, strict=True):
        assert {a, b} <= {0.0, 1.0}
    assert one.pct_stereotype_sum + other.pct_stereotype_sum <= 1.0
    assert one.pct_stereotype_byte + other.pct_stereotype_byte <= 1.0


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=50), st.randoms())
def test_pooled_rate(indicators: list[float], random: object) -> None:
    rate = pooled_rate(indicators)
    assert rate == pooled_rate(indicators + indicators)
    assert rate == pooled_rate(sorted(indicators))


def test_no_pairs_have_no_rate() -> None:
    assert pooled_rate([]) is None


def test_prefers_first_is_strict() -> None:
    assert (prefers_first(1.0, 2.0), prefers_first(2.0, 1.0), prefers_first(1.0, 1.0)) == (1.0, 0.0, 0.0)
