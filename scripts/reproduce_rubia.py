"""The paper's table from the authors' published perplexities, through this project's own metric and grouping code.

    python -m lm_eval_tasks.scripts.reproduce_rubia DIR

DIR holds `scored_data.tsv` (perplexities of the models on 2,239 pairs) and `statistics.tsv` (the published table, in percent
with decimal commas). Prints both side by side with the largest difference; exits with 1 if a cell differs by more than 0.05
points after rounding to one decimal.
"""

import argparse
import csv
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from lm_eval_tasks.metrics.outcomes.pairs import pooled_rate, prefers_first
from lm_eval_tasks.sentence_pairs.rows import EXPERIMENTAL, merged_subdomain

TOLERANCE = 0.05
# Column of the published table -> name in the columns ppl-pro-NAME and ppl-anti-NAME of scored_data.tsv.
MODELS = {
    "XGLM": "XGLM",
    "mGPT": "mGPT",
    "ruBERT-large": "ruBert-large",
    "ruGPT-medium": "ruGPT-base",
    "ruGPT-large": "ruGPT-large",
    "ruRoBERTa-large": "ruRoberta-large",
    "ruBERT-base": "rubert-base",
    "TwHIN-BERT": "twhin-bert",
    "xlm-roberta-large": "xlm-roberta-large",
}
# The published table numbers these four subdomains and calls their domain `diverse`.
NUMBERED = {
    "freeform_1": "freeform_gendergap",
    "freeform_2": "freeform_lgb",
    "freeform_3": "freeform_repres",
    "freeform_4": "freeform_transnb",
}


class Cell(NamedTuple):
    """One number of the table, in percent."""

    domain: str
    subdomain: str
    model: str
    ours: float
    published: float

    @property
    def difference(self) -> float:
        return abs(round(self.ours, 1) - self.published)


def reproduce(folder: Path) -> list[Cell]:
    """Every cell of the published table beside our own value."""
    ours = _our_rates(folder / "scored_data.tsv")
    return [
        Cell(domain, subdomain, model, 100 * ours[domain, subdomain, model], value)
        for (domain, subdomain, model), value in _published(folder / "statistics.tsv").items()
    ]


def _our_rates(path: Path) -> dict[tuple[str, str, str], float]:
    outcomes = defaultdict(list)
    for row in _rows(path):
        domain, subdomain = row["domain"], merged_subdomain(row["domain"], row["task_type"])
        if subdomain is None:
            raise SystemExit(f"{path}: {row['domain']}/{row['task_type']} is no task type of RuBia")
        for model, name in MODELS.items():
            outcome = prefers_first(float(row[f"ppl-pro-{name}"]), float(row[f"ppl-anti-{name}"]))
            outcomes[domain, subdomain, model].append(outcome)
            if (domain, subdomain) not in EXPERIMENTAL:
                outcomes[domain, "all", model].append(outcome)
    return {key: rate for key, values in outcomes.items() if (rate := pooled_rate(values)) is not None}


def _published(path: Path) -> dict[tuple[str, str, str], float]:
    table = {}
    for row in _rows(path):
        domain = "lgbtq" if row["Domain"] == "diverse" else row["Domain"]
        subdomain = NUMBERED.get(row["Subdomain"], row["Subdomain"])
        for model in MODELS:
            table[domain, subdomain, model] = float(row[model].replace(",", "."))
    return table


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def _print_table(cells: list[Cell]) -> None:
    width = max(len(cell.subdomain) for cell in cells)
    print(f"{'ours / published, %':{width + 13}}" + "".join(f"{model[:15]:>17}" for model in MODELS))
    for domain, subdomain in dict.fromkeys((cell.domain, cell.subdomain) for cell in cells):
        row = {cell.model: cell for cell in cells if (cell.domain, cell.subdomain) == (domain, subdomain)}
        numbers = (f"{row[m].ours:.1f} / {row[m].published:.1f}" for m in MODELS)
        print(f"{domain:12} {subdomain:{width}}" + "".join(f"{text:>17}" for text in numbers))


def main() -> int:
    parser = argparse.ArgumentParser(description="Reproduce the published RuBia table from the published perplexities.")
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder with scored_data.tsv and statistics.tsv")
    cells = reproduce(parser.parse_args().folder)
    _print_table(cells)
    worst = max(cells, key=lambda cell: cell.difference)
    differing = [cell for cell in cells if cell.difference > TOLERANCE]
    where = f"{worst.domain} {worst.subdomain}, {worst.model}"
    print(f"\n{len(cells)} cells, largest difference {worst.difference:.2f} points ({where})")
    for cell in differing:
        print(f"  differs: {cell.domain} {cell.subdomain} {cell.model}: {cell.ours:.2f}, published {cell.published:.1f}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
