"""BanglaSocialBias prompts: read tolerantly, checked once, sorted into leaves.

Two kinds of files (Sadhu, Saha, Shahriyar 2024, arXiv 2407.03536): `template` prompts ask for a role word about a trait, an
occupation or both; `ebe` prompts offer two numbered options for a blank. A template row belongs to the leaf named by its
trait's category, by whether an occupation stands beside it, and by the trait's polarity: `personality_positive`,
`outlook_occupation_negative`, and `occupation` for an occupation alone.

The names of columns are matched without regard to case, spaces and underscores, because published versions differ.
"""

import csv
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lm_eval_tasks.data import DATA_KEY, DataError, Source, bangla_sample, locate_bangla
from lm_eval_tasks.metrics.roles import GROUPS, Group, Topic, first_named

Kind = str  # template or ebe
COLUMNS = {
    "template": {"prompt": ("prompt", "text"), "category": ("category",), "polarity": ("subcategory",), "trait": ("topic",)},
    "ebe": {"prompt": ("prompt", "text"), "first_option": ("firstoption",)},
}
CATEGORIES = {"personality", "outlook", "communal", "ideology"}
# The number before an option: "১.", "(2)", "Option 1:", "অপশন ২)".
_OPTION = re.compile(r"(?:option|অপশন|বিকল্প)?\s*(?<![\d০-৯])\(?[12১২]\s*[.)।:](?![\d০-৯])", re.IGNORECASE)
POLARITIES = {"positive": "positive", "negative": "negative", "": ""}


@dataclass(frozen=True)
class Prompt:
    """One prompt; `row` is its place in the file (the first is 0), `cluster` what it shares with prompts like it.

    `first_option` is the group that option 1, or the first of the two words, stands for; None where no order is known.
    """

    row: int
    prompt: str
    topic: Topic
    leaf: str
    category: str
    polarity: str
    trait: str
    first_option: Group | None
    cluster: str


@dataclass(frozen=True)
class PromptFile:
    """All prompts of one file in its order."""

    prompts: tuple[Prompt, ...]
    source: Source

    def record(self) -> dict[str, Any]:
        """What a results file says of the rows."""
        return {
            "data_origin": self.source.origin,
            "data_revision": self.source.revision,
            "data_file_sha256": self.source.sha256,
            "data_rows": len(self.prompts),
            "data_repeated_rows": len(self.prompts) - len({prompt.prompt for prompt in self.prompts}),
        }


def load_prompts(metadata: dict[str, Any], source: str, kind: Kind, topic: Topic) -> PromptFile:
    """The prompts of a run: of the shipped sample where `source` is sample, else of the file that the metadata names."""
    name = f"Prompts/{kind}_{topic}_prompts.csv"
    found = bangla_sample(name) if source == "sample" else locate_bangla(name, metadata.get(DATA_KEY))
    return read_prompts(found, kind, topic)


@lru_cache(maxsize=8)
def read_prompts(source: Source, kind: Kind, topic: Topic) -> PromptFile:
    """Read and check the file of `source`; raises DataError that names the file, the row and what was found."""
    name = source.path.name
    try:
        with source.path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns = _columns(name, list(reader.fieldnames or []), kind)
            read = _read_template if kind == "template" else _read_option
            prompts = [
                read(
                    f"{name} row {number} (the first is 0)",
                    number,
                    {key: row.get(c) or "" for key, c in columns.items()},
                    topic,
                )
                for number, row in enumerate(reader)
            ]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{name} is not UTF-8 CSV: {error}. Get the official file again.") from error
    if not prompts:
        raise DataError(f"{name} holds no prompts. Get the official file again.")
    return PromptFile(tuple(prompts), source)


def _columns(name: str, found: list[str], kind: Kind) -> dict[str, str]:
    by_plain_name = {re.sub(r"[\s_]", "", column).lower(): column for column in found}
    columns = {}
    for key, accepted in COLUMNS[kind].items():
        match = next((by_plain_name[one] for one in accepted if one in by_plain_name), None)
        if match is None:
            raise DataError(
                f"{name} has no column {' or '.join(accepted)}; its columns are {', '.join(map(repr, found)) or 'none'}. "
                "If the published file has changed its columns, please report it."
            )
        columns[key] = match
    return columns


def _read_template(where: str, number: int, row: dict[str, str], topic: Topic) -> Prompt:
    prompt = _text(where, row["prompt"])
    parts = [re.sub(r"based$", "", part.strip().lower()).strip() for part in row["category"].split("+")]
    traits = [part for part in parts if part != "occupation"]
    if len(traits) > 1 or not set(traits) <= CATEGORIES or not any(parts):
        known = ", ".join(f"{name.title()} Based" for name in sorted(CATEGORIES))
        raise DataError(
            f"{where}: category is {row['category']!r}, expected Occupation Based, one of {known}, or Occupation Based+<other>."
        )
    polarity = row["polarity"].strip().lower().removesuffix("trait").strip()
    if polarity not in POLARITIES or bool(polarity) != bool(traits):
        expected = "Positive trait or Negative trait" if traits else "nothing, since the prompt has an occupation only"
        raise DataError(f"{where}: subcategory is {row['polarity']!r}, expected {expected}.")
    category = traits[0] if traits else "occupation"
    leaf = "_".join(filter(None, (category, "occupation" if traits and "occupation" in parts else "", polarity)))
    trait = unicodedata.normalize("NFC", row["trait"].strip()) or str(number)
    return Prompt(number, prompt, topic, leaf, category, polarity, trait, first_named(prompt, topic), trait)


def _read_option(where: str, number: int, row: dict[str, str], topic: Topic) -> Prompt:
    prompt = _text(where, row["prompt"])
    first = next((group for group in GROUPS[topic] if group == row["first_option"].strip().lower()), None)
    if first is None:
        raise DataError(f"{where}: firstOption is {row['first_option']!r}, expected {' or '.join(GROUPS[topic])}.")
    options = _OPTION.split(prompt)[1:]
    printed = first_named(" ".join(options[-2:]), topic)
    if printed not in (None, first):
        raise DataError(
            f"{where}: firstOption is {first!r}, but the prompt's first option is {printed!r}. Is the column right?"
        )
    return Prompt(number, prompt, topic, "ebe", "", "", "", first, _without_order(prompt))


def _text(where: str, value: str) -> str:
    if not value.strip():
        raise DataError(f"{where}: the prompt is empty, expected text. Correct or delete the row.")
    return value


def _without_order(prompt: str) -> str:
    """A key that the two orders of a prompt's options share: what stands between its option numbers, sorted."""
    return "\n".join(sorted(filter(None, (part.strip(" \n,;।") for part in _OPTION.split(prompt)))))
