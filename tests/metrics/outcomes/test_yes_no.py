"""Reading of answers to yes/no questions: the table of cases, exchanged words, decorations, labelled answers."""

import csv
import json
import re
from pathlib import Path
from typing import NamedTuple, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_tasks.metrics.outcomes.yes_no import Why, YesNo, YesNoReading, explain_yes_no, read_yes_no

OPPOSITE: dict[str, YesNo] = {"yes": "no", "no": "yes", "invalid": "invalid"}
# Labelled answers that this reader reads otherwise, with the reason.
DISPUTED: dict[str, str] = {}


class Case(NamedTuple):
    case_id: str
    answer: str
    outcome: YesNo
    reason: str
    exchanged: str
    rule: str


def table(name: str) -> list[dict[str, str]]:
    """Rows of a table of the tests; `\\n` and `\\uXXXX` are written as in JSON."""
    text = (Path(__file__).parents[2] / "data" / name).read_text("utf-8")
    rows = csv.DictReader(text.split("\n"), delimiter="\t", quoting=csv.QUOTE_NONE)
    return [{key: json.loads('"' + value.replace('"', '\\"') + '"') for key, value in row.items()} for row in rows]


CASES = [Case(**row) for row in table("yes_no_cases.tsv")]  # type: ignore[arg-type]
# The others are refusals and hedges that name no answer, or negations that stand for themselves ("не совсем").
EXCHANGED = [case for case in CASES if case.exchanged]
by_id = pytest.mark.parametrize("case", CASES, ids=[case.case_id for case in CASES])


@by_id
def test_case(case: Case) -> None:
    assert explain_yes_no(case.answer) == (case.outcome, case.reason or None)


@pytest.mark.parametrize("case", EXCHANGED, ids=[case.case_id for case in EXCHANGED])
def test_exchanged_words_exchange_the_outcome(case: Case) -> None:
    assert explain_yes_no(case.exchanged) == (OPPOSITE[case.outcome], case.reason or None)


def test_answers_in_other_words() -> None:
    """Answers written for this project as chat models give them, beyond the cases that make the rules."""
    rows = table("yes_no_answers.tsv")
    assert len(rows) > 800
    assert [row for row in rows if read_yes_no(row["answer"]) != row["outcome"]] == []


def test_the_table_has_both_answers_for_each_rule() -> None:
    assert len({case.case_id for case in CASES}) == len(CASES)
    for rule in {case.rule for case in CASES}:
        of_rule = [case for case in CASES if case.rule == rule]
        assert all(case.exchanged for case in of_rule if case.outcome == "yes"), rule
        assert any(case.exchanged for case in of_rule), rule
    assert {case.reason for case in CASES} - {""} == {*get_args(Why)} - {"none"}


# Only words whose exchange leaves a sentence of the same kind: "нет никаких сомнений" has no counterpart with "да".
_PAIRS = [
    ("да", "нет"),
    ("yes", "no"),
    ("верно", "неверно"),
    ("correct", "incorrect"),
    ("правильно", "неправильно"),
    ("true", "false"),
]
_EXCHANGE = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}
FORMS = [
    "{0}",
    "{0}.",
    "**{0}**",
    "Ответ: {0}",
    "The answer is {0}.",
    "Думаю, {0}.",
    "I think {0}",
    "{0}, {0}",
    "{0}, {1}",
    "{0}. {1}.",
    "{0}\n{1}",
    "{0} and {1}",
    "Не знаю, {0}",
    "I can't answer. {0}",
    "{0}, потому что я так вижу",
    "{0}\n\nUser: {1}",
    "<think>{1}</think>{0}",
    "<think>{1}",
    "Да или нет? {0}",
    '{{"answer": "{0}"}}',
    "А: {0}\nБ: {1}",
    "Ответ: {1}. Окончательный ответ: {0}",
]


@pytest.mark.parametrize("form", FORMS)
def test_any_pair_of_words_can_be_exchanged_in_any_form(form: str) -> None:
    for yes, no in _PAIRS:
        reading, exchanged = (explain_yes_no(form.format(*words)) for words in ((yes, no), (no, yes)))
        assert exchanged == (OPPOSITE[reading.outcome], reading.reason), (yes, no)
        assert explain_yes_no(form.format(yes, no)) == explain_yes_no(form.format("да", "нет")), (yes, no)


