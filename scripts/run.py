"""`lm-eval-bias run`: the harness's own command line with the tasks of this package on its path.

The harness spends seconds indexing its built-in tasks; where only tasks of this package are asked for, that is skipped.
"""

import fnmatch
import sys
from collections.abc import Iterable, Sequence
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
        # The harness looks TaskManager up here at the moment of use; there is no other way to add a second path to it.
        lm_eval.tasks.TaskManager = _with_own_tasks(plain, only_own=_only_own(chosen.tasks))
        cli.execute(chosen)
    except DataError as error:
        print(f"lm-eval-bias run: {error}", file=sys.stderr)
        return 2
    finally:
        sys.argv = previous
        lm_eval.tasks.TaskManager = plain
    return 0


def own_task_names() -> set[str]:
    """Every task, group and tag of this package."""
    from lm_eval.tasks import TaskManager

    return set(TaskManager(include_path=str(tasks_path()), include_defaults=False).all_tasks)


def _only_own(requested: Any) -> bool:
    names = [name for item in _as_list(requested) for name in str(item).split(",")]
    own = own_task_names()
    return bool(names) and all(_is_own(name, own) for name in names)


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
