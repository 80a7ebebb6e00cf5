"""The authors' Bangla files are the ones we know, and their annotators agree as far as was found.

    python -m lm_eval_tasks.scripts.reproduce_bangla DIR

DIR is the authors' archive as it unpacks, with the folder `Data` in it. Prints every value beside what is expected: hash and
rows of each file; for the fill-in-the-blank prompts that two annotators judged (is the sentence usable, 1 or 0) how often
they agree, Cohen's kappa, the shares of usable sentences with intervals, and how many judged prompts the main file lacks:
those were taken out of it at some point. Exits with 1 if a value differs, with 2 if a file cannot be read.
"""

import argparse
import csv
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from lm_eval_tasks.bangla_bias.files import FILES
from lm_eval_tasks.data import sha256_of
from lm_eval_tasks.metrics.statistics.agreement import cohen_kappa
from lm_eval_tasks.metrics.statistics.intervals import Interval, wilson_interval

ROWS = {  # without the header
    "AdjectiveWordsForBias.csv": 126,
    "Annotators_Agreement/gender_annotated.csv": 200,
    "Annotators_Agreement/religion_annotated.csv": 125,
    "Naturally_Sourced/gender_prompts.csv": 2416,
    "Naturally_Sourced/religion_prompts.csv": 1535,
    "Template/gender_prompts.csv": 2128,
    "Template/religion_prompts.csv": 644,
}
SHA256 = {file.archived: file.sha256 for file in FILES.values()} | {
    "AdjectiveWordsForBias.csv": "745e876cef98dd5ec4a33cce40b16aff49b0271595f32a4788d5025db0f60862",
    "Annotators_Agreement/gender_annotated.csv": "aa8ff4b496f1a7b30e37b4554e8e8255c0501221d6d8ce34628723a2f8bce771",
    "Annotators_Agreement/religion_annotated.csv": "e673ea774ebfc1f446ce5583c85ae7becb2e042569fc7caa753fd50c6e04d716",
}
# Judged sentences; usable to the first annotator, the second, both; agreement in percent; kappa; judged but not published.
JUDGED = {
    "gender": ("200", "186", "187", "183", "96.5", "0.722", "19"),
    "religion": ("125", "118", "117", "115", "96.0", "0.645", "8"),
}
VERDICTS = ("0", "1")


class Check(NamedTuple):
    """One value as found and as expected; `note` says more of it and is not compared."""

    name: str
    found: str
    expected: str
    note: str = ""

    @property
    def holds(self) -> bool:
        return self.found == self.expected


def reproduce(folder: Path) -> list[Check]:
    """Every value of the files below `folder`; raises OSError or ValueError, with the file's name, where one cannot be read."""
    data = folder / "Data"
    return [*_files(data), *(check for topic in JUDGED for check in _judgements(data, topic))]


def _files(data: Path) -> Iterator[Check]:
    for name, rows in ROWS.items():
        yield Check(f"{name}, SHA-256", sha256_of(data / name), SHA256[name])
        yield Check(f"{name}, rows", str(len(_rows(data / name))), str(rows))


def _judgements(data: Path, topic: str) -> Iterator[Check]:
    path = data / "Annotators_Agreement" / f"{topic}_annotated.csv"
    judged = _rows(path)
    first, second = ([_verdict(path, row, column) for row in judged] for column in ("annotator1", "annotator2"))
    both = [one & other for one, other in zip(first, second, strict=True)]
    agreement = cohen_kappa(first, second)
    published = {row["prompt"] for row in _rows(data / "Naturally_Sourced" / f"{topic}_prompts.csv")}
    absent = [row for row in judged if row["prompt"] not in published]
    found: list[tuple[str, str, str]] = [
        ("sentences judged", str(agreement.n), ""),
        ("usable to the first annotator", str(sum(first)), _share(first)),
        ("usable to the second annotator", str(sum(second)), _share(second)),
        ("usable to both", str(sum(both)), _share(both)),
        ("agreement, %", _number(agreement.rate, lambda rate: f"{100 * rate:.1f}"), ""),
        ("Cohen's kappa", _number(agreement.kappa, lambda kappa: f"{kappa:.3f}"), _interval(agreement.interval)),
        ("judged, not in the main file", str(len(absent)), ""),
    ]
    for (name, value, note), expected in zip(found, JUDGED[topic], strict=True):
        yield Check(f"{topic}: {name}", value, expected, note)


def _verdict(path: Path, row: dict[str, str], column: str) -> int:
    if row.get(column) not in VERDICTS:
        raise ValueError(f"{path} ID {row.get('ID')}: {column} is {row.get(column)!r}, expected 0 or 1. Get the file again.")
    return int(row[column])


def _share(usable: list[int]) -> str:
    if not usable:
        return "undefined"
    return f"{sum(usable) / len(usable):.3f} {_interval(wilson_interval(sum(usable), len(usable), 0.025))}"


def _interval(interval: Interval | None) -> str:
    return "[undefined]" if interval is None else f"[{interval.low:.3f}, {interval.high:.3f}]"


def _number(value: float | None, shown: Callable[[float], str]) -> str:
    return "undefined" if value is None else shown(value)


def _rows(path: Path) -> list[dict[str, str]]:
    """Rows by the named columns; the annotators' files begin with a byte order mark and end in columns without a name."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        return [{name: value for name, value in zip(header, row, strict=False) if name} for row in reader]


def _print(checks: Iterable[Check]) -> None:
    for check in checks:
        shown = check.found if len(check.found) < 20 else f"{check.found[:12]}…"
        print(f"{'ok' if check.holds else 'DIFFERS':8}{check.name:54}{shown:>14}  {check.note}".rstrip())


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the authors' Bangla files and their annotators' agreement.")
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of the unpacked archive, with Data in it")
    try:
        checks = reproduce(parser.parse_args().folder)
    except (OSError, ValueError, KeyError) as error:
        print(f"cannot be checked: {error}", file=sys.stderr)
        return 2
    _print(checks)
    differing = [check for check in checks if not check.holds]
    print(f"\n{len(checks)} values, {len(differing)} differ (intervals are 95%: Wilson for shares, large-sample for kappa)")
    for check in differing:
        print(f"  differs: {check.name}: {check.found}, expected {check.expected}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