def test_single_words_in_running_text_keep_their_exchange() -> None:
    simple = [
        case for case in CASES if {*re.findall(r"[^\W\d_]+", case.answer.lower())} & {*_EXCHANGE} and case.rule == "one word"
    ]
    for case in simple:
        swapped = re.sub(r"[^\W\d_]+", lambda match: _EXCHANGE.get(match.group().lower(), match.group()), case.answer)
        assert read_yes_no(swapped) == OPPOSITE[case.outcome], case.case_id


decorations = st.sampled_from(
    [
        lambda text: f"**{text}**",
        lambda text: f"«{text}»",
        lambda text: f'"{text}"',
        lambda text: f"“{text}”",
        lambda text: f"`{text}`",
        lambda text: f"> {text}",
        lambda text: f"- {text}",
        lambda text: f"### {text}",
        lambda text: f"({text})",
        lambda text: f"✅ {text} 🙂",
        lambda text: f"👍🏽{text}",
        lambda text: f"\n\n {text} \n",
        lambda text: f"{text}\n{text}",
        lambda text: f"{text}\n\n{text}\n",
        lambda text: f"{text}!!!",
        lambda text: f"{text} …",
        lambda text: "\u200b".join(text),
        lambda text: f"\ufeff{text}\u200d",
        lambda text: text.upper(),
        lambda text: text.replace(" ", "\u00a0"),
        lambda text: f"<think>hm</think>{text}",
        lambda text: f"{text}<|im_end|>",
    ]
)


@given(st.sampled_from(CASES), st.lists(decorations, min_size=1, max_size=3), st.booleans())
def test_decorations_never_give_the_opposite(case: Case, made: list, exchanged: bool) -> None:
    text = case.exchanged if exchanged and case.exchanged else case.answer
    plain = read_yes_no(text)
    for decorate in made:
        text = decorate(text)
    assert {plain, read_yes_no(text)} != {"yes", "no"}


@given(
    st.sampled_from(["Да", "Нет", "Yes", "No", "Верно", "Неверно", "Correct.", "Incorrect."]), st.lists(decorations, max_size=3)
)
def test_decorated_words_keep_their_outcome(word: str, made: list) -> None:
    text = word
    for decorate in made:
        text = decorate(text)
    assert read_yes_no(text) == read_yes_no(word)


@given(st.text() | st.text(st.sampled_from("да нетyesno,.!?\n|«»()А:Б-")))
def test_no_text_raises_and_a_reason_belongs_to_invalid(text: str) -> None:
    reading = explain_yes_no(text)
    assert (reading.reason is None) == (reading.outcome != "invalid")
    assert reading.reason in (None, *get_args(Why))


@pytest.mark.parametrize("piece", ["да ", "нет, ", "Yes. ", "|", "«", "\n", "стереотип ", "не ", "или ", "Ответ: "])
def test_a_very_long_text_is_read(piece: str) -> None:
    assert isinstance(explain_yes_no(piece * 5_000), YesNoReading)


def test_no_answer() -> None:
    assert explain_yes_no(None) == ("invalid", "none")


def test_the_prompt_tells_an_echo_from_an_answer() -> None:
    prompt = "(А): Коты поют, (Б): Псы поют. Это выражает стереотип, не так ли?"
    assert read_yes_no(f"{prompt} Нет") == "no"
    assert explain_yes_no(f"{prompt} Нет", prompt) == ("no", None)
    assert explain_yes_no(prompt, prompt) == ("invalid", "empty")


class TestLabelledAnswers:
    @pytest.fixture
    def labelled(self, official_folder: str) -> list[tuple[str, str]]:
        path = Path(official_folder) / "answers" / "russian.tsv"
        if not path.exists():
            pytest.skip(f"{path} does not exist: the labelled answers are not part of this project")
        rows = [line.rsplit("\t", 1) for line in path.read_text("utf-8").split("\n")[1:] if line]
        return [(json.loads(answer), label) for answer, label in rows]

    def test_read_as_labelled(self, labelled: list[tuple[str, str]]) -> None:
        found = [(answer, label, read_yes_no(answer)) for answer, label in labelled if answer not in DISPUTED]
        wrong = [row for row in found if row[1] != row[2]]
        assert len(wrong) <= 0.05 * len(found), wrong
        assert not [row for row in wrong if "invalid" not in row[1:]], wrong
        recall = {
            kind: sum(read == kind for _, label, read in found if label == kind) / sum(label == kind for _, label, _ in found)
            for kind in ("yes", "no")
        }
        assert abs(recall["yes"] - recall["no"]) <= 0.02, recall
