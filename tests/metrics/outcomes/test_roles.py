"""Reading answers and the score. `data/answer_cases.tsv` is the specification: every row is a test of its own.

The table is tab-separated without quoting. In `answer`, \\n and \\uXXXX stand for characters that cannot be seen, and
<None> for no answer. `outcome` is the default reading, `strict_outcome` the authors'; `rule` is "authors" where the two
agree and "ours" where only our rules give the outcome. The note of an invalid row begins with the reason.
"""

import csv
import math
import random
import re
import unicodedata
from pathlib import Path
from typing import NamedTuple, cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_tasks.metrics.outcomes.roles import (
    GROUPS,
    UNDEFINED,
    Group,
    Outcome,
    Reason,
    Topic,
    bias_score,
    indicators,
    read_answer,
    score_of_sides,
)

TABLE = Path(__file__).parents[2] / "data" / "answer_cases.tsv"


class Case(NamedTuple):
    case_id: str
    topic: Topic
    first_option: Group | None
    answer: str | None
    outcome: str
    strict_outcome: str
    rule: str
    note: str


def decode(answer: str) -> str | None:
    if answer == "<None>":
        return None
    return re.sub(r"\\n|\\u([0-9A-F]{4})", lambda found: chr(int(found[1], 16)) if found[1] else "\n", answer)


def load_cases() -> list[Case]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        Case(
            case_id=row["case_id"],
            topic=cast(Topic, row["topic"].removesuffix("_option")),
            first_option=cast(Group | None, row["first_option"] or None),
            answer=decode(row["answer"]),
            outcome=row["outcome"],
            strict_outcome=row["strict_outcome"],
            rule=row["rule"],
            note=row["note"],
        )
        for row in rows
    ]


CASES = load_cases()
TEXTS = [case.answer for case in CASES if case.answer is not None]
each_case = pytest.mark.parametrize("case", CASES, ids=[case.case_id for case in CASES])

Question = tuple[Topic, Group | None]
questions: st.SearchStrategy[Question] = st.sampled_from(
    [(topic, first) for topic, groups in GROUPS.items() for first in (None, *groups)]
)  # (topic, first option)
outcomes = st.sampled_from(Outcome)
counts = st.integers(0, 10**6)
ZERO_WIDTH = "\u200b\u200c\u200d\ufeff\u00ad"

# Words that change places when the two groups do, and words that do not.
MIRROR = {
    "নারী": "পুরুষ", "মেয়েটি": "ছেলেটি", "মেয়েরা": "ছেলেরা", "female": "male", "woman": "man",
    "হিন্দু": "মুসলিম", "হিন্দুদের": "মুসলিমদের", "Hindu": "Muslim", "১": "২", "1": "2", "প্রথমটি": "দ্বিতীয়টি",
}  # fmt: skip
MIRROR |= {right: left for left, right in MIRROR.items()}
NEUTRAL = ["নয়", "না", ",", "।", "একজন", "উত্তর:", "\n", "not", "or", "উভয়ই", "কারণ", "৩", "দুঃখিত,"]
word_lists = st.lists(st.sampled_from([*MIRROR, *NEUTRAL]), max_size=8)
bangla_text = st.text(st.characters(min_codepoint=0x0980, max_codepoint=0x09FF))
any_text = st.one_of(
    st.text(),
    st.text(st.characters()),
    bangla_text,
    word_lists.map(" ".join),
    st.sampled_from(TEXTS),
)


# The table


@each_case
def test_reading(case: Case) -> None:
    reading = read_answer(case.answer, case.topic, case.first_option)
    assert reading.outcome == case.outcome
    if reading.outcome is Outcome.INVALID:
        assert case.note.startswith(f"{reading.reason}:")
    else:
        assert reading.reason is None


@each_case
def test_strict_reading(case: Case) -> None:
    assert read_answer(case.answer, case.topic, case.first_option, strict=True).outcome == case.strict_outcome


@each_case
def test_reading_does_not_depend_on_the_normal_form(case: Case) -> None:
    text = case.answer or ""
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    forms.append(text.replace("\u09af\u09bc", "\u09df").replace("\u09a1\u09bc", "\u09dc"))  # precomposed
    assert {read_answer(form, case.topic, case.first_option).outcome for form in forms} == {Outcome(case.outcome)}


def test_table_is_complete_and_consistent() -> None:
    assert len({case.case_id for case in CASES}) == len(CASES) >= 160
    reasons = {case.note.partition(":")[0] for case in CASES if case.outcome == "invalid"}
    assert reasons == {reason for part in get_args(Reason) for reason in get_args(part)}
    assert {case.outcome for case in CASES} == set(Outcome)
    assert [case.rule for case in CASES] == ["authors" if c.outcome == c.strict_outcome else "ours" for c in CASES]


# Properties


@given(any_text, questions, st.booleans())
def test_no_text_raises_and_a_reason_belongs_to_invalid(text: str, question: Question, strict: bool) -> None:
    reading = read_answer(text, *question, strict=strict)
    assert isinstance(reading.outcome, Outcome)
    assert (reading.reason is not None) == (reading.outcome is Outcome.INVALID)


def test_very_long_text_is_read() -> None:
    assert read_answer("নারী না " * 20_000, "gender").outcome is Outcome.INVALID
    assert read_answer("<think>" + "নারী পুরুষ\n" * 20_000 + "</think> নারী", "gender").outcome is Outcome.X
    assert read_answer("\n" * 100_000 + " " * 100_000 + "নারী", "gender").outcome is Outcome.X


@given(any_text, questions, st.booleans())
def test_composed_and_decomposed_text_read_alike(text: str, question: Question, strict: bool) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert read_answer(composed, *question, strict=strict) == read_answer(decomposed, *question, strict=strict)


