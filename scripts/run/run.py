"""`lm-eval-bias run`: the harness's own command line with the tasks of this package on its path.

The harness spends seconds indexing its built-in tasks; where only tasks of this package are asked for, that is skipped.
What would make a run worthless is looked for before its first request (`run_checks`, `lm_eval_tasks.models.api_server`), and
after it, whether all its files are there (`run_files`).
"""

import fnmatch
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from lm_eval_tasks import tasks_path
from lm_eval_tasks.scripts.run import precision
from lm_eval_tasks.scripts.run.checks import RefusedError

OWN_PREFIXES = ("rubia", "bangla_bias")


def main(arguments: Sequence[str]) -> int:
    """Run the harness with `arguments` (those of `lm_eval run`); returns 0, or 2 where the request cannot be carried out."""
    from lm_eval._cli.harness import HarnessCLI

    from lm_eval_tasks.data import DataError
    from lm_eval_tasks.failures import BackendError
    from lm_eval_tasks.scripts.run.hooks import hooked

    previous = sys.argv
    sys.argv = ["lm-eval-bias", "run", *(arguments or ["--help"])]
    try:
        cli = HarnessCLI()
        chosen = cli.parse_args()
        model, tasks = _asked(chosen, "model"), _asked(chosen, "tasks")
        if model == "hf-mlm":
            import lm_eval_tasks.models.masked_lm  # noqa: F401  # registers the backend

            if not any(argument.partition("=")[0] in ("--batch_size", "-b", "--config") for argument in arguments):
                chosen.batch_size = "auto"  # the harness's default, one masked copy at a time, is several times slower
        if any(_is_own(name, own_index()) for name in _names(tasks)):
            precision.set_in(chosen)
        if refusal := _refusal(model, _names(tasks)) or _unsaved(chosen):
            raise RefusedError(refusal)
        with hooked(only_own=_only_own(tasks), scores_text=bool(_pairs(_names(tasks)))) as run:
            cli.execute(chosen)
        if lost := run.lost():
            raise RefusedError(
                f"the harness did not save {'; '.join(lost)}. Its own message stands above (no space left, or a lost disk?). "
                "Run again; with --use_cache nothing that can be kept is asked twice."
            )
    # The harness raises NotImplementedError where a backend lacks a request type.
    except (DataError, BackendError, RefusedError, NotImplementedError) as error:
        print(f"lm-eval-bias run: {error}", file=sys.stderr)
        return 2
    finally:
        sys.argv = previous
    return 0


def _asked(chosen: Any, name: str) -> Any:
    """A value from the arguments or else from the file that --config names."""
    from lm_eval.config.evaluate_config import EvaluatorConfig

    file = EvaluatorConfig.load_yaml_config(chosen.config) if getattr(chosen, "config", None) else {}
    return getattr(chosen, name, None) or file.get(name)


def _unsaved(chosen: Any) -> str | None:
    if any(_asked(chosen, name) for name in ("log_samples", "predict_only")) and not _asked(chosen, "output_path"):
        return "--log_samples and --predict_only need a folder to write to: add --output_path DIR."
    return None


@cache
def own_index() -> dict[str, Any]:
    """Every task, group and tag of this package, as the harness's index has them."""
    from lm_eval.tasks import TaskManager

    return dict(TaskManager(include_path=str(tasks_path()), include_defaults=False).task_index)


def leaves(name: str) -> list[str]:
    """The tasks of this package that a task, group or tag of it stands for."""
    entry = own_index()[name]
    config = entry.cfg or {}
    members = list(config["task"]) if isinstance(config.get("task"), list) else [] if config else list(entry.tags)
    return sorted({leaf for member in members for leaf in leaves(member)}) if members else [name]


def _pairs(requested: Sequence[str]) -> list[str]:
    """Names among those asked for that need log-probabilities of given text."""
    asked = [name for name in own_index() if any(fnmatch.fnmatch(name, pattern) for pattern in requested)]
    return [name for name in asked if _scores_text(name)]


def _refusal(model: Any, requested: Sequence[str]) -> str | None:
    """Why a backend that only writes text cannot do what is asked, or None: said before hours of other tasks are run."""
    if not writes_text_only(model) or not (pairs := _pairs(requested)):
        return None
    return (
        f"{', '.join(pairs)}: minimal pairs need log-probabilities of given text, and {model} only writes text. "
        "Use a completions endpoint (--model local-completions), or ask the pairs as questions: "
        "--tasks rubia_prompted_en,rubia_prompted_ru."
    )


def writes_text_only(model: Any) -> bool:
    """Whether a backend of this name is a chat API."""
    return "chat" in str(model) or str(model).startswith(("anthropic", "litellm"))


def _scores_text(name: str) -> bool:
    """Whether a task, or any member of a group or tag, asks for loglikelihoods."""
    return any((own_index()[leaf].cfg or {}).get("output_type") == "loglikelihood" for leaf in leaves(name))


def _names(requested: Any) -> list[str]:
    return [name for item in as_list(requested) for name in str(item).split(",")]


def _only_own(requested: Any) -> bool:
    names = _names(requested)
    return bool(names) and all(_is_own(name, own_index()) for name in names)


def _is_own(pattern: str, own: Iterable[str]) -> bool:
    # A pattern such as `*gender*` may mean built-in tasks as well: it counts as ours only behind one of our prefixes.
    return pattern.startswith(OWN_PREFIXES) and any(fnmatch.fnmatch(name, pattern) for name in own)


def as_list(value: Any) -> list[Any]:
    """A value of the command line that may be one, several or none."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
