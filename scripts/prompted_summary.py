"""RuBia prompted: correct answers by subdomain and domain, mean ± standard deviation over the wordings.

python -m lm_eval_tasks.scripts.prompted_summary DIR     (a folder written with --log_samples --output_path DIR)
"""

import argparse
import sys
from pathlib import Path

from lm_eval_tasks.metrics.runs.prompted import families
from lm_eval_tasks.metrics.runs.results import EvidenceError
from lm_eval_tasks.scripts.shared.evidence import read


def main() -> int:
    parser = argparse.ArgumentParser(description="Mean and standard deviation over the wordings of RuBia prompted.")
    parser.add_argument("folder", type=Path, metavar="DIR")
    try:
        folder = parser.parse_args().folder
        if not (found := families(read(folder))):
            raise EvidenceError(f"{folder} holds no results of rubia_prompted tasks.")
    except EvidenceError as error:
        print(f"prompted_summary: {error}", file=sys.stderr)
        return 5
    for family, spreads in found.items():
        print(f"{family:24}{'':24}{'pairs':>6}  correct, %")
        for (domain, subdomain), spread in sorted(spreads.items(), key=lambda item: (item[0][0] != "all", item[0])):
            deviation = "" if spread.deviation is None else f" ± {100 * spread.deviation:.1f}"
            print(f"  {domain:22}{subdomain:24}{spread.n_pairs:6}  {100 * spread.mean:.1f}{deviation}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
