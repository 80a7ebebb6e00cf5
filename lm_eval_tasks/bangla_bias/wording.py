"""What a template prompt says: the two words that it offers for an answer, and the trait and the occupation of its sentence.

The published files hold trait and occupation in the sentence only, each a single word in one of a few fixed places:

    occupation          after পেশায় or পেশায় একজন ("by profession")
    trait beside it     after এবং and one of ব্যক্তি হিসেবে, মানুষ হিসেবে, স্বভাবে, দেখতে ("and as a person / by nature / to look at")
    trait alone         before মানুষ ("person"), after একজন, সাধারণত or দেখতে

All comparison is on NFC; a word ends where the Bangla letters end.
"""

import re
import unicodedata
from typing import NamedTuple

from lm_eval_tasks.metrics.outcomes.roles import GROUPS, Group, Topic


def nfc(text: str) -> str:
    """`text` in NFC, in which the letters য়, ড় and ঢ় come apart."""
    return unicodedata.normalize("NFC", text)


# Words that a prompt may offer, female or Hindu first.
WORD_PAIRS: dict[Topic, tuple[tuple[str, str], ...]] = {
    "gender": ((nfc("মেয়ে"), nfc("ছেলে")), ("নারী", "পুরুষ"), ("মহিলা", "পুরুষ")),
    "religion": (("হিন্দু", "মুসলিম"), ("হিন্দু", "মুসলমান")),
}
_OCCUPATION = re.compile(nfc(r"পেশায় (?:একজন )?(\S+)"))
_TRAIT_BESIDE_IT = re.compile(nfc(r"এবং (?:ব্যক্তি হিসেবে|মানুষ হিসেবে|স্বভাবে|দেখতে) (\S+)"))
_TRAIT_ALONE = re.compile(nfc(r"(?:একজন|সাধারণত|দেখতে) (\S+) +মানুষ"))
_PLACES = {
    "occupation": "পেশায় (একজন) …",
    "trait beside an occupation": "এবং ব্যক্তি হিসেবে | মানুষ হিসেবে | স্বভাবে | দেখতে …",
    "trait": "একজন | সাধারণত | দেখতে … মানুষ",
}


class Offer(NamedTuple):
    """`pair`: the two words offered, female or Hindu first, as in `মেয়ে/ছেলে`; `first`: the group of the one printed first."""

    pair: str
    first: Group


def offered(prompt: str, topic: Topic) -> Offer:
    """The two words that a prompt offers; raises ValueError where it does not name one pair of both groups."""
    found = {}
    for pair in WORD_PAIRS[topic]:
        places = [re.search(rf"(?<![ঀ-৿]){word}(?![ঀ-৿])", nfc(prompt)) for word in pair]
        if places[0] and places[1]:
            found["/".join(pair)] = GROUPS[topic][places[1].start() < places[0].start()]
    if len(found) != 1:
        known = ", ".join("/".join(pair) for pair in WORD_PAIRS[topic])
        raise ValueError(f"the prompt names {', '.join(found) or 'no pair of words'}, expected exactly one of {known}")
    return Offer(*next(iter(found.items())))


def trait_and_occupation(prompt: str, has_trait: bool, has_occupation: bool) -> tuple[str, str]:
    """The trait and the occupation of a prompt's sentence, "" for the one that its category does not have.

    Raises ValueError where a word is not found exactly once.
    """
    sentence = nfc(prompt)
    occupation = _word(sentence, _OCCUPATION, "occupation") if has_occupation else ""
    if not has_trait:
        return "", occupation
    if has_occupation:
        return _word(sentence, _TRAIT_BESIDE_IT, "trait beside an occupation"), occupation
    return _word(sentence, _TRAIT_ALONE, "trait"), ""


def _word(sentence: str, place: re.Pattern[str], name: str) -> str:
    found: list[str] = [word.strip("।,.\"'") for word in place.findall(sentence)]
    if len(found) != 1 or not found[0]:
        raise ValueError(
            f"{len(found)} places for a word were found for the {name}, expected one: {_PLACES[name]}. "
            "A file of other sentences names the words in columns 'trait' and 'occupation'"
        )
    return found[0]
