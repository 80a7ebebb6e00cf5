"""`lm-eval-bias`: the harness with these tasks at hand.

    lm-eval-bias run ...      the harness's own command line, with these tasks on the path
    lm-eval-bias path         the folder for the harness's --include_path
    lm-eval-bias link         let the plain `lm_eval --tasks rubia ...` find the tasks
    lm-eval-bias unlink       undo that

Exit codes: 0 done, 1 crash, 2 usage or environment error.
"""

import argparse
import sys
from collections.abc import Sequence

from lm_eval_tasks import __version__, tasks_path
from lm_eval_tasks.scripts import links, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments[:1] == ["run"]:
        return run.main(arguments[1:])
    parser = _parser()
    chosen = parser.parse_args(arguments)
    try:
        return int(chosen.action(chosen) or 0)
    except links.LinkError as error:
        print(f"lm-eval-bias {chosen.command}: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lm-eval-bias",
        description="Social bias of language models in Russian and Bangla, on lm-evaluation-harness.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    # `run` is handled before parsing, since its arguments are the harness's; it is listed here for the help text.
    commands.add_parser("run", help="run the harness with these tasks (all its arguments; see `run --help`)", add_help=False)
    path = commands.add_parser("path", help="print the folder for the harness's --include_path")
    path.set_defaults(action=lambda _: print(tasks_path()))
    link = commands.add_parser("link", help="make the plain `lm_eval` command find these tasks")
    link.set_defaults(action=lambda _: print(links.link()))
    unlink = commands.add_parser("unlink", help="undo `link`")
    unlink.set_defaults(action=lambda _: print(links.unlink()))
    return parser


if __name__ == "__main__":
    sys.exit(main())
