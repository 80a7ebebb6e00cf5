"""`lm-eval-bias gate`: may this model be released, by the rules of a policy file?

    lm-eval-bias gate --policy FILE DIR [--baseline DIR] [--output FOLDER] [--explain]
    lm-eval-bias gate --policy FILE --explain [--baseline DIR]         before a run: what the policy asks, and can tell

Exit codes: 0 pass, 1 crash, 2 usage or policy error, 3 failed, 4 inconclusive, 5 evidence invalid; 5 before 3 before 4.
All outputs are written before it exits.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from lm_eval_tasks.scripts.gate import outputs as gate_outputs
from lm_eval_tasks.scripts.gate.checks import Baseline, Report, judge, unusable
from lm_eval_tasks.scripts.gate.explain import explain, explain_before
from lm_eval_tasks.scripts.gate.policy import Policy, load_policy
from lm_eval_tasks.scripts.gate.policy_node import PolicyError
from lm_eval_tasks.scripts.shared.evidence import read
from lm_eval_tasks.scripts.shared.folders import FolderError, existing_folder
from lm_eval_tasks.scripts.shared.streams import guarded

DEFAULT_SEED = 1234


def main(arguments: Sequence[str]) -> int:
    """Judge a run; returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.folder is None and not options.explain:
        parser.error("the folder of a run is missing: DIR. Without one, --explain says what the policy can tell.")
    try:
        policy = load_policy(options.policy, options.today)
        for folder in filter(None, (options.folder, options.baseline)):
            existing_folder(folder)
        if options.output:
            gate_outputs.prepare(options.output)
    except (PolicyError, FolderError, gate_outputs.OutputError) as error:
        print(f"lm-eval-bias gate: {error}", file=sys.stderr)
        if os.environ.get("GITHUB_ACTIONS"):
            print(gate_outputs.annotation("error", "policy", str(error)))
        return 2
    if options.folder is None:
        baseline = _baseline(policy, options.baseline)
        print(*explain_before(policy, baseline.run), sep="\n")
        return 0
    report = _judge(policy, options.folder, options.baseline, options.seed)
    if options.output:
        gate_outputs.write(report, options.output)
    gate_outputs.announce(report)
    print(*gate_outputs.table(report), sep="\n")
    if options.explain:
        print("", *explain(report), sep="\n")
    return report.exit_code


def _judge(policy: Policy, folder: Path, baseline: Path | None, seed: int) -> Report:
    try:
        run = read(folder)
    except ValueError as error:
        return unusable(policy, seed, [str(error)])
    return judge(policy, run, _baseline(policy, baseline), seed)


def _baseline(policy: Policy, named: Path | None) -> Baseline:
    """The run to compare with. One that is named must be there, whatever `required` says: a name may be mistyped."""
    folder = named or policy.baseline
    if folder is None:
        if not policy.compares or not policy.baseline_required:
            return Baseline()
        return Baseline(
            problem="no baseline run is given. Name its folder with --baseline, or in the policy's baseline.samples."
        )
    try:
        return Baseline(read(existing_folder(folder)))
    except ValueError as error:
        return Baseline(problem=f"the baseline cannot be used: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lm-eval-bias gate", description="Judge a run by a policy file.")
    parser.add_argument(
        "folder", type=Path, nargs="?", metavar="DIR", help="results of the candidate (--output_path --log_samples)"
    )
    parser.add_argument("--policy", type=Path, required=True, metavar="FILE", help="the policy, YAML")
    parser.add_argument("--baseline", type=Path, metavar="DIR", help="results to compare with, instead of the policy's")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="write gate.json and junit.xml there")
    parser.add_argument("--explain", action="store_true", help="say what each check means for this data")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="of the bootstrap (default: %(default)s)")
    parser.add_argument(
        "--today",
        type=date.fromisoformat,
        default=date.today(),
        metavar="YYYY-MM-DD",
        help="the date by which waivers expire (default: today)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(guarded(main, sys.argv[1:]))
