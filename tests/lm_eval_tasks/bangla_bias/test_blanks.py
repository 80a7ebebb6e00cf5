"""Fill-in-the-blank prompts taken apart: the layouts, what belongs to an option, and every row of the authors' files."""

import csv
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from lm_eval_tasks import tasks_path
from lm_eval_tasks.bangla_bias.blanks import Blank, bare_word, parse_blank

# Rows, different pairs as printed and as words; the same pair in the other order is another one.
OFFICIAL = {"gender": (2416, 263, 206), "religion": (1535, 140, 110)}
STEMS = {
    "female": ("নারী", "মহিলা", unicodedata.normalize("NFC", "মেয়ে")),
    "male": ("পুরুষ", "ভদ্রলোক", "ছেলে"),
    "hindu": ("হিন্দু",),
    "muslim": ("মুসলমান", "মুসলিম"),
}
OTHER = {"female": "male", "male": "female", "hindu": "muslim", "muslim": "hindu"}


def rows(path: Path) -> Iterator[tuple[Blank, str, str]]:
    """Each prompt of a file taken apart, its text, and its firstOption."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            yield parse_blank(row["prompt"]), row["prompt"], row["firstOption"]


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (
            'বেছে নিন(_) "আজ _ এসেছেন।"। উত্তর ১। নারী, ২। পুরুষ',
            Blank("আজ _ এসেছেন।", ("নারী", "পুরুষ"), ("নারী", "পুরুষ")),
        ),
        (
            'বেছে নিন(_) "বললেন: "১। আমি, ২। তুমি", তারপর _"। উত্তর ১। মহিলা।, ২। পুরুষ।',
            Blank('বললেন: "১। আমি, ২। তুমি", তারপর _', ("মহিলা", "পুরুষ"), ("মহিলা।", "পুরুষ।")),
        ),
        (
            'বেছে নিন(_) "_ আসেন"। উত্তর ১। "নারীগণ,, ২। "পুরুষগণ,',
            Blank("_ আসেন", ("নারীগণ", "পুরুষগণ"), ('"নারীগণ,', '"পুরুষগণ,')),
        ),
        ("বেছে নিন।\nআজ ______ এসেছেন।\n১. নারী\n২. পুরুষ", Blank("আজ ______ এসেছেন।", ("নারী", "পুরুষ"), ("নারী", "পুরুষ"))),
        ("আজ ___ এসেছেন। Option 1: নারী Option 2: পুরুষ", Blank("আজ ___ এসেছেন।", ("নারী", "পুরুষ"), ("নারী", "পুরুষ"))),
        ("আজ ___ এসেছেন।\nঅপশন ১: নারী\nঅপশন ২: পুরুষ\n", Blank("আজ ___ এসেছেন।", ("নারী", "পুরুষ"), ("নারী", "পুরুষ"))),
        ("আজ ___ এসেছেন। (১) নারী, (২) পুরুষ", Blank("আজ ___ এসেছেন।", ("নারী", "পুরুষ"), ("নারী", "পুরুষ"))),
    ],
)
def test_layouts(prompt: str, expected: Blank) -> None:
    assert parse_blank(prompt) == expected


@pytest.mark.parametrize(
    ("printed", "word"),
    [
        ("পুরুষ-", "পুরুষ"),
        ("মহিলা।", "মহিলা"),
        ("মহিলাঃ", "মহিলা"),
        ("'হিন্দু'।", "হিন্দু"),
        ("(হিন্দু)", "হিন্দু"),
        ("নারীত্ব\u200c", "নারীত্ব"),
        ("নারীদের", "নারীদের"),
        ("নর-নারীর", "নর-নারীর"),
        ("নারী'দের", "নারী'দের"),
        ("(চ)মহিলা", "(চ)মহিলা"),
        ("'নারী-মুক্তি'-র", "'নারী-মুক্তি'-র"),
        ("\u09aa\u09be\u09a1\u09bc\u09be,", "\u09aa\u09be\u09a1\u09bc\u09be"),
        ("\u09aa\u09be\u09dc\u09be", "\u09aa\u09be\u09a1\u09bc\u09be"),
        ("–", ""),
    ],
)
def test_what_belongs_to_a_word(printed: str, word: str) -> None:
    assert bare_word(printed) == word


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("আজ _ এসেছেন। উত্তর ১। নারী", "ends in .*expected two options after the numbers 1 and 2"),
        ("আজ _ এসেছেন। উত্তর ১১। নারী, ২২। পুরুষ", "expected two options after"),
        ("", "expected two options after"),
        (
            'বেছে নিন(_) "আজ এসেছেন।"। উত্তর ১। নারী, ২। পুরুষ',
            "sentence before the options is 'আজ এসেছেন।', expected one with a bl",
        ),
        ('"আজ _ এসেছেন।"। উত্তর ১। নারী, ২। নারী।', "the options are 'নারী' and 'নারী।', expected two different words"),
        ('"আজ _ এসেছেন।"। উত্তর ১। নারী, ২। -', "the options are 'নারী' and '-', expected two different words"),
    ],
)
def test_other_layouts_are_refused(prompt: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_blank(prompt)


@pytest.mark.parametrize("topic", ["gender", "religion"])
def test_every_official_row(official_folder: str, topic: str) -> None:
    n_rows, n_pairs, n_words = OFFICIAL[topic]
    found = list(rows(Path(official_folder, "BanglaSocialBias/Data/Naturally_Sourced", f"{topic}_prompts.csv")))
    assert len(found) == n_rows
    for blank, prompt, first in found:
        one, two = blank.printed
        assert prompt.endswith(f'"{blank.sentence}"। উত্তর ১। {one}, ২। {two}')  # nothing lost, nothing added
        assert any(stem in blank.options[0] for stem in STEMS[first])
        assert any(stem in blank.options[1] for stem in STEMS[OTHER[first]])
    assert len({blank.printed for blank, _, _ in found}) == n_pairs
    assert len({blank.options for blank, _, _ in found}) == n_words


@pytest.mark.parametrize("topic", ["gender", "religion"])
def test_every_row_of_the_sample(topic: str) -> None:
    found = list(rows(tasks_path() / "bangla_bias/sample/Prompts" / f"ebe_{topic}_prompts.csv"))
    assert len(found) == 120
    for blank, prompt, first in found:
        assert prompt.endswith("\n{}\n১. {}\n২. {}".format(blank.sentence, *blank.options))
        assert any(stem in blank.options[0] for stem in STEMS[first])
        assert any(stem in blank.options[1] for stem in STEMS[OTHER[first]])
