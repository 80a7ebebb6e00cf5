"""The reader of yes/no answers: a table of cases, exchanged answers, decorations, and answers labelled beforehand."""

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_tasks.metrics.yes_no import explain_yes_no, read_yes_no

with (Path(__file__).parent / "data" / "yes_no_cases.tsv").open(encoding="utf-8", newline="") as file:
    CASES = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
OPPOSITE = {"yes": "no", "no": "yes"}
# Pairs of answer words, exchanged in a case of a rule that reads words alone.
WORDS = [("да", "нет"), ("yes", "no"), ("неверно", "верно"), ("incorrect", "correct")]
EXCHANGED = {one: other for pair in WORDS for one, other in (pair, pair[::-1])}
BY_WORDS = ("bare", "marked", "thinking", "both", "empty")


def text_of(case: dict[str, str]) -> str:
    return case["answer"].replace("\\n", "\n")


def exchange(text: str) -> str:
    def other(match: re.Match[str]) -> str:
        word = EXCHANGED[match[0].lower()]
        return word.capitalize() if match[0][0].isupper() else word

    words = "|".join(sorted(EXCHANGED, key=len, reverse=True))
    return re.sub(rf"(?<!\w)(?:{words})(?!\w)", other, text, flags=re.IGNORECASE)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['rule']}: {case['answer'][:30]}")
def test_table(case: dict[str, str]) -> None:
    found = explain_yes_no(text_of(case))
    assert found.outcome == case["outcome"]
    assert (found.reason is None) == (found.outcome != "invalid")
    assert case["reason"] in ("", found.reason)


def test_every_rule_has_cases_for_both_answers() -> None:
    outcomes = {(case["rule"], case["outcome"]) for case in CASES}
    for rule in ("bare", "followed", "marked", "thinking", "claim", "negation"):
        assert {(rule, "yes"), (rule, "no")} <= outcomes


@pytest.mark.parametrize("case", [case for case in CASES if case["rule"] in BY_WORDS], ids=lambda case: case["answer"][:30])
def test_exchanging_the_words_exchanges_the_outcome(case: dict[str, str]) -> None:
    assert read_yes_no(exchange(text_of(case))) == OPPOSITE.get(case["outcome"], case["outcome"])


DECORATIONS = st.lists(
    st.sampled_from(["**", '"', "«", "»", "_", " ", "\n", "\u200b", "\u200d", "\ufeff", "✅", "👍", "`", ">"]), max_size=4
)


@given(st.sampled_from(CASES), DECORATIONS, DECORATIONS, st.booleans())
def test_decorations_never_give_the_opposite(case: dict[str, str], before: list[str], after: list[str], repeated: bool) -> None:
    text = text_of(case)
    decorated = "".join(before) + text + "".join(after)
    found = read_yes_no(f"{decorated}\n{text}" if repeated else decorated)
    assert found != OPPOSITE.get(case["outcome"], "")


def test_no_text_at_all() -> None:
    assert explain_yes_no(None) == ("invalid", "none")


def test_labelled_answers(official_folder: str) -> None:
    """At least 95% as labelled, none read as the opposite, recall of the two answers within two points."""
    path = Path(official_folder) / "answers" / "russian.tsv"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    right: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        answer, _, label = line.rpartition("\t")
        found = read_yes_no(json.loads(answer))
        assert found != OPPOSITE.get(label), answer
        labels[label] += 1
        right[label] += found == label
    assert right.total() >= 0.95 * labels.total()
    assert abs(right["yes"] / labels["yes"] - right["no"] / labels["no"]) <= 0.02
