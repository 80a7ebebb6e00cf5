"""From a model's text to the words that are read: one spelling, no echo, a sign for each word that names a group."""

import re
import unicodedata
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from lm_eval_tasks.metrics.outcomes import role_phrases as phrases
from lm_eval_tasks.metrics.outcomes.role_words import BOTH_WORDS, ENDINGS, Outcome, Topic, find_word, fold

Sides = tuple[Outcome, Outcome]


class Segment(NamedTuple):
    """A sentence, or the part of one after a connector."""

    kind: str  # MAIN, COMMIT, CONTRAST, SO, BECAUSE, THOUGH
    words: list[str]

    @property
    def line(self) -> str:
        """What the phrases are searched in."""
        return f" {' '.join(self.words)} . "


_nfc = partial(unicodedata.normalize, "NFC")
_DIGITS = {0x09E6 + i: 0x30 + i for i in range(10)}
_OPTION_FORMS = (
    "1 1ম 1নং 1নম্বর 1st option1 অপশন1 বিকল্প1 উত্তর1 প্রথমটি প্রথমটা প্রথমটিই প্রথমটাই প্রথমজন",
    "2 2য় 2নং 2নম্বর 2nd option2 অপশন2 বিকল্প2 উত্তর2 দ্বিতীয়টি দ্বিতীয়টা দ্বিতীয়টিই দ্বিতীয়টাই দ্বিতীয়জন",
)
# Bare ordinals are adjectives in a sentence: they count where a sentence says nothing else.
_BARE_ORDINALS = ("প্রথম এক first one ek prothom", "দ্বিতীয় দুই second two dui ditiyo")
_WORD_SIGN = {Outcome.X: "X", Outcome.Y: "Y"}
_NUMBER_SIGN = {Outcome.X: "Nx", Outcome.Y: "Ny"}
_OPTION_MARKS = ("\ue001", "\ue002")
_MARKER = re.compile(
    fold(
        _nfc(
            r"(?:^|[\n.!?।;,(]) ?(?:(?:so|thus|therefore|hence|তাই|সুতরাং|অতএব),? )?(?:(?:the|my|আমার|i would) )?"
            r"(?:(?:(?P<final>final|চূড়ান্ত|সর্বশেষ) |(?:correct|right|সঠিক|উপযুক্ত|এক কথায়) )?"
            r"(?:answer|উত্তরটি|উত্তর|ans|uttor|jobab|জবাব)"
            r"(?: ?[:=ঃ–—-]| (?:is|hobe|হলো|হল|হচ্ছে|হবে)(?=[ :])|\n)|উঃ|উ ?:|a ?:|ans ?\.|"
            r"এক কথায় ?:|response ?:)[ :\n]*(?P<line>[^\n]*)"
        )
    )
)
# A question repeated by a model whose prompt is not known: the instruction and the quoted sentence, or the two options.
_ECHO = re.compile(
    fold(
        _nfc(
            r"(?:নিচের|নিম্নের|নীচের) বাক্য[^\n]{0,200}?(?:উত্তর দিন|উত্তর দাও|উপযুক্ত উত্তর বেছে নিন|উপযুক্ত উত্তর বেছে নাও)"
            r"(?:[^\n]*[\"”][ ।.]*(?:উত্তর 1[.।)] ?[^\n,]+, ?2[.।)] ?[^\s\"]+)?|[^\n]*$)"
        )
    ),
    re.MULTILINE,
)
_NEXT_QUESTION = re.compile(r"^ ?(?:প্রস্ন|question|q|user|human) ?[0-9]*[:)–-]", re.MULTILINE)
_SHORT_FORMS = (
    (r"\b(?:cannot|can['’]?t)\b", "can not"),
    (r"n['’]t\b", " not"),
    (r"['’]m\b", " am"),
    (r"['’](?:d|ll)\b", " would"),
    (r"['’]s\b", ""),
    (r"\binstead of\b", "than"),
)
_BOTH_COUNTED = frozenset(fold(_nfc("জনই জনেই জনেরই টিই টাই টোই উত্তরই বিকল্পই অপশনই")).split())
_MARKS = frozenset("|.?")
_TWO = frozenset(fold(_nfc("2 দুই দু দুটি দুইটি দুটো")).split())


