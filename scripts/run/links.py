"""`lm-eval-bias link` and `unlink`: stub files in the harness's task folder that include the real ones.

The harness has no plug-in entry points; its own command finds a task only below its task folder or with --include_path.
All stubs lie in one folder of ours, so that `unlink` removes exactly what `link` made.
"""

import json
import shutil
from pathlib import Path

from lm_eval_tasks import tasks_path

FOLDER = "lm_eval_bias"
MARK = "# Made by `lm-eval-bias link`; removed by `lm-eval-bias unlink`.\n"


class LinkError(RuntimeError):
    """The harness's task folder cannot be changed; the message says why and what to do instead."""


def link(tasks_folder: Path | None = None) -> str:
    """Write one stub per task file below `tasks_folder` (the installed harness's own by default); returns a summary."""
    folder = (tasks_folder or _harness_tasks()) / FOLDER
    files = sorted(tasks_path().rglob("*.yaml"))
    _refuse_foreign(folder)
    try:
        shutil.rmtree(folder, ignore_errors=True)  # stubs of an older version or of a moved checkout
        folder.mkdir()
        for file in files:
            (folder / file.name).write_text(f"{MARK}include: {json.dumps(str(file), ensure_ascii=False)}\n", encoding="utf-8")
    except OSError as error:
        raise LinkError(_unwritable(folder, error)) from error
    return f"Linked {len(files)} task files into {folder}. Undo: lm-eval-bias unlink"


def unlink(tasks_folder: Path | None = None) -> str:
    """Remove what `link` made, if anything; returns a summary."""
    folder = (tasks_folder or _harness_tasks()) / FOLDER
    if not folder.exists():
        return f"Nothing to remove: {folder} does not exist."
    _refuse_foreign(folder)
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise LinkError(_unwritable(folder, error)) from error
    return f"Removed {folder}."


def _harness_tasks() -> Path:
    import lm_eval.tasks

    return Path(lm_eval.tasks.__file__).resolve().parent


def _refuse_foreign(folder: Path) -> None:
    if not folder.exists():
        return
    foreign = [
        entry.name
        for entry in (folder.iterdir() if folder.is_dir() else [folder])
        if not (entry.is_file() and entry.read_bytes().startswith(MARK.encode()))
    ]
    if foreign:
        raise LinkError(
            f"{folder} holds files that `lm-eval-bias link` did not make ({', '.join(sorted(foreign)[:5])}). "
            "Nothing was changed; move them away first."
        )


def _unwritable(folder: Path, error: OSError) -> str:
    return (
        f"cannot write to the harness's task folder {folder.parent} ({error.strerror or error}). Use a virtual environment "
        "of your own, or leave the folder as it is and run `lm-eval-bias run ...`, or "
        '`lm_eval --include_path "$(lm-eval-bias path)" ...`.'
    )
