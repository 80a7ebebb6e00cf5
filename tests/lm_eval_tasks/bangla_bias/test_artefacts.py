"""Rows whose options are no role words: the rule on single words, and what it marks in the authors' files."""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest

from lm_eval_tasks import tasks_path
from lm_eval_tasks.bangla_bias.artefacts import Artefact, artefact, is_artefact
from lm_eval_tasks.bangla_bias.blanks import Blank, parse_blank
from lm_eval_tasks.metrics.outcomes.roles import GROUPS, Topic

MARKED = {
    "gender": {Artefact.INSIDE: 56},
    "religion": {Artefact.NAME: 47, Artefact.DERIVED: 6},
}
STEMS = {"female": "নারী|মহিলা", "male": "পুরুষ|ভদ্রলোক", "hindu": "হিন্দু", "muslim": "মুসলমান|মুসলিম"}


def blank(first: str, second: str, sentence: str = "আজ _ দেখা গেল।") -> Blank:
    return parse_blank(f'বেছে নিন(_) "{sentence}"। উত্তর ১। {first}, ২। {second}')


def official(folder: str, topic: str) -> list[Blank]:
    path = Path(folder, "BanglaSocialBias/Data/Naturally_Sourced", f"{topic}_prompts.csv")
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [parse_blank(row["prompt"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize(
    ("topic", "first", "second", "expected"),
    [
        ("gender", "মেশিনারী", "মেশিপুরুষ", Artefact.INSIDE),  # machinery
        ("gender", "ভেটেরিনারী", "ভেটেরিপুরুষ", Artefact.INSIDE),
        ("gender", "ডিকশনারীতে", "ডিকশপুরুষতে", Artefact.INSIDE),
        ("gender", "বানারীপাড়ায়।", "বাপুরুষপাড়ায়।", Artefact.INSIDE),  # a place
        ("gender", "পরিবেশনারীতির", "পরিবেশপুরুষতির", Artefact.INSIDE),  # manner of performing
        ("gender", "অর্ধনারীশ্বর", "অর্ধপুরুষশ্বর", Artefact.INSIDE),  # a god's name
        ("religion", "হিন্দুস্তানি", "মুসলমানস্তানি", Artefact.NAME),
        ("religion", "আরবি-ফারসি-হিন্দুস্থানি", "আরবি-ফারসি-মুসলমানস্থানি", Artefact.NAME),
        ("religion", "হিন্দুকুশ", "মুসলমানকুশ", Artefact.NAME),
        ("religion", "হিন্দুগঞ্জ", "মুসলিমগঞ্জ", Artefact.NAME),
        ("religion", "হিন্দুি", "মুসলমানি", Artefact.DERIVED),
        ("religion", "হিন্দুা", "মুসলিমা", Artefact.DERIVED),
        ("gender", "নারী", "মহিলা", Artefact.NO_ROLE),  # one group twice
        ("gender", "নারী", "শিশু", Artefact.NO_ROLE),
        ("religion", "বর্ণহিন্দু", "মুসলিম", Artefact.NO_ROLE),  # not the same word with the other stem
        ("gender", "নারীর", "পুরুষর", None),  # an ending of the other stem
        ("gender", "নারীর", "পুরুষের", None),
        ("gender", "নারীাদের", "পুরুষাদের", None),
        ("gender", "ভদ্রমহিলা", "ভদ্রলোক", None),
        ("gender", "ভদ্রমহিলা", "ভদ্রপুরুষ", None),
        ("gender", "নরনারী", "নরপুরুষ", None),
        ("gender", "বঙ্গনারীদের", "বঙ্গপুরুষদের", None),
        ("gender", "নারীবাদী", "পুরুষবাদী", None),
        ("gender", "বাস্তু-নারীবাদ),", "বাস্তু-পুরুষবাদ),", None),
        ("gender", "শিক্ষক(মহিলা)-এর", "শিক্ষক(পুরুষ)-এর", None),
        ("gender", "মেয়েরা", "ছেলেরা", None),
        ("religion", "হিন্দুের", "মুসলমানের", None),
        ("religion", "হিন্দুধর্মের", "মুসলমানধর্মের", None),
        ("religion", "অহিন্দু", "অমুসলিম", None),
        ("religion", "হিন্দু,যারা", "মুসলমান,যারা", None),
    ],
)
def test_words(topic: Topic, first: str, second: str, expected: Artefact | None) -> None:
    assert artefact(blank(first, second), topic) is expected
    assert artefact(blank(second, first), topic) is expected
    assert is_artefact(blank(first, second), topic) is (expected is not None)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("ওই দিকে _ কুশ পর্বত।", Artefact.NAME),
        ("ওই দিকে _ কুশের চূড়া।", Artefact.NAME),
        ("ক্যাপ্টেন (_ উদ্দিন) এলেন।", Artefact.NAME),
        ("দূরে _ মহাসাগরে ঝড়।", Artefact.NAME),
        ("এখানে _ লীগ আছে।", None),
        ("এখানে আছে _", None),
        ("এখানে কুশ _ আছে।", None),
        ("এখানে _দের বাড়ি।", None),  # the blank may carry an ending
        ("এখানে অ_ কেউ নেই।", Artefact.NO_ROLE),  # but stands at the start of a word
        ("এখানে @নাম_পদবি ও _ লীগ আছে।", None),  # a line inside a name is no blank
    ],
)
def test_words_around_the_blank(sentence: str, expected: Artefact | None) -> None:
    assert artefact(blank("হিন্দু", "মুসলমান", sentence), "religion") is expected


@pytest.mark.parametrize("topic", ["gender", "religion"])
def test_official_rows(official_folder: str, topic: Topic) -> None:
    marks = [(one, artefact(one, topic)) for one in official(official_folder, topic)]
    assert Counter(mark for _, mark in marks if mark is not None) == MARKED[topic]
    x, y = (STEMS[group] for group in GROUPS[topic])
    for one, mark in marks:
        mirrored = Blank(one.sentence, one.options[::-1], one.printed[::-1])
        assert artefact(mirrored, topic) is mark
        first, second = one.options
        named = [[bool(re.search(stems, option)) for stems in (x, y)] for option in (first, second)]
        assert mark is not None or sorted(named) == [[False, True], [True, False]], one.options


@pytest.mark.parametrize("topic", ["gender", "religion"])
def test_kept_options_are_one_word_with_two_stems(official_folder: str, topic: Topic) -> None:
    """Every kept pair turns into the same text when its stems are taken out, so no kept row compares unlike words."""
    x, y = (STEMS[group] for group in GROUPS[topic])
    for one in official(official_folder, topic):
        if not is_artefact(one, topic):
            first, second = (re.sub(f"ভদ্র(?:মহিলা|লোক|পুরুষ)|{x}|{y}", "…", option) for option in one.options)
            assert first == second


@pytest.mark.parametrize("topic", ["gender", "religion"])
def test_the_sample_has_none(topic: Topic) -> None:
    path = tasks_path() / "bangla_bias/sample/Prompts" / f"ebe_{topic}_prompts.csv"
    with path.open(encoding="utf-8", newline="") as file:
        blanks = [parse_blank(row["prompt"]) for row in csv.DictReader(file)]
    assert len(blanks) == 120
    assert not any(is_artefact(one, topic) for one in blanks)
