"""RuBia rows: read, checked once, merged into the paper's 21 subdomains.

As in the authors' scoring, class/template_poor and class/template_rich become `template_wealth`, and
nationality/freeform_enemy becomes `freeform_full`. A pair of two identical sentences decides nothing and is dropped;
repeated pairs are kept, as in the paper, and share a `cluster`. Line breaks inside a sentence become one space, everything
else stays as the annotators wrote it.
"""

import csv
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lm_eval_tasks.data import (
    DATA_KEY,
    DATA_SHA256_KEY,
    RUBIA_SHA256,
    DataError,
    Source,
    locate_rubia,
    rubia_sample,
)

COLUMNS = ("pro-trope", "anti-trope", "domain", "task_type")
OFFICIAL_ROWS = 2221
MERGED = {
    ("class", "template_poor"): "template_wealth",
    ("class", "template_rich"): "template_wealth",
    ("nationality", "freeform_enemy"): "freeform_full",
}
SUBDOMAINS = {
    "class": ("freeform_full", "freeform_prof", "template_wealth"),
    "gender": (
        "freeform_family_full",
        "freeform_family_stereotype",
        "freeform_full",
        "freeform_generic",
        "freeform_job",
        "freeform_prof_full",
        "freeform_prof_stereotype",
        "template_assoc",
        "template_hetpos",
    ),
    "lgbtq": ("freeform_gendergap", "freeform_lgb", "freeform_repres", "freeform_transnb", "template_assoc"),
    "nationality": ("freeform_antisem", "freeform_full", "freeform_immigrant", "template_assoc"),
}
# Left out of every group and of the paper's overall rows.
EXPERIMENTAL = frozenset(
    {
        ("gender", "freeform_family_stereotype"),
        ("gender", "freeform_prof_stereotype"),
        ("lgbtq", "freeform_gendergap"),
    }
)


PAIR_FIELDS = ("row", "cluster", "pro_trope", "anti_trope", "domain", "subdomain", "task_type")


@dataclass(frozen=True)
class Pair:
    """One pair; `row` is its place in the file (the first is 0), `cluster` the first row that holds the same pair."""

    row: int
    pro_trope: str
    anti_trope: str
    domain: str
    subdomain: str
    task_type: str
    cluster: int

    def fields(self) -> dict[str, Any]:
        """The pair as the fields of a document."""
        return {field: getattr(self, field) for field in PAIR_FIELDS}

    @property
    def experimental(self) -> bool:
        return (self.domain, self.subdomain) in EXPERIMENTAL


@dataclass(frozen=True)
class PairFile:
    """All pairs of one file in its order, with what was found on the way."""

    pairs: tuple[Pair, ...]
    source: Source
    n_rows: int
    n_repeated: int
    dropped_rows: tuple[int, ...]

    def select(self, domain: str | None = None, subdomain: str | None = None) -> list[Pair]:
        """Pairs of one subdomain; else of a domain, or of all, without the experimental ones. Raises DataError if none."""
        found = [
            pair
            for pair in self.pairs
            if domain in (None, pair.domain) and (pair.subdomain == subdomain if subdomain else not pair.experimental)
        ]
        if not found:
            raise DataError(f"{self.source.path} has no rows of domain {domain}, subdomain {subdomain or 'any'}.")
        return found

    def record(self) -> dict[str, Any]:
        """What a results file says of the rows."""
        return self.source.record() | {
            "data_rows": self.n_rows,
            "data_repeated_rows": self.n_repeated,
            "data_dropped_rows": list(self.dropped_rows),
        }


def merged_subdomain(domain: str, task_type: str) -> str | None:
    """The paper's subdomain of a task type as the file spells it, or None where the domain has no such task type."""
    subdomain = MERGED.get((domain, task_type), task_type)
    return subdomain if subdomain in SUBDOMAINS.get(domain, ()) else None


def load_pairs(metadata: dict[str, Any], source: str) -> PairFile:
    """The pairs of a run: of the shipped sample where `source` is sample, else of the file that the task metadata names."""
    if source == "sample":
        return read_pairs(rubia_sample())
    return read_pairs(locate_rubia(metadata.get(DATA_KEY), metadata.get(DATA_SHA256_KEY)))


@lru_cache(maxsize=4)
def read_pairs(source: Source) -> PairFile:
    """Read and check the file of `source`; raises DataError that names the file and the row."""
    name = source.path.name
    with source.path.open(encoding="utf-8-sig", newline="") as file:
        try:
            reader = csv.DictReader(file, delimiter="\t", strict=True)
            _check_header(name, reader.fieldnames)
            rows = [_checked_row(name, number, row) for number, row in enumerate(reader)]
        except UnicodeDecodeError as error:
            raise DataError(f"{name} is not UTF-8 text: {error}. Get the official file again.") from error
        except csv.Error as error:
            raise DataError(f"{name} line {reader.line_num}: {error}. Get the official file again.") from error
    if source.sha256 == RUBIA_SHA256 and len(rows) != OFFICIAL_ROWS:
        raise DataError(f"{name}: read {len(rows)} rows, the official file has {OFFICIAL_ROWS}. Please report this.")
    return _assemble(source, rows)


def _assemble(source: Source, rows: list[dict[str, str]]) -> PairFile:
    first_seen: dict[tuple[str, str], int] = {}
    pairs, dropped = [], []
    for number, row in enumerate(rows):
        cluster = first_seen.setdefault((row["pro-trope"], row["anti-trope"]), number)
        if row["pro-trope"] == row["anti-trope"]:
            dropped.append(number)
            continue
        domain, task_type = row["domain"], row["task_type"]
        subdomain = merged_subdomain(domain, task_type)
        assert subdomain is not None  # checked with the row
        pairs.append(Pair(number, row["pro-trope"], row["anti-trope"], domain, subdomain, task_type, cluster))
    if not pairs:
        raise DataError(f"{source.path.name} holds no pairs. Get the official file again.")
    return PairFile(tuple(pairs), source, len(rows), len(rows) - len(first_seen), tuple(dropped))


def _check_header(name: str, columns: object) -> None:
    found = list(columns) if isinstance(columns, list) else []
    if missing := [column for column in COLUMNS if column not in found]:
        raise DataError(
            f"{name} has no column {', '.join(missing)}; its header is {', '.join(map(repr, found)) or 'empty'}, expected "
            f"{', '.join(COLUMNS)} separated by tabs. Get the official file again."
        )


def _checked_row(name: str, number: int, row: dict[str, str | None]) -> dict[str, str]:
    where = f"{name} row {number} (the first is 0)"
    checked = {}
    for column in COLUMNS:
        value = re.sub(r"\s*[\r\n]+\s*", " ", row[column] or "")
        if not value.strip():
            raise DataError(f"{where}: '{column}' is empty, expected text. Correct or delete the row.")
        checked[column] = value
    if None in row:
        raise DataError(f"{where}: more fields than the header has columns. Is a quote or a tab astray?")
    domain, task_type = checked["domain"], checked["task_type"]
    if domain not in SUBDOMAINS:
        raise DataError(f"{where}: domain is {domain!r}, expected one of {', '.join(SUBDOMAINS)}.")
    if merged_subdomain(domain, task_type) is None:
        known = (*SUBDOMAINS[domain], *(kind for owner, kind in MERGED if owner == domain))
        raise DataError(f"{where}: task_type is {task_type!r}, expected for {domain} one of {', '.join(known)}.")
    return checked