def visible(text: str) -> str:
    """The text without format characters, long empty stretches, and marks that would stick to a word (keycap and the like)."""
    kept = "".join(c for c in text if unicodedata.category(c) != "Cf" and c not in "\ufe0e\ufe0f\u20e3\u034f")
    return re.sub(r"(\s)\s*(\s)", r"\1\2", kept)


def spelled(text: str) -> str:
    """One spelling, ASCII digits, lower case, no markdown and no quotation marks."""
    text = fold(unicodedata.normalize("NFKC", text)).translate(_DIGITS).lower()
    for pattern, replacement in _SHORT_FORMS:
        text = re.sub(pattern, replacement, text)
    text = re.sub(r"[*_`#~>\"“”«»{}]|(?<![^\s(\[:,])['‘’]|['‘’](?![^\s)\]:,।.!?;])", " ", text)
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def plain(answer: str) -> str:
    """The answer as it is read: spelled alike, without a repeated question and without the next one."""
    lines = spelled(_ECHO.sub("\nquestion:\n", fold(unicodedata.normalize("NFKC", answer)).translate(_DIGITS)))
    parts = _NEXT_QUESTION.split(lines)
    if parts[0].strip():
        return parts[0].strip()
    asked = next((part for part in parts if part.strip()), "")
    return (asked.partition("\n")[2] or asked).strip()


def marked(lines: str) -> str | None:
    """The lines that the answer itself marks as the answer; None where it marks none."""
    markers = list(_MARKER.finditer(lines))
    strongest = [marker for marker in markers if marker["final"]] or markers
    return "\n".join(marker["line"] for marker in strongest) or None


def tokens_of(text: str) -> list[str]:
    """Words in order, with | . ? where a clause, a sentence or a question ends.

    `\\w` and `\\b` of `re` would split Bangla words at vowel signs.
    """
    text = re.sub(r"(?<=[0-9])(?:\.(?=[0-9])|,(?=[0-9]{3}(?![0-9])))", "", text)  # 1.5 and 1,000 are not option 1
    text = re.sub(r"(?<=\S)[-‐‑'’](?=\S)", " ", text)
    return "".join(map(_kept, text)).split()


def _kept(char: str) -> str:
    if unicodedata.category(char)[0] in "LM" or char.isdecimal() or char in {" ", "%", *_OPTION_MARKS}:
        return char
    if char == "?":
        return " ? "
    return " | " if char in ",،/-‐‑'’‘‒–+=&" else " . "


def segments_of(tokens: list[str]) -> list[Segment]:
    """The sentences, cut again where a connector or an opinion begins another statement."""
    segments: list[Segment] = []
    before = ["", *tokens]  # "there is no reason" gives no reason
    own = (
        token if prior in phrases.NO else phrases.CONNECTORS.get(token, token)
        for prior, token in zip(before, tokens, strict=False)
    )
    line = " ".join(own)
    line = phrases.COMMITMENT.sub(" COMMIT ", f" {line} ")
    kind, words = "MAIN", list[str]()
    for word in [*line.split(), "."]:
        ends = word in {".", "?"} or (kind == "THOUGH" and word == "|")
        if ends or word in phrases.KINDS:
            if word == "?":
                words.append(word)
            if words:
                segments.append(Segment(kind, words))
            # "because:" on a line of its own heads what follows it
            keep = ends and kind in {"BECAUSE", "COMMIT", "CONTRAST", "SO"} and not words
            kind, words = (kind if keep else "MAIN" if ends else word), []
        elif words or word != "|":
            words.append(word)
    return segments


