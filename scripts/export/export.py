"""Export scores: tables of several runs, or one run in the forms that leaderboards and model cards take.

    lm-eval-bias export --format summary|csv|markdown DIR...            see `tables`
    lm-eval-bias export --format model-index DIR                        metadata of a model card
    lm-eval-bias export --format eval-results DIR                       a file of a model repository's .eval_results folder
    lm-eval-bias export --format every-eval-ever --organization NAME --relationship third_party DIR

Prints, or writes to --output: a file, or a folder that gets a file of the format's own name. An existing file is kept unless
--force is given. Exit codes: 0 done, 2 usage error, 5 evidence that cannot be used or published.
"""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from lm_eval_tasks.metrics.runs.results import EvidenceError, Run
from lm_eval_tasks.scripts.export import publish, tables
from lm_eval_tasks.scripts.export.choice import Published, select
from lm_eval_tasks.scripts.shared.evidence import read
from lm_eval_tasks.scripts.shared.folders import FolderError, existing_folder

USAGE, REFUSED = 2, 5
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
_PATH = re.compile(r"[/.~\\]|[A-Za-z]:")


class Format(NamedTuple):
    """`file`: its name in an output folder; `options`: which options it takes beside the common ones."""

    file: str
    options: tuple[str, ...] = ()


TABLES: dict[str, Callable[[Sequence[Run]], str]] = {
    "summary": tables.to_json,
    "csv": tables.to_csv,
    "markdown": tables.to_markdown,
}
FORMATS = {
    "summary": Format("summary.json"),
    "csv": Format("scores.csv"),
    "markdown": Format("scores.md"),
    "model-index": Format("model-index.yaml", ("model",)),
    "eval-results": Format(".eval_results/social_bias.yaml", ("rubia_dataset",)),
    "every-eval-ever": Format("every_eval_ever.json", ("model", "organization", "relationship")),
}


class UsageError(ValueError):
    """An option that is missing or does not fit; the message says which and what to give."""


def main(arguments: Sequence[str]) -> int:
    """Entry point; returns the exit code."""
    chosen = _parser().parse_args(arguments)
    try:
        _check_options(chosen)
        text = _text(chosen)
        _deliver(text, chosen)
    except (UsageError, FolderError, OSError) as error:
        print(f"lm-eval-bias export: {error}", file=sys.stderr)
        return USAGE
    except EvidenceError as error:
        print(f"lm-eval-bias export: {error}", file=sys.stderr)
        return REFUSED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lm-eval-bias export", description="Scores as tables, or ready for publishing.")
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="results folder of one run")
    parser.add_argument("--format", required=True, choices=FORMATS)
    parser.add_argument("--output", metavar="PATH", help="file or folder to write to (default: print)")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.add_argument("--model", metavar="ID", help="name to publish under (default: the name in the results)")
    parser.add_argument("--rubia-dataset", metavar="ID", help="eval-results: hub dataset whose leaderboard takes RuBia")
    parser.add_argument("--organization", metavar="NAME", help="every-eval-ever: who ran the evaluation")
    parser.add_argument("--relationship", choices=RELATIONSHIPS, help="every-eval-ever: of that organization to the model")
    return parser


def _check_options(chosen: argparse.Namespace) -> None:
    takes = FORMATS[chosen.format].options
    for option in ("model", "rubia_dataset", "organization", "relationship"):
        if getattr(chosen, option) is not None and option not in takes:
            raise UsageError(f"--format {chosen.format} does not take --{option.replace('_', '-')}; leave it out.")
    for option in ("organization", "relationship"):
        if option in takes and getattr(chosen, option) is None:
            raise UsageError(f"--format {chosen.format} needs --{option}.")
    if chosen.format not in TABLES and len(chosen.folders) > 1:
        raise UsageError(
            f"--format {chosen.format} takes one run, found {len(chosen.folders)} folders. Export them one by one."
        )


def _text(chosen: argparse.Namespace) -> str:
    runs = [read(existing_folder(folder)) for folder in chosen.folders]
    if make := TABLES.get(chosen.format):
        return make(runs)
    (run,) = runs
    selected = select(run)
    for reason in selected.left_out:
        print(f"lm-eval-bias export: {reason}", file=sys.stderr)
    return _publishing_text(run, selected.entries, chosen)


def _publishing_text(run: Run, entries: Sequence[Published], chosen: argparse.Namespace) -> str:
    if chosen.format == "eval-results":
        if chosen.rubia_dataset is None and not all(entry.is_bangla for entry in entries):
            raise UsageError(
                "RuBia's own repository is not on the hub: name the hub dataset whose leaderboard is to take the results, "
                "--rubia-dataset OWNER/NAME."
            )
        return publish.eval_results(run, entries, chosen.rubia_dataset)
    model = chosen.model or _public_name(run)
    if chosen.format == "model-index":
        return publish.model_index(entries, model)
    return publish.every_eval_ever(run, entries, model, chosen.organization, chosen.relationship)


def _public_name(run: Run) -> str:
    if _PATH.match(run.model):
        raise UsageError(f"the model's name in the results is the path {run.model}: name it with --model OWNER/NAME.")
    return run.model


def _deliver(text: str, chosen: argparse.Namespace) -> None:
    content = text.encode()  # bytes: neither the locale nor the platform's line ends may change them
    if chosen.output is None:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return
    path = _target(chosen.output, FORMATS[chosen.format].file)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("wb" if chosen.force else "xb") as file:
            file.write(content)
    except FileExistsError as error:
        raise UsageError(f"{path} exists and is kept. Name another --output, or overwrite it with --force.") from error
    print(path)


def _target(output: str, name: str) -> Path:
    path = Path(output)
    return path / name if output.endswith(("/", "\\")) or path.is_dir() else path
