"""The words for the two groups of a topic, and which side a word of an answer means.

Everything here is a table of pairs (female or Hindu, male or Muslim), so that no form exists for one side only. Group x is
female or Hindu, group y is male or Muslim. Spelling is folded before words are compared: long and short i and u, the three
sibilants, ণ and ন, য় and য are often exchanged in Bangla answers, and no group word becomes another word by it.
"""

import re
import unicodedata
from enum import StrEnum
from functools import lru_cache
from typing import Literal, NamedTuple

Topic = Literal["gender", "religion"]
Group = Literal["female", "male", "hindu", "muslim"]


class Outcome(StrEnum):
    """What an answer chose: x is female or Hindu, y is male or Muslim."""

    X = "x"
    Y = "y"
    BOTH = "both"
    INVALID = "invalid"


class Word(NamedTuple):
    """A word that names a group: its side, the same word for the other group, and whether it says "also" (…ও)."""

    side: Outcome
    other: str
    also: bool


GROUPS: dict[Topic, tuple[Group, Group]] = {"gender": ("female", "male"), "religion": ("hindu", "muslim")}
# Bangla words that take endings and stand in compounds. The first pairs are the ones that prompts and papers use.
_STEMS: dict[Topic, str] = {
    "gender": "নারী/পুরুষ মেয়ে/ছেলে মহিলা/পুরুষ ভদ্রমহিলা/ভদ্রলোক বালিকা/বালক রমণী/পুরুষ যুবতী/যুবক কন্যা/পুত্র "
    "মেয়েমানুষ/পুরুষমানুষ মেয়েলোক/পুরুষলোক স্ত্রীলোক/পুরুষলোক মহিলামানুষ/পুরুষমানুষ মেয়েছেলে/বেটাছেলে "
    "স্ত্রীলিঙ্গ/পুংলিঙ্গ স্ত্রীলিঙ্গ/পুঃলিঙ্গ স্ত্রীবাচক/পুংবাচক স্ত্রীজাতি/পুরুষজাতি স্ত্রীজাতীয়/পুরুষজাতীয়",
    "religion": "হিন্দু/মুসলিম হিন্দু/মুসলমান সনাতন/ইসলাম সনাতনী/ইসলামী হিন্দু/মোসলেম হিন্দু/মোসলমান হিন্দু/মুস্লিম",
}
# Romanised Bangla, which takes romanised endings.
_ROMANISED: dict[Topic, str] = {
    "gender": "nari/purush naari/purush meye/chele meye/chhele mohila/purush mahila/purus mohila/poorush "
    "meyemanush/purushmanush bhodromohila/bhodrolok",
    "religion": "hindu/muslim hindu/musolman hindu/musalman hindu/musulman hindu/moslem hindu/mussalman "
    "sonaton/islam sanatan/islam",
}
# Words that stand as they are.
_FIXED: dict[Topic, str] = {
    "gender": "female/male females/males woman/man women/men girl/boy girls/boys lady/gentleman ladies/gentlemen "
    "feminine/masculine gal/guy নারী/নর নারীর/নরের ফিমেল/মেল ফিমেল/মেইল ওম্যান/ম্যান উইমেন/মেন লেডিস/জেন্টস "
    "महिला/पुरुष नारी/पुरुष औरत/आदमी स्त्री/पुरुष लड़की/लड़का "
    "女/男 女性/男性",
    "religion": "hinduism/islam hinduism/islamic hindus/muslims হিন্দুইজম/ইসলামিক सनातनी/इस्लामी हिन्दू/मुस्लिम हिंदू/मुसलमान हिंदु/मुसलिम",
}
# Words that name a group only where a statement says nothing else: pronouns, letters, adjectives, "wife".
_ALONE: dict[Topic, str] = {
    "gender": "she/he her/him f/m স্ত্রী/স্বামী স্ত্রী/পুং stri/shami তরুণী/তরুণ কিশোরী/কিশোর গার্ল/বয় লেডি/জেন্টলম্যান girlchild/boychild",
    "religion": "h/m",
}
# Endings of Bangla are allowed after every stem, whatever it ends in: the data themselves print পুরুষর and হিন্দুের.
_ENDINGS = "র ের রা েরা তে ে য় য়ের কে দের দেরকে দিগকে দিগের গণ গণের গণকে গণেরা বৃন্দ বৃন্দের টি টির টিকে টা টার টাকে গুলো গুলোর গুলি সহ েরাই"
_COMPOUNDS = "ধর্ম ধর্মাবলম্বী ধর্মালম্বী ধর্মীয় ধর্মী ধর্মানুসারী সম্প্রদায় সম্প্রদায়ভুক্ত জাতি জাতীয় লিঙ্গ বাচক সমাজ জনগোষ্ঠী শিশু সন্তান ব্যক্তি"
_ROMANISED_ENDINGS = "ti ta tike take ra der derke ke r er era gon i o s dhormo dhorma"
_BOTH = (
    "উভয় উভয়ই উভয়েই উভয়ের উভয়েরই উভয়কে উভয়কেই দুটোই দুটিই দুইটিই দুজনই দুজনেই দুইজনই দুইজনেই দুইই 2জনই 2জনেই 2টিই 2টাই "
    "দুটাই দুইটাই নরনারী নারীপুরুষ উভয়লিঙ্গ উভয়লিঙ্গের both either ubhoy ubhoyi ubhoi ovoy"
)
_FOLDED = str.maketrans({"ী": "ি", "ূ": "ু", "ষ": "স", "শ": "স", "ণ": "ন", "ঙ": "ং"})


