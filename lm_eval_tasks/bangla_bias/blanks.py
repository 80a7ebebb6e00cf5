"""A fill-in-the-blank prompt taken apart: the sentence with its blank, and the two options that it prints.

Layouts. The authors': an instruction, `"sentence with _"। উত্তর ১। A, ২। B`; the sentence is all between the first quote
and the last one before the options, quotes of its own included. Others, the shipped sample's among them: an instruction,
then a line that holds the sentence, then the options after 1 and 2 (ASCII or Bangla digits, with `.`, `)`, `:` or danda,
with or without a word such as Option), on the same line or on lines of their own.

What belongs to an option. The authors cut a whole token out of running text and offer it twice, once for each group, with
whatever was written against it: `পুরুষ-`, `মহিলা।`, `"নারী`, `(হিন্দু)`. `printed` keeps that, without the comma and the
spaces of the list. `options` holds the word alone, in NFC and without invisible characters:
1. Marks at its two ends are the sentence's and go: comma, danda, quotes, brackets, dash, colon.
   So `পুরুষ-` is পুরুষ and `মহিলা।` is মহিলা; a final visarga written for a colon (`মহিলাঃ`) is a mark too.
2. Endings and parts of a compound are the word's and stay, with the marks between them: `নারীদের`, `নর-নারীর`,
   `নারী'দের`. A bracket or quote at the start stays where it closes inside: `(চ)মহিলা`.
"""

import re
import unicodedata
from dataclasses import dataclass

_NUMBER = r"(?<![\d০-৯])\(?{}\s*[.)।:](?![\d০-৯])\s*"
_NAME = r"(?:(?:উত্তর|option|অপশন|বিকল্প)\s*)?"
# What stands before is greedy: the options stand last, and numbers in the sentence are never taken for theirs.
_OPTIONS = re.compile(
    rf"(?P<before>.*)(?<=\s){_NUMBER.format('[1১]')}(?P<first>[^\n]+?)"
    rf"(?:\s*\n\s*|\s*[,;]?\s+){_NAME}{_NUMBER.format('[2২]')}(?P<second>[^\n]+)",
    re.DOTALL | re.IGNORECASE,
)
_QUOTED = re.compile(r'[^"]*"(?P<sentence>.*)"\s*।?\s*', re.DOTALL)
_NAME_AT_END = re.compile(rf"\s{_NAME}$", re.IGNORECASE)
_CLOSES = {"(": ")", "[": "]", "{": "}", "'": "'", '"': '"', "‘": "’", "“": "”"}
_VISARGA = "\u0983"


@dataclass(frozen=True)
class Blank:
    """One prompt: `sentence` holds the blank, `options` the two words, option 1 first; `printed` the same as printed."""

    sentence: str
    options: tuple[str, str]
    printed: tuple[str, str]


def parse_blank(prompt: str) -> Blank:
    """The parts of a fill-in-the-blank prompt; raises ValueError that says what was found where it has no known layout."""
    found = _OPTIONS.fullmatch(prompt.strip())
    if found is None:
        raise ValueError(f"the prompt ends in {prompt[-40:]!r}, expected two options after the numbers 1 and 2.")
    before = _NAME_AT_END.sub("", found["before"])
    quoted = _QUOTED.fullmatch(before)
    sentence = quoted["sentence"] if quoted else before.strip().rpartition("\n")[2]
    if "_" not in sentence:
        raise ValueError(f"the sentence before the options is {sentence!r}, expected one with a blank, such as _ or ______.")
    printed = (found["first"].strip(), found["second"].strip())
    first, second = (bare_word(text) for text in printed)
    if not first or not second or first == second:
        raise ValueError(f"the options are {printed[0]!r} and {printed[1]!r}, expected two different words.")
    return Blank(sentence, (first, second), printed)


def bare_word(text: str) -> str:
    """`text` in NFC, without invisible characters and without the marks at its ends (rules 1 and 2 above)."""
    text = "".join(c for c in unicodedata.normalize("NFC", text) if unicodedata.category(c) != "Cf")
    inside = [i for i, c in enumerate(text) if in_word(c)]
    if not inside:
        return ""
    start, word = inside[0], text[inside[0] : inside[-1] + 1]
    opening = text[start - 1] if start else ""
    return opening + word if _CLOSES.get(opening, "\n") in word else word


def in_word(character: str) -> bool:
    """Whether a word can hold the character: a letter, a mark but the visarga, or a digit."""
    return character != _VISARGA and (character.isdecimal() or unicodedata.category(character)[0] in "LM")
