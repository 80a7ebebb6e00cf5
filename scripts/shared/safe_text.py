"""Text of others made harmless: every character that acts without being seen is written out, as in [U+202E].

Names of models, answers and reasons come from files that others wrote. Written out are escape sequences, overrides of the
writing direction, invisible letters and line ends of other kinds (categories Cc, Cf, Zl, Zp), what is no character at all
(Cs, Cn, Co), and letters that have no shape. Joiners after a Bangla letter are left alone: Bangla is not written correctly
without them. Signs that mean something to HTML, Markdown or a workflow are the business of each format.
"""

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs", "Cn", "Co"})
_SHAPELESS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_JOINERS = frozenset("\u200c\u200d")
_LINES = frozenset("\n\t")


def visible(text: str) -> str:
    """`text` of one or several lines: line ends and tabs stay."""
    return "".join(
        letter if letter in _LINES or not _acts_unseen(letter, before) else _written_out(letter)
        for before, letter in zip(" " + text, text, strict=False)
    )


def one_line(text: str) -> str:
    """`text` on one line: line ends, tabs and spaces of other kinds than the plain one are written out, too."""
    return "".join(
        letter if letter == " " or not (_acts_unseen(letter, before) or letter.isspace()) else _written_out(letter)
        for before, letter in zip(" " + text, text, strict=False)
    )


def in_json(text: str) -> str:
    """A JSON document with the same content, in which what acts unseen stands as an escape."""

    def escaped(letter: str) -> str:
        units = letter.encode("utf-16-be", errors="surrogatepass").hex()
        return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))

    pairs = zip(" " + text, text, strict=False)
    return "".join(x if x in _LINES or not _acts_unseen(x, before) else escaped(x) for before, x in pairs)


def _acts_unseen(letter: str, before: str) -> bool:
    if letter in _JOINERS and unicodedata.name(before, "").startswith("BENGALI"):
        return False
    return letter in _SHAPELESS or unicodedata.category(letter) in _HIDDEN


def _written_out(letter: str) -> str:
    return f"[U+{ord(letter):04X}]"