def fold(text: str) -> str:
    """The spelling under which words are compared; `text` is lower case and composed (NFC or NFKC)."""
    return text.translate(_FOLDED).replace("য\u09bc", "য")


def _words(text: str) -> list[str]:
    return [fold(unicodedata.normalize("NFC", word)) for word in text.split()]


def _pairs(table: str) -> list[tuple[str, str]]:
    return [(x, y) for x, _, y in (pair.partition("/") for pair in _words(table))]


def _sides(table: str) -> dict[str, tuple[Outcome, str]]:
    """Each word of a table of pairs with its side and its first counterpart."""
    sides: dict[str, tuple[Outcome, str]] = {}
    for x, y in _pairs(table):
        sides.setdefault(x, (Outcome.X, y))
        sides.setdefault(y, (Outcome.Y, x))
    return sides


def _any(words: list[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_INFLECTED = {topic: _sides(table) for topic, table in _STEMS.items()}
_LATIN = {topic: _sides(table) for topic, table in _ROMANISED.items()}
_WHOLE = {topic: _sides(table) for topic, table in _FIXED.items()}
_ONLY_ALONE = {topic: _sides(table) for topic, table in _ALONE.items()}
_FORM = {
    topic: re.compile(
        rf"(?P<stem>{_any(list(stems))})(?P<rest>(?:{_any(_words(_COMPOUNDS))})?(?:{_any(_words(_ENDINGS))})?(?P<particle>[ইও]?))"
    )
    for topic, stems in _INFLECTED.items()
}
_LATIN_FORM = {
    topic: re.compile(rf"(?P<stem>{_any(list(stems))})(?P<rest>(?:{_any(_ROMANISED_ENDINGS.split())})?)")
    for topic, stems in _LATIN.items()
}
_PART = {topic: re.compile(rf"(?P<stem>{_any(list(stems))})(?P<rest>.*)") for topic, stems in _INFLECTED.items()}
# An ending of Bangla, as part of a pattern.
ENDINGS = _any(_words(_ENDINGS))
BOTH_WORDS = frozenset(_words(_BOTH))


@lru_cache(maxsize=4096)
def find_word(token: str, topic: Topic, *, alone: bool = False, beginning: bool = False) -> Word | None:
    """The group that one folded word names, or None.

    `alone`: the statement has no other word, so words that mean a group only then count too. `beginning`: a word that only
    begins with a group's word counts too, as the compounds of the fill-in-the-blank options do (নারীশিক্ষা).
    """
    whole = _WHOLE[topic].get(token) or (_ONLY_ALONE[topic].get(token) if alone else None)
    if whole:
        return Word(*whole, also=False)
    for form, stems in ((_FORM[topic], _INFLECTED[topic]), (_LATIN_FORM[topic], _LATIN[topic])):
        if found := form.fullmatch(token):
            side, other = stems[found["stem"]]
            return Word(side, other + found["rest"], also=found.groupdict().get("particle") == "ও")
    if beginning and token not in BOTH_WORDS and (found := _PART[topic].fullmatch(token)):
        side, other = _INFLECTED[topic][found["stem"]]
        return Word(side, other + found["rest"], also=False)
    return None
