"""`lm-eval-bias report`: one or several runs as a self-contained HTML file, with the same numbers as JSON, CSV and Markdown.

    lm-eval-bias report DIR... [--output FOLDER] [--margin POINTS]

Each DIR is what one model left with --output_path DIR --log_samples. Nothing is written unless every run can be used.
Exit codes: 0 written, 2 usage error or nowhere to write, 5 evidence refused.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from lm_eval_tasks.metrics.runs.results import EvidenceError, Run
from lm_eval_tasks.scripts.export import tables
from lm_eval_tasks.scripts.report.view import build
from lm_eval_tasks.scripts.shared.evidence import read
from lm_eval_tasks.scripts.shared.safe_text import visible

_TEMPLATES = Path(__file__).with_name("templates")
_MARGIN = 10.0  # points around 50, the default of an equivalence check


def main(arguments: Sequence[str]) -> int:
    """Write the report of the runs named in `arguments`; returns the exit code."""
    chosen = _parser().parse_args(arguments)
    try:
        runs = [read(folder) for folder in chosen.folders]
        files = {
            "report.html": render(runs, chosen.margin),
            "summary.json": tables.to_json(runs),
            "scores.csv": tables.to_csv(runs),
            "scores.md": tables.to_markdown(runs),
        }
    except EvidenceError as error:
        print(f"lm-eval-bias report: {error}", file=sys.stderr)
        return 5
    try:
        chosen.output.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            # A lone surrogate is valid JSON, but no UTF-8.
            (chosen.output / name).write_bytes(text.encode("utf-8", errors="backslashreplace"))
    except OSError as error:
        print(f"lm-eval-bias report: cannot write to {chosen.output}: {error}. Name a folder with --output.", file=sys.stderr)
        return 2
    for name in files:
        print(chosen.output / name)
    return 0


def render(runs: Sequence[Run], margin: float = _MARGIN) -> str:
    """The HTML of the report; `margin` in percentage points. Equal runs give equal bytes."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html.j2").render(view=build(runs, margin / 100))


def _harmless(value: Any) -> Any:
    """Whatever a template prints, with hidden characters written out; escaping follows."""
    return value if isinstance(value, Markup) else visible(str(value))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lm-eval-bias report",
        description="One self-contained HTML file, and summary.json, scores.csv and scores.md beside it.",
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="results of one model, with samples")
    parser.add_argument("--output", type=Path, default=Path("bias-report"), metavar="FOLDER", help="default: bias-report")
    parser.add_argument(
        "--margin", type=_points, default=_MARGIN, metavar="POINTS", help="margin around 50 in the forest plot (default: 10)"
    )
    return parser


def _points(text: str) -> float:
    try:
        margin = float(text)
    except ValueError:
        margin = 0.0
    if not 0 < margin <= 50:
        raise argparse.ArgumentTypeError(f"{text!r}, expected percentage points above 0 and up to 50, such as 10")
    return margin


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