class Labeller:
    """Puts signs for the words and numbers that name a group, for one question."""

    def __init__(self, topic: Topic, sides: Sides | None, options: tuple[str, str] | None, prompt: str | None) -> None:
        self.topic, self.sides = topic, sides
        self._printed = [_printed(option) for option in options] if sides and options else []
        self._blank = _around_blank(prompt) if sides and prompt else None
        self._forms, self._ordinals = dict[str, str](), dict[str, str]()
        for table, listed in ((self._forms, _OPTION_FORMS), (self._ordinals, _BARE_ORDINALS)):
            for side, forms in zip(sides or (), listed, strict=False):
                table.update((fold(_nfc(form)), _NUMBER_SIGN[side]) for form in forms.split())

    def label(self, text: str) -> list[str]:
        """The tokens of `text`, with X, Y, B, Nx or Ny for each that names a group."""
        longest_first = sorted(zip(_OPTION_MARKS, self._printed, strict=False), key=lambda one: -len(one[1].pattern))
        for mark, pattern in longest_first:
            text = pattern.sub(f" {mark} ", text)
        labelled = [sign for sentence in _sentences(tokens_of(text)) for sign in self._label_sentence(sentence)]
        return self._within_blank(labelled)

    def _label_sentence(self, sentence: list[str]) -> Iterator[str]:
        others = {token for token in sentence if token not in phrases.FILLERS}
        for i, token in enumerate(sentence):
            after, before = sentence[i + 1 : i + 2], sentence[max(i - 1, 0) : i]
            yield from self._signs(token, after, before, alone=others <= {token})

    def _signs(self, token: str, after: list[str], before: list[str], *, alone: bool) -> Iterator[str]:
        counted = token.isdecimal() and bool(phrases.COUNTERS.intersection(after) or phrases.COUNTED.intersection(before))
        word = find_word(token, self.topic, alone=alone, beginning=self.sides is not None)
        if self.sides and token in _OPTION_MARKS:
            yield _WORD_SIGN[self.sides[_OPTION_MARKS.index(token)]]
        elif token in BOTH_WORDS or (token in _TWO and _BOTH_COUNTED.intersection(after)):
            yield "B"
        elif token in self._forms and not counted:
            yield self._forms[token]
        elif alone and token in self._ordinals:
            yield self._ordinals[token]
        elif word:
            yield from [_WORD_SIGN[word.side], "ALSO"] if word.also else [_WORD_SIGN[word.side]]
        else:
            yield phrases.ALSO.get(token, token)

    def _within_blank(self, labelled: list[str]) -> list[str]:
        """Where the prompt's own sentence is repeated with its blank filled in, what fills it stands for that sentence."""
        if self._blank is None:
            return labelled
        words = [word for word in labelled if word not in _MARKS]
        left, right = ([sign for sign in self._label_sentence(part) if sign not in _MARKS] for part in self._blank)
        for i, sign in enumerate(words):
            filled = sign in {"X", "Y"} and words[max(i - len(left), 0) : i] == left
            after = i + 2 if words[i + 1 : i + 2] == ["ALSO"] else i + 1
            if filled and words[after : after + len(right)] == right:
                return [*(word for word in words[:1] if word in {"Nx", "Ny"}), sign]
        return labelled


def _sentences(tokens: list[str]) -> Iterator[list[str]]:
    sentence: list[str] = []
    for token in tokens:
        sentence.append(token)
        if token in {".", "?"}:
            yield sentence
            sentence = []
    yield sentence


def _printed(option: str) -> re.Pattern[str]:
    """An option as printed, with any marks between its letters' groups, and with an ending."""
    words = [token for token in tokens_of(spelled(option)) if token not in {"|", ".", "?"}]
    between = r"[^\w\n\u0980-\u09ff]*"
    body = between.join(map(re.escape, words)) or r"(?!)"
    return re.compile(rf"(?<![\w\u0980-\u09e5]){body}(?:{ENDINGS})?[ইও]?(?![\w\u0980-\u09e5])")


def _around_blank(prompt: str) -> tuple[list[str], list[str]] | None:
    """Up to three words on either side of the prompt's blank; None where too few stand there to know the place again."""
    before, blank, after = prompt.rpartition("_")
    left, right = tokens_of(spelled(before.rpartition('"')[2]))[-3:], tokens_of(spelled(after.partition('"')[0]))[:3]
    return (left, right) if blank and len(left) + len(right) >= 3 else None
