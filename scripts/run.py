"""`lm-eval-bias run`: the harness's own command line with the tasks of this package on its path.

The harness spends seconds indexing its built-in tasks; where only tasks of this package are asked for, that is skipped.
"""

import fnmatch
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from lm_eval_tasks import tasks_path

OWN_PREFIXES = ("rubia", "bangla_bias")


def main(arguments: Sequence[str]) -> int:
    """Run the harness with `arguments` (those of `lm_eval run`); returns 0, or 2 where the request cannot be carried out."""
    import lm_eval.tasks
    from lm_eval._cli.harness import HarnessCLI

    from lm_eval_tasks.data import DataError

    plain = lm_eval.tasks.TaskManager
    previous = sys.argv
    sys.argv = ["lm-eval-bias", "run", *(arguments or ["--help"])]
    try:
        cli = HarnessCLI()
        chosen = cli.parse_args()
        model, tasks = _asked(chosen)
        if model == "hf-mlm":
            import lm_eval_tasks.models.masked_lm  # noqa: F401  # registers the backend

            if not any(argument.partition("=")[0] in ("--batch_size", "-b", "--config") for argument in arguments):
                chosen.batch_size = "auto"  # the harness's default, one masked copy at a time, is several times slower
        if refusal := _refusal(model, _names(tasks)):
            print(f"lm-eval-bias run: {refusal}", file=sys.stderr)
            return 2
        # The harness looks TaskManager up here at the moment of use; there is no other way to add a second path to it.
        lm_eval.tasks.TaskManager = _with_own_tasks(plain, only_own=_only_own(tasks))
        cli.execute(chosen)
    except (DataError, NotImplementedError) as error:  # the harness raises the second where a backend lacks a request type
        print(f"lm-eval-bias run: {error}", file=sys.stderr)
        return 2
    finally:
        sys.argv = previous
        lm_eval.tasks.TaskManager = plain
    return 0


def _asked(chosen: Any) -> tuple[Any, Any]:
    """Model and tasks, from the arguments or else from the file that --config names."""
    from lm_eval.config.evaluate_config import EvaluatorConfig

    file = EvaluatorConfig.load_yaml_config(chosen.config) if getattr(chosen, "config", None) else {}
    return getattr(chosen, "model", None) or file.get("model"), getattr(chosen, "tasks", None) or file.get("tasks")


@cache
def own_index() -> dict[str, Any]:
    """Every task, group and tag of this package, as the harness's index has them."""
    from lm_eval.tasks import TaskManager

    return dict(TaskManager(include_path=str(tasks_path()), include_defaults=False).task_index)


def _refusal(model: Any, requested: Sequence[str]) -> str | None:
    """Why a backend that only writes text cannot do what is asked, or None: said before hours of other tasks are run."""
    if "chat" not in str(model) and not str(model).startswith("anthropic"):
        return None
    pairs = [name for name in own_index() if any(fnmatch.fnmatch(name, asked) for asked in requested) and _scores_text(name)]
    if not pairs:
        return None
    return (
        f"{', '.join(pairs)}: minimal pairs need log-probabilities of given text, and {model} only writes text. "
        "Use a completions endpoint (--model local-completions), or ask the pairs as questions: "
        "--tasks rubia_prompted_en,rubia_prompted_ru."
    )


def _scores_text(name: str) -> bool:
    """Whether a task, or any member of a group or tag, asks for loglikelihoods."""
    entry = own_index()[name]
    config = entry.cfg or {}
    members = list(config["task"]) if isinstance(config.get("task"), list) else [] if config else list(entry.tags)
    return config.get("output_type") == "loglikelihood" or any(_scores_text(member) for member in members)


def _names(requested: Any) -> list[str]:
    return [name for item in _as_list(requested) for name in str(item).split(",")]


def _only_own(requested: Any) -> bool:
    names = _names(requested)
    return bool(names) and all(_is_own(name, own_index()) for name in names)


def _is_own(pattern: str, own: Iterable[str]) -> bool:
    # A pattern such as `*gender*` may mean built-in tasks as well: it counts as ours only behind one of our prefixes.
    return pattern.startswith(OWN_PREFIXES) and any(fnmatch.fnmatch(name, pattern) for name in own)


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _with_own_tasks(manager: type, *, only_own: bool) -> type:
    class WithOwnTasks(manager):  # type: ignore[misc]
        def __init__(self, include_path: Any = None, include_defaults: bool = True, **options: Any) -> None:
            paths = [str(tasks_path()), *_as_list(include_path)]
            super().__init__(include_path=paths, include_defaults=include_defaults and not only_own, **options)

    return WithOwnTasks
