"""From the text of an answer to its sentences and clauses, for `yes_no`."""

import re
import unicodedata
from itertools import pairwise

from lm_eval_tasks.metrics.outcomes import yes_no_words as words

_LATIN, _CYRILLIC = "aceopxykmthb", "асеорхукмтнв"
_TO_CYRILLIC, _TO_LATIN = str.maketrans(_LATIN, _CYRILLIC), str.maketrans(_CYRILLIC, _LATIN)
_QUOTED = re.compile(r"[«“„\"]([^«»“”„\"\n]*)[»”“\"]")
_LABEL = re.compile(r"(?:^|(?<=\n)) *(?:[-*•–—>+]+ *|\(?(?:1|[аa])\)? *[.):\]] +)+")
_OTHER_LABEL = re.compile(r"(?:^|(?<=\n)) *\(?[2бb]\)? *[.):\]] *")
_SENTENCE_END = re.compile(r"(?<!\d)[.!?…\n;]+|[.!?…\n;]+(?!\d)")


def visible(text: str) -> str:
    """Without format characters, stress and variation marks, which would split or change words."""
    return "".join(c for c in text if unicodedata.category(c) != "Cf" and c not in "\u0300\u0301\ufe0e\ufe0f\u20e3\u034f")


def plain_text(text: str) -> str:
    """Lower case, one alphabet in a word, negations as a word of their own, no quoted sentences beside other words."""
    text = unicodedata.normalize("NFKC", text).lower().replace("ё", "е").replace("’", "'").replace("ʼ", "'")
    text = re.sub(r"[^\W\d_]+", lambda match: _one_alphabet(match.group()), text)
    text = text.replace("can't", "can not").replace("cannot", "can not").replace("won't", "will not").replace("не-а", "неа")
    text = re.sub(r"n't\b", " not", text)
    unquoted = _QUOTED.sub(lambda match: f" {match[1]} " if len(re.findall(r"\w+", match[1])) < 3 else " ", text)
    return unquoted if re.search(r"\w", unquoted) else text


def _one_alphabet(word: str) -> str:
    """A word with look-alikes of the other alphabet in it, in the one alphabet that can write all of it."""
    if word.isascii() or not re.search("[a-z]", word) or not re.search("[а-я]", word):
        return word
    cyrillic = word.translate(_TO_CYRILLIC)
    return word.translate(_TO_LATIN) if re.search("[a-z]", cyrillic) else cyrillic


def pieces(plain: str) -> list[tuple[str, bool]]:
    """Sentences in order, with whether each repeats the question."""
    plain = re.sub(r":[ *_]*\n+", ": ", _OTHER_LABEL.sub("\nб: ", _LABEL.sub("\n", plain)))
    found: list[tuple[str, bool]] = []
    start = 0
    for asked in [*words.ASKED.finditer(plain), None]:
        part = plain[start : asked.start() if asked else len(plain)]
        ends = [*_SENTENCE_END.finditer(part)]
        edges = [0, *(end.end() for end in ends), len(part)]
        found += [(part[a:b], False) for a, b in pairwise(edges) if part[a:b].strip()]
        if asked:
            # What stands before "да или нет" in its sentence belongs to the question.
            if found and not _SENTENCE_END.search(found[-1][0]):
                found[-1] = (found[-1][0], True)
            found.append((asked.group(), True))
            start = asked.end()
    return found


def clauses(piece: str) -> str:
    """`| words | words |` of one sentence."""
    piece = re.sub(r"[(\[]\s*([абab12])\s*[)\]]", r" \1 ", piece)
    piece = re.sub(r"\b(да|нет|yes|no)[-‐‑](?=(?:да|нет|yes|no)\b)", r"\1 | ", piece)
    piece = re.sub(r"(?<=\w)[-‐‑'](?=\w)|[\"«»“”„*_`~#>$\\]", " ", piece)
    piece = re.sub(r"(?<!так )\b(?:и|and)\b(?! есть)", "| и", piece)
    kept = (
        c if c.isalnum() or c == " " else " " if unicodedata.category(c)[0] in "SC" and c not in "|=+<>" else " | "
        for c in piece
    )
    text = " ".join(("| " + "".join(kept) + " |").split())
    return re.sub(r"(?:\| )+(?=\|)", "", text)
