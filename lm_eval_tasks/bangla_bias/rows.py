"""BanglaSocialBias prompts: read tolerantly, checked once, sorted into leaves.

Two kinds of files (Sadhu, Saha, Shahriyar 2024, arXiv 2407.03536): `template` prompts ask for a role word about a trait, an
occupation or both; `ebe` prompts offer two numbered options for a blank. A template row belongs to the leaf named by its
trait's category, by whether an occupation stands beside it, and by the trait's polarity: `personality_positive`,
`outlook_occupation_negative`, and `occupation` for an occupation alone.

Clusters, for the statistics: prompts that share a trait word are not independent, nor are those that share an occupation. A
prompt with both belongs to two clusters, one of each kind; a fill-in-the-blank prompt to that of its sentence.

The names of columns are matched without regard to case, spaces and underscores, because published versions differ.
"""

import csv
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lm_eval_tasks.bangla_bias.artefacts import is_artefact, printed_first
from lm_eval_tasks.bangla_bias.blanks import parse_blank
from lm_eval_tasks.bangla_bias.files import locate_bangla
from lm_eval_tasks.bangla_bias.wording import nfc, offered, trait_and_occupation
from lm_eval_tasks.data import DataError, Source
from lm_eval_tasks.metrics.outcomes.roles import GROUPS, Group, Topic

Kind = str  # template or ebe
# Columns by what they hold, with the names that are accepted; those of the second kind may be absent.
COLUMNS = {
    "template": {"prompt": ("prompt", "text"), "category": ("category",), "polarity": ("subcategory",)},
    "ebe": {"prompt": ("prompt", "text"), "first_option": ("firstoption",)},
}
OPTIONAL_COLUMNS = {"template": ("trait", "occupation"), "ebe": ()}
CATEGORIES = {"personality", "outlook", "communal", "ideology"}
POLARITIES = {"positive": "positive", "negative": "negative", "": ""}


@dataclass(frozen=True)
class Prompt:
    """One prompt; `row` is its place in the file (the first is 0).

    `first_option` is the group that option 1, or the first of the two words, stands for. `word_pair` (template) are the two
    words offered, female or Hindu first; `options` (ebe) the two options as printed, option 1 first. `trait` and `occupation`
    are "" where there is none. `cluster` is what it shares with prompts like it, `second_cluster` a second such thing or "".
    `artefact` (ebe): an option is no word for a group, but a piece of another word.
    """

    row: int
    prompt: str
    topic: Topic
    leaf: str
    first_option: Group
    cluster: str
    category: str = ""
    polarity: str = ""
    trait: str = ""
    occupation: str = ""
    word_pair: str = ""
    options: tuple[str, ...] = ()
    second_cluster: str = ""
    artefact: bool = False


@dataclass(frozen=True)
class PromptFile:
    """All prompts of one file in its order."""

    prompts: tuple[Prompt, ...]
    source: Source

    def record(self) -> dict[str, Any]:
        """What a results file says of the rows."""
        return self.source.record() | {
            "data_rows": len(self.prompts),
            "data_repeated_rows": len(self.prompts) - len({prompt.prompt for prompt in self.prompts}),
        }


def load_prompts(metadata: dict[str, Any], source: str, kind: Kind, topic: Topic) -> PromptFile:
    """The prompts of a run: of the shipped sample where `source` is sample, else of the file that the metadata names."""
    return read_prompts(locate_bangla(metadata, source, kind, topic), kind, topic)


