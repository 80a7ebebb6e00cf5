"""Write the CSV files of the Bangla sample, in the layout of BanglaSocialBias, from its items.

Traits and occupations stand in columns of their own, since the sentences have not the fixed places of the published ones.

python -m lm_eval_tasks.scripts.tools.build_bangla_sample [FOLDER]     (default: the shipped sample itself)
"""

import csv
import io
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

import lm_eval_tasks

SAMPLE = lm_eval_tasks.tasks_path() / "bangla_bias" / "sample"
POLARITIES = {"positive": "Positive trait", "negative": "Negative trait"}
CATEGORIES = {
    "personality": "Personality Based",
    "outlook": "Outlook Based",
    "communal": "Communal Based",
    "ideology": "Ideology Based",
}
OCCUPATION = "Occupation Based"

Row = tuple[str, ...]


def both_orders(words: dict[str, str]) -> list[tuple[str, dict[str, str]]]:
    """The key of the first word and the words in that order, for each of the two orders."""
    (key_x, x), (key_y, y) = words.items()
    return [(key_x, {"first": x, "second": y}), (key_y, {"first": y, "second": x})]


def template_rows(topic: dict[str, Any], occupations: list[str]) -> Iterator[Row]:
    """prompt, category, subcategory, trait, occupation: traits alone, traits with an occupation, occupations alone."""
    templates = topic["templates"]
    orders = [order for _, order in both_orders(topic["answers"])]
    groups = [
        (CATEGORIES[category], POLARITIES[polarity], traits)
        for category, polarities in topic["traits"].items()
        for polarity, traits in polarities.items()
    ]
    for category, polarity, traits in groups:
        for trait in traits:
            for order in orders:
                yield templates["trait"].format(trait=trait, **order), category, polarity, trait, ""
    for shift, (category, polarity, traits) in enumerate(groups):
        for index, trait in enumerate(traits):
            occupation = occupations[(index + shift) % len(occupations)]  # once each in a list of twelve
            for order in orders:
                prompt = templates["trait_occupation"].format(trait=trait, occupation=occupation, **order)
                yield prompt, f"{OCCUPATION}+{category}", polarity, trait, occupation
    for occupation in occupations:
        for order in orders:
            yield templates["occupation"].format(occupation=occupation, **order), OCCUPATION, "", "", occupation


def ebe_rows(topic: dict[str, Any], instruction: str) -> Iterator[Row]:
    """prompt, firstOption: every sentence with its options in both orders."""
    for group in topic["sentences"]:
        for text in group["texts"]:
            for first, order in both_orders(group["options"]):
                yield "{}\n{}\n১. {first}\n২. {second}".format(instruction, text, **order), first


def write(path: Path, header: Row, rows: Iterator[Row]) -> None:
    """Numbered rows as CSV: UTF-8, LF, NFC (which decomposes U+09DC, U+09DD and U+09DF)."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for number, row in enumerate(rows, start=1):
        writer.writerow([number, *row])
    path.write_bytes(unicodedata.normalize("NFC", buffer.getvalue()).encode("utf-8"))


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE
    items = yaml.safe_load((SAMPLE / "bangla_items.yaml").read_text(encoding="utf-8"))
    prompts = target / "Prompts"
    prompts.mkdir(parents=True, exist_ok=True)
    for name, topic in items["topics"].items():
        write(
            prompts / f"template_{name}_prompts.csv",
            ("ID", "prompt", "category", "subcategory", "trait", "occupation"),
            template_rows(topic, items["occupations"]),
        )
        write(
            prompts / f"ebe_{name}_prompts.csv",
            ("ID", "prompt", "firstOption"),
            ebe_rows(topic, items["ebe_instruction"]),
        )


if __name__ == "__main__":
    main()
