"""Where `run` steps into the harness: names of its modules that are replaced for the time of one run, and put back.

The harness looks all four up at the moment of use, and has no other way to be told: `lm_eval.tasks.TaskManager` (a second
path), `lm_eval.api.registry.get_model` (API backends that look at the server), `lm_eval.api.model.CachingLM` (a cache per
model) and `lm_eval.simple_evaluate` (all settings of the run, before, and its results, after).
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from lm_eval_tasks import tasks_path
from lm_eval_tasks.redaction import without_secrets
from lm_eval_tasks.scripts.run import cache as run_cache
from lm_eval_tasks.scripts.run import checks as run_checks
from lm_eval_tasks.scripts.run import run
from lm_eval_tasks.scripts.run.files import Expected


class Run:
    """One run of the harness: its settings while it goes on, and what it should have saved."""

    def __init__(self, *, scores_text: bool) -> None:
        self.scores_text = scores_text
        self.options: dict[str, Any] = {}
        self.expected: Expected | None = None

    def lost(self) -> list[str]:
        """Files that the harness should have written and did not."""
        return self.expected.lost() if self.expected else []

    def evaluate(self, plain: Callable[..., Any], **options: Any) -> Any:
        """The harness's `simple_evaluate`, after a look at what it was told, and with secrets taken out of its results."""
        self.options = options
        self._check()
        found = plain(**options)
        if found is not None:
            found["config"]["model_args"] = without_secrets(found["config"]["model_args"], "model_args")
            for config in found["configs"].values():
                config["metadata"] = without_secrets(config.get("metadata"))
            saved = found["samples"] if options.get("log_samples") or options.get("predict_only") else {}
            self.expected = Expected(options["evaluation_tracker"], {task: len(lines) for task, lines in saved.items()})
        return found

    def backend(self, plain: Callable[[str], type], name: str) -> type:
        """The harness's class of that name; an API backend with its checks."""
        found = plain(name)
        api = sys.modules.get("lm_eval.models.api_models")  # not imported without need: it needs an extra
        if api is None or not issubclass(found, api.TemplateAPI):
            return found
        from lm_eval_tasks.models.api_server import checked

        with_checks: type = checked(found, scores_text=self.scores_text, own_task=run.own_index().__contains__)
        return with_checks

    def caching(self, plain: Callable[..., Any], model: Any, cache_db: str) -> Any:
        """The harness's cache in a file of this model's own."""
        settings = {"gen_kwargs": self.options.get("gen_kwargs"), "lm_eval": version("lm_eval")}
        own = run_cache.cache_name(cache_db, self.options["model"], self.options.get("model_args") or {}, settings)
        print(
            f"lm-eval-bias run: answers are kept in {own}, which is this model's and these settings' own. Sampled answers "
            "(bangla_bias as it stands) are asked anew each time.",
            file=sys.stderr,
        )
        return plain(model, own)

    def _check(self) -> None:
        options, model = self.options, self.options["model"]
        arguments = options.get("model_args") or {}
        tasks = [str(name) for name in run.as_list(options["tasks"])]
        index = options["task_manager"].task_index
        if warning := run_checks.secrets_warning(model, arguments):
            print(f"lm-eval-bias run: {warning}", file=sys.stderr)
        run_checks.check_arguments(
            model,
            arguments,
            chat=run.writes_text_only(model),
            templated=bool(options.get("apply_chat_template")),
            generates=any(_generates(index, name) for name in tasks),
        )
        kinds = {name: _kind(entry) for name, entry in index.items()}
        run_checks.check_samples(
            options.get("samples"), kinds, lambda name: run.leaves(name) if name in run.own_index() else []
        )
        if os.environ.get("LOCAL_RANK", "0") == "0":
            from lm_eval.utils import sanitize_model_name

            tracker = options["evaluation_tracker"]
            name = tracker.general_config_tracker._get_model_name(arguments) or ""
            run_checks.check_output(tracker.output_path, sanitize_model_name(name))


def _kind(entry: Any) -> str:
    kind = entry.kind.name.lower()
    return kind if kind in ("group", "tag") else "task"


def _generates(index: dict[str, Any], name: str) -> bool:
    """Whether a task writes text; groups and unknown tasks of others are taken to."""
    if name in run.own_index():
        return any(run.own_index()[leaf].cfg.get("output_type") == "generate_until" for leaf in run.leaves(name))
    return name in index


def _cpu_processes() -> int:
    """Processes that `torchrun` has started on this machine's CPUs, or 0.

    The `hf` backend spreads documents over processes only where it counts several GPUs; without them each process would
    score every document and write the same files. So for the time of the run it counts its processes.
    """
    n_processes = int(os.environ.get("WORLD_SIZE", "1"))
    on_cpus = os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes")
    return n_processes if on_cpus and n_processes > 1 else 0


@contextmanager
def hooked(*, only_own: bool, scores_text: bool) -> Iterator[Run]:
    """The harness with the hooks of a run in place; without its own tasks where `only_own`."""
    import lm_eval.api.model
    import lm_eval.api.registry
    import lm_eval.tasks
    import torch
    from lm_eval.evaluator import simple_evaluate

    current = Run(scores_text=scores_text)
    registry, models, tasks = lm_eval.api.registry, lm_eval.api.model, lm_eval.tasks
    count = torch.cuda.device_count
    plain = registry.get_model, models.CachingLM, tasks.TaskManager
    registry.get_model = lambda name: current.backend(plain[0], name)
    models.CachingLM = lambda model, cache_db: current.caching(plain[1], model, cache_db)
    tasks.TaskManager = with_own_tasks(plain[2], only_own=only_own)
    lm_eval.simple_evaluate = lambda **options: current.evaluate(simple_evaluate, **options)
    if n_processes := _cpu_processes():
        torch.cuda.device_count = lambda: n_processes
    try:
        yield current
    finally:
        registry.get_model, models.CachingLM, tasks.TaskManager = plain
        torch.cuda.device_count = count
        del lm_eval.simple_evaluate  # the module makes it anew when it is asked for


def with_own_tasks(manager: type, *, only_own: bool) -> type:
    """The harness's index with this package's tasks first, and without its own where `only_own`."""

    class WithOwnTasks(manager):  # type: ignore[misc]
        def __init__(self, include_path: Any = None, include_defaults: bool = True, **options: Any) -> None:
            paths = [str(tasks_path()), *run.as_list(include_path)]
            super().__init__(include_path=paths, include_defaults=include_defaults and not only_own, **options)

    return WithOwnTasks
