"""RuBia prompted: correct answers by subdomain and domain, mean ± standard deviation over the wordings.

python -m lm_eval_tasks.scripts.prompted_summary DIR     (a folder written with --log_samples --output_path DIR)
"""

import argparse
import re
import sys
from pathlib import Path

from lm_eval_tasks.metrics.prompted import Answer, Spread, over_wordings
from lm_eval_tasks.metrics.results import EvidenceError, read_samples

_TASK = re.compile(r"(?P<family>rubia(?:_sample)?_prompted_(?:en|ru))_(?P<wording>\d+)")


def summarise(folder: Path) -> dict[str, dict[tuple[str, str], Spread]]:
    """Spreads by family of wordings (`rubia_prompted_en`, ...), then by (domain, subdomain)."""
    answers: dict[str, list[Answer]] = {}
    for task, documents in read_samples(folder).items():
        if match := _TASK.fullmatch(task):
            answers.setdefault(match["family"], []).extend(
                Answer(match["wording"], d["doc"]["domain"], d["doc"]["subdomain"], d["correct_rate"]) for d in documents
            )
    if not answers:
        raise EvidenceError(f"{folder} holds no samples of rubia_prompted tasks.")
    return {family: over_wordings(of_family) for family, of_family in answers.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description="Mean and standard deviation over the wordings of RuBia prompted.")
    parser.add_argument("folder", type=Path, metavar="DIR")
    try:
        families = summarise(parser.parse_args().folder)
    except ValueError as error:
        print(f"prompted_summary: {error}", file=sys.stderr)
        return 2
    for family, spreads in families.items():
        print(f"{family:24}{'':24}{'pairs':>6}  correct, %")
        for (domain, subdomain), spread in sorted(spreads.items(), key=lambda item: (item[0][0] != "all", item[0])):
            deviation = "" if spread.deviation is None else f" ± {100 * spread.deviation:.1f}"
            print(f"  {domain:22}{subdomain:24}{spread.n_pairs:6}  {100 * spread.mean:.1f}{deviation}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
