"""Entry point of one of two processes of a run on CPUs: `torchrun --nproc_per_node 2 -m tests.support.two_processes run ...`.

`accelerate launch --cpu` starts one process, so two are started as the README says; here they are counted as well.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from filelock import FileLock

ROOT = Path(__file__).resolve().parents[2]


def launch(*arguments: str | Path) -> None:
    """Run the command line with `arguments` in two processes; raises AssertionError with its output if that fails."""
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc_per_node",
        "2",
        "-m",
        "tests.support.two_processes",
    ]
    environment = os.environ | {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    # One launch at a time on this machine: two that look for a free port at the same moment may find the same one.
    with FileLock(Path(tempfile.gettempdir()) / "lm-eval-bias-two-processes.lock"):
        done = subprocess.run([*command, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("ran as one of 2 processes") == 2


if __name__ == "__main__":
    from accelerate import PartialState

    from lm_eval_tasks.scripts.cli import main

    code = main(sys.argv[1:])
    state = PartialState()
    print(f"ran as one of {state.num_processes} processes", flush=True)
    # Together: a process that ends while the other still talks to it can take it down.
    state.wait_for_everyone()
    state.destroy_process_group()
    sys.exit(code)
