"""After a run: whether every file that the harness should have written is there and complete.

The harness swallows the errors of saving and ends with exit code 0. It is asked where it meant to write (`output_path`,
`date_id` and the model's name of its `EvaluationTracker`, which are not documented), and the files are counted.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Expected:
    """The files of one run: lines of each task's samples file, none where samples are not saved."""

    tracker: Any
    n_lines: Mapping[str, int]

    def lost(self) -> list[str]:
        """What is not there or not complete, one text per file; [] where nothing was to be saved, or all was."""
        if not self.tracker.output_path:
            return []
        path = Path(self.tracker.output_path)
        date = getattr(self.tracker, "date_id", None)
        if date is None:
            return [f"everything: the harness could not save its results below {path}"]
        if path.suffix == ".json":
            folder, results = path.parent, path.with_name(f"{path.stem}_{date}.json")
        else:
            folder = path / str(self.tracker.general_config_tracker.model_name_sanitized)
            results = folder / f"results_{date}.json"
        found = [_results_problem(results)]
        found += [_samples_problem(folder / f"samples_{task}_{date}.jsonl", n) for task, n in self.n_lines.items()]
        return [problem for problem in found if problem]


def _results_problem(file: Path) -> str | None:
    try:
        json.loads(file.read_bytes())
    except OSError as error:
        return f"{file} ({error.strerror})"
    except ValueError:
        return f"{file} (cut short)"
    return None


def _samples_problem(file: Path, n_expected: int) -> str | None:
    try:
        n_lines = file.read_bytes().count(b"\n")
    except OSError as error:
        return f"{file} ({error.strerror})"
    return f"{file} ({n_lines} of {n_expected} lines)" if n_lines != n_expected else None