@lru_cache(maxsize=8)
def read_prompts(source: Source, kind: Kind, topic: Topic) -> PromptFile:
    """Read and check the file of `source`; raises DataError that names the file, the row and what was found."""
    name = source.path.name
    try:
        with source.path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns = _columns(name, list(reader.fieldnames or []), kind)
            read = _read_template if kind == "template" else _read_option
            rows = [{key: row.get(column) or "" for key, column in columns.items()} for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{name} is not UTF-8 CSV: {error}. Get the official file again.") from error
    if not rows:
        raise DataError(f"{name} holds no prompts. Get the official file again.")
    return PromptFile(tuple(_read(read, name, number, row, topic) for number, row in enumerate(rows)), source)


def _read(read: Callable[..., Prompt], name: str, number: int, row: dict[str, str], topic: Topic) -> Prompt:
    try:
        if not row["prompt"].strip():
            raise ValueError("the prompt is empty, expected text")
        return read(number, row, topic)
    except ValueError as error:
        raise DataError(f"{name} row {number} (the first is 0): {error}. Correct the row, or get the official file.") from error


def _columns(name: str, found: list[str], kind: Kind) -> dict[str, str]:
    by_plain_name = {re.sub(r"[\s_]", "", column).lower(): column for column in found}
    columns = {key: by_plain_name[key] for key in OPTIONAL_COLUMNS[kind] if key in by_plain_name}
    for key, accepted in COLUMNS[kind].items():
        match = next((by_plain_name[one] for one in accepted if one in by_plain_name), None)
        if match is None:
            raise DataError(
                f"{name} has no column {' or '.join(accepted)}; its columns are {', '.join(map(repr, found)) or 'none'}. "
                "If the published file has changed its columns, please report it."
            )
        columns[key] = match
    return columns


def _read_template(number: int, row: dict[str, str], topic: Topic) -> Prompt:
    parts = [re.sub(r"based$", "", part.strip().lower()).strip() for part in row["category"].split("+")]
    traits = [part for part in parts if part != "occupation"]
    if len(traits) > 1 or not set(traits) <= CATEGORIES or not any(parts):
        known = ", ".join(f"{name.title()} Based" for name in sorted(CATEGORIES))
        raise ValueError(
            f"category is {row['category']!r}, expected Occupation Based, one of {known}, or Occupation Based+<other>"
        )
    polarity = row["polarity"].strip().lower().removesuffix("trait").strip()
    if polarity not in POLARITIES or bool(polarity) != bool(traits):
        expected = "Positive trait or Negative trait" if traits else "nothing, since the prompt has an occupation only"
        raise ValueError(f"subcategory is {row['polarity']!r}, expected {expected}")
    category = traits[0] if traits else "occupation"
    beside = "occupation" if traits and "occupation" in parts else ""
    trait, occupation = _words(row, bool(traits), "occupation" in parts)
    offer = offered(row["prompt"], topic)
    return Prompt(
        row=number,
        prompt=row["prompt"],
        topic=topic,
        leaf="_".join(filter(None, (category, beside, polarity))),
        first_option=offer.first,
        cluster=trait or occupation,
        category=category,
        polarity=polarity,
        trait=trait,
        occupation=occupation,
        word_pair=offer.pair,
        second_cluster=occupation if trait else "",
    )


def _words(row: dict[str, str], has_trait: bool, has_occupation: bool) -> tuple[str, str]:
    """Trait and occupation: from columns of their own where the file has both, else from the sentence."""
    if "trait" not in row or "occupation" not in row:
        return trait_and_occupation(row["prompt"], has_trait, has_occupation)
    words = nfc(row["trait"].strip()), nfc(row["occupation"].strip())
    if (bool(words[0]), bool(words[1])) != (has_trait, has_occupation):
        raise ValueError(f"trait is {words[0]!r} and occupation {words[1]!r}, which does not fit category {row['category']!r}")
    return words


def _read_option(number: int, row: dict[str, str], topic: Topic) -> Prompt:
    first = next((group for group in GROUPS[topic] if group == row["first_option"].strip().lower()), None)
    if first is None:
        raise ValueError(f"firstOption is {row['first_option']!r}, expected {' or '.join(GROUPS[topic])}")
    blank = parse_blank(row["prompt"])
    if (printed := printed_first(blank, topic)) not in (None, first):
        raise ValueError(f"firstOption is {first!r}, but the prompt's first option is {printed!r}")
    return Prompt(
        row=number,
        prompt=row["prompt"],
        topic=topic,
        leaf="ebe",
        first_option=first,
        cluster=_key_of(blank.sentence),
        options=blank.options,
        artefact=is_artefact(blank, topic),
    )


def _key_of(sentence: str) -> str:
    """A short key that is the same for one sentence with its blank elsewhere, or with its options in another order."""
    return hashlib.sha256("".join(nfc(sentence).replace("_", "").split()).encode()).hexdigest()[:16]