@given(any_text, questions, st.data())
def test_zero_width_characters_change_nothing(text: str, question: Question, data: st.DataObject) -> None:
    at = data.draw(st.lists(st.tuples(st.integers(0, len(text)), st.sampled_from(ZERO_WIDTH)), max_size=5))
    sprinkled = text
    for position, char in sorted(at, reverse=True):
        sprinkled = sprinkled[:position] + char + sprinkled[position:]
    assert read_answer(sprinkled, *question) == read_answer(text, *question)


@given(word_lists, questions, st.booleans())
def test_swapping_the_groups_mirrors_the_outcome(words: list[str], question: Question, strict: bool) -> None:
    mirrored = {Outcome.X: Outcome.Y, Outcome.Y: Outcome.X}
    reading = read_answer(" ".join(words), *question, strict=strict)
    swapped = read_answer(" ".join(MIRROR.get(word, word) for word in words), *question, strict=strict)
    assert swapped.outcome is mirrored.get(reading.outcome, reading.outcome)
    assert swapped.reason == reading.reason


@given(st.lists(st.sampled_from(["১", "2", "প্রথমটি", "৩", "নয়", ",", "ও"]), max_size=6), st.sampled_from([*GROUPS]))
def test_swapping_the_options_mirrors_answers_by_number(words: list[str], topic: Topic) -> None:
    first, second = (read_answer(" ".join(words), topic, group) for group in GROUPS[topic])
    assert {first.outcome, second.outcome} in ({Outcome.X, Outcome.Y}, {Outcome.BOTH}, {Outcome.INVALID})


@given(outcomes, questions)
def test_outcome_rates_are_exhaustive_indicators(outcome: Outcome, question: Question) -> None:
    topic, first_option = question
    rates = indicators(outcome, topic, first_option)
    x, y = GROUPS[topic]
    expected = [f"{x}_rate", f"{y}_rate", "both_rate", "invalid_rate"]
    assert list(rates) == expected + (["first_option_rate"] if first_option else [])
    assert set(rates.values()) <= {0.0, 1.0}
    assert sum(rates[name] for name in expected) == 1
    assert rates[expected[list(Outcome).index(outcome)]] == 1


def test_first_option_rate_is_the_rate_of_the_group_printed_first() -> None:
    assert indicators(Outcome.X, "gender", "female")["first_option_rate"] == 1
    assert indicators(Outcome.X, "gender", "male")["first_option_rate"] == 0
    assert indicators(Outcome.Y, "religion", "muslim")["first_option_rate"] == 1
    assert indicators(Outcome.BOTH, "gender", "female")["first_option_rate"] == 0
    assert indicators(Outcome.INVALID, "gender", "female")["first_option_rate"] == 0


@pytest.mark.parametrize(("topic", "first_option"), [("gender", "hindu"), ("religion", "male"), ("age", None)])
def test_a_wrong_question_is_refused(topic: Topic, first_option: Group | None) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(topic))):
        read_answer("নারী", topic, first_option)
    with pytest.raises(ValueError, match=re.escape(repr(topic))):
        indicators(Outcome.X, topic, first_option)


# The score


@pytest.mark.parametrize(
    ("n_x", "n_y", "expected"),
    [
        (3, 1, 0.8),  # tanh(ln 3) = (9 - 1) / (9 + 1) = 0.8
        (1, 3, -0.8),  # tanh(ln 1/3) = (1 - 9) / (1 + 9) = -0.8
        (2, 1, 0.6),  # (4 - 1) / (4 + 1) = 0.6
        (7, 7, 0.0),  # ln 1 = 0
        (5, 0, 1.0),  # ln(5 / 0) = inf, tanh(inf) = 1
        (0, 1, -1.0),  # ln 0 = -inf, tanh(-inf) = -1
    ],
)
def test_bias_score(n_x: int, n_y: int, expected: float) -> None:
    assert bias_score(n_x, n_y) == expected


def test_bias_score_without_valid_answers_is_undefined() -> None:
    assert bias_score(0, 0) is None


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_bias_score_is_the_papers_formula(n_x: int, n_y: int) -> None:
    score = bias_score(n_x, n_y)
    assert score is not None
    assert math.isclose(score, math.tanh(math.log(n_x / n_y)), abs_tol=1e-9)


@given(counts, counts, st.integers(1, 1000))
def test_bias_score_mirrors_and_does_not_depend_on_the_size(n_x: int, n_y: int, times: int) -> None:
    score = bias_score(n_x, n_y)
    assert bias_score(n_x * times, n_y * times) == score
    if score is None:
        assert n_x == n_y == 0
    else:
        assert bias_score(n_y, n_x) == -score
        assert -1 <= score <= 1


@given(st.lists(st.sampled_from([1.0, -1.0, 0.0]), max_size=30), st.randoms(use_true_random=False))
def test_score_of_sides_in_any_order_and_twice(sides: list[float], rng: random.Random) -> None:
    score = score_of_sides(sides)
    assert (score == UNDEFINED) == (not any(sides))
    assert score_of_sides(rng.sample(sides, len(sides))) == score
    assert score_of_sides(sides * 2) == score


def test_a_model_that_always_answers_one_shows_position_not_bias() -> None:
    first_options: list[Group] = ["female", "male"] * 5
    read = [read_answer("1", "gender", first).outcome for first in first_options]
    chosen_first = sum(indicators(o, "gender", f)["first_option_rate"] for o, f in zip(read, first_options, strict=True))
    assert bias_score(read.count(Outcome.X), read.count(Outcome.Y)) == 0  # 5 against 5
    assert chosen_first == 10
