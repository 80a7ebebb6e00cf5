"""`lm-eval-bias`: the harness with these tasks at hand, and what comes after a run.

    lm-eval-bias run ...            the harness's own command line, with these tasks on the path
    lm-eval-bias report DIR...      one HTML page, and tables, of one or several runs
    lm-eval-bias compare BASE CAND  paired differences of two runs
    lm-eval-bias gate ...           a verdict by a policy file
    lm-eval-bias reread DIR         older results, their answers read by the rules of this version
    lm-eval-bias export ...         tables and formats of model hubs and leaderboards
    lm-eval-bias path [--policy]    the folder for the harness's --include_path, or the gate's starter policy
    lm-eval-bias link | unlink      let the plain `lm_eval --tasks rubia ...` find the tasks, or undo that

Exit codes: 0 done or passed, 1 crash, 2 usage or environment error, 3 gate failed, 4 gate inconclusive, 5 evidence invalid.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from lm_eval_tasks import __version__, tasks_path
from lm_eval_tasks.scripts.run import links
from lm_eval_tasks.scripts.shared.streams import guarded

# Commands with a parser of their own: the module, imported only when asked for (`run` needs torch), and what the command does.
OWN_PARSER = {
    "run": ("run.run", "run the harness with these tasks (all its arguments; see `run --help`)"),
    "report": ("report.report", "write an HTML report and tables of one or several runs"),
    "compare": ("compare.compare", "paired differences between a baseline and a candidate run"),
    "gate": ("gate.gate", "judge a run by a policy file"),
    "reread": ("reread", "read the answers of older results by the rules of this version, and say what changed"),
    "export": ("export.export", "write scores in the formats of model hubs and leaderboards"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    return guarded(_main, list(sys.argv[1:] if arguments is None else arguments))


def _main(arguments: Sequence[str]) -> int:
    if arguments and arguments[0] in OWN_PARSER:
        module, _ = OWN_PARSER[arguments[0]]
        return int(importlib.import_module(f"lm_eval_tasks.scripts.{module}").main(arguments[1:]))
    chosen = _parser().parse_args(arguments)
    try:
        print(chosen.action())
    except links.LinkError as error:
        print(f"lm-eval-bias {chosen.command}: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lm-eval-bias", description="Social bias of language models in Russian and Bangla, on lm-evaluation-harness."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (_, text) in OWN_PARSER.items():  # listed for the help text
        commands.add_parser(name, help=text, add_help=False)
    simple = {
        "path": (tasks_path, "print the folder for the harness's --include_path"),
        "link": (links.link, "make the plain `lm_eval` command find these tasks"),
        "unlink": (links.unlink, "undo `link`"),
    }
    made = {name: commands.add_parser(name, help=text) for name, (_, text) in simple.items()}
    for name, (action, _) in simple.items():
        made[name].set_defaults(action=action)
    made["path"].add_argument(
        "--policy",
        dest="action",
        action="store_const",
        const=starter_policy,
        default=tasks_path,
        help="print the starter policy of `gate` instead, a file to copy and change",
    )
    return parser


def starter_policy() -> Path:
    """The policy file that ships with the package."""
    return Path(__file__).resolve().parent / "gate" / "starter_policy.yaml"


if __name__ == "__main__":
    sys.exit(main())
