"""What would make a run worthless after its last request, looked for before the first one."""

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lm_eval_tasks.redaction import secret_arguments

LONGEST_NAME = 255  # bytes, of one file or folder name on the usual file systems
_DATE = "2000-01-01T00-00-00.000000"  # as the harness puts it into the names of files
_NAMES = ("pretrained", "model", "tokenizer", "peft", "delta")  # model arguments that name a folder or a repository
_VARIABLES = {"hf": "HF_TOKEN", "hf-mlm": "HF_TOKEN", "vllm": "HF_TOKEN", "anthropic": "ANTHROPIC_API_KEY"}


class RefusedError(RuntimeError):
    """The run would be worthless; the message says why, and what to do instead."""


def check_arguments(model: Any, model_args: Mapping[str, Any], *, chat: bool, templated: bool, generates: bool) -> None:
    """Raise RefusedError for model arguments of a wrong type, and for a chat API without the chat template."""
    for name in _NAMES:
        if isinstance(value := model_args.get(name), bool | int | float):
            raise RefusedError(
                f"the model argument {name} is {value!r} ({type(value).__name__}), expected a name or a folder: the command "
                f"line makes a number or a boolean of what looks like one. Write {name}=./{value} for a folder of that name."
            )
    if chat and generates and not templated:
        raise RefusedError(f"{model} sends messages and not text, and fails in mid-run without --apply_chat_template. Add it.")


def secrets_warning(model: Any, model_args: Mapping[str, Any]) -> str | None:
    """A warning of model arguments that hold a secret, or None: the harness prints them, and `lm_eval` saves them."""
    if not (names := secret_arguments(model_args)):
        return None
    variable = next((value for name, value in _VARIABLES.items() if str(model).startswith(name)), "OPENAI_API_KEY")
    return (
        f"warning: the model argument {', '.join(names)} holds a secret. It is kept out of the files of this run, but the "
        "harness prints model arguments to the terminal, and the plain lm_eval writes them into the results file "
        f"(config.model_args). Pass it as an environment variable instead: {variable}=..."
    )


def check_samples(samples: Mapping[str, Any] | None, kinds: Mapping[str, str], members: Callable[[str], Iterable[str]]) -> None:
    """Raise RefusedError where --samples names a group or a tag, which the harness ignores without a word.

    `kinds` says of each known name whether it is a task, a group or a tag; `members` gives the tasks of a group or tag.
    """
    for name in samples or {}:
        if (kind := kinds.get(name)) in ("group", "tag"):
            leaves = ", ".join(members(name)) or "no known tasks"
            raise RefusedError(
                f"--samples names the {kind} {name}, and the harness takes documents by task only: it would run all of them. "
                f"Name the tasks: {leaves}."
            )
        if kind is None:
            raise RefusedError(f"--samples names {name!r}, which is no task. `lm-eval-bias run ls tasks` lists them.")


def check_output(output_path: str | None, model_name: str) -> None:
    """Raise RefusedError where the harness could not write its files below `output_path`; leaves nothing behind."""
    if not output_path:
        return
    path = Path(output_path)
    to_file = path.suffix == ".json"
    folder = path.parent if to_file else path / model_name
    names = [*folder.parts, f"{path.stem}_{_DATE}.json"] if to_file else folder.parts
    if long := next((name for name in names if len(os.fsencode(name)) > LONGEST_NAME), None):
        raise RefusedError(
            f"the results would go into a folder or file named {long[:40]!r}..., which has {len(os.fsencode(long))} bytes; "
            f"file systems take {LONGEST_NAME}. Name the model by a shorter path (a symbolic link will do), or write to "
            "--output_path DIR/NAME.json, which leaves the model's name out."
        )
    for part in (folder, *folder.parents):
        if part.exists() and not part.is_dir():
            raise RefusedError(f"--output_path {output_path}: {part} is a file, expected a folder. Name another one.")
    made = [part for part in (folder, *folder.parents) if not part.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".lm-eval-bias-"):
            pass
    except OSError as error:
        raise RefusedError(
            f"--output_path {output_path}: cannot write into {folder} ({error.strerror or error}). Name another folder."
        ) from error
    finally:
        for part in made:
            with suppress(OSError):
                part.rmdir()
