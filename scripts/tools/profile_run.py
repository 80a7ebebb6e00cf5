"""Where the wall time of a run goes: forward passes, the rest of the harness, this project.

    python -m lm_eval_tasks.scripts.tools.profile_run --model_args pretrained=DIR,dtype=float32 --tasks rubia [--batch_size 16]

Runs the harness as `lm-eval-bias run` does, with clocks around the model's forward passes and around every entry point of
this project (task index, rows, tokens, requests, results). The clock starts before torch and the harness are imported.
"""

import argparse
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

from lm_eval_tasks.scripts.run import hooks as run_hooks
from lm_eval_tasks.scripts.run import run

BEGAN = time.perf_counter()


class Clock:
    """Seconds spent in wrapped functions; nested calls count once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            self._depth += 1
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self.seconds += time.perf_counter() - start

        return timed


def main() -> None:
    parser = argparse.ArgumentParser(description="Share of this project in the wall time of a run.")
    parser.add_argument("--model_args", required=True)
    parser.add_argument("--tasks", default="rubia")
    parser.add_argument("--batch_size", default="16")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--limit")
    chosen = parser.parse_args()

    from lm_eval.models.huggingface import HFLM

    from lm_eval_tasks.sentence_pairs.task import MinimalPairTask

    forward, own = Clock(), Clock()
    own_methods = ("download", "build_all_requests", "process_results")
    with ExitStack() as stack:
        stack.enter_context(patch.object(HFLM, "_model_call", forward.wrap(HFLM._model_call)))
        stack.enter_context(patch.object(run_hooks, "with_own_tasks", _timed_index(own)))
        for name in own_methods:
            stack.enter_context(patch.object(MinimalPairTask, name, own.wrap(getattr(MinimalPairTask, name))))
        arguments = ["--model", "hf", "--model_args", chosen.model_args, "--tasks", chosen.tasks]
        arguments += ["--batch_size", chosen.batch_size, "--device", chosen.device]
        run.main(arguments + (["--limit", chosen.limit] if chosen.limit else []))
    wall = time.perf_counter() - BEGAN
    print(f"wall time                  {wall:8.1f} s")
    print(f"  forward passes           {forward.seconds:8.1f} s  {forward.seconds / wall:6.1%}")
    print(f"  this project             {own.seconds:8.1f} s  {own.seconds / wall:6.1%}")
    rest = wall - forward.seconds - own.seconds
    print(f"  imports, model, harness  {rest:8.1f} s  {rest / wall:6.1%}")


def _timed_index(clock: Clock) -> Callable[..., type]:
    plain = run_hooks.with_own_tasks

    def timed(manager: type, *, only_own: bool) -> type:
        made = plain(manager, only_own=only_own)
        made.__init__ = clock.wrap(made.__init__)  # type: ignore[misc]
        return made

    return timed


if __name__ == "__main__":
    main()
