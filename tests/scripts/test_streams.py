"""A verdict is not lost to a terminal that cannot show it, to a reader who leaves, or to a full disk."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.gate_runs import PATTERN, REGRESS, TODAY, WIDE, Runs, copy_of, renamed, write_policy

COMMAND = [sys.executable, "-m", "lm_eval_tasks.scripts.cli"]
TERMINALS = {
    "latin-1": {"PYTHONIOENCODING": "latin-1"},
    "cp1252": {"PYTHONIOENCODING": "cp1252"},
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "C, strict": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii:strict"},
    "unbuffered": {"PYTHONIOENCODING": "latin-1", "PYTHONUNBUFFERED": "1"},
}
NAME = "модели/Большая"
ESCAPED = NAME.encode("ascii", errors="backslashreplace").decode()


@pytest.fixture(scope="module")
def folders(runs: Runs, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run with a Cyrillic name that passes, its baseline, and one that fails."""
    named = renamed(copy_of(runs.pairs("half", 5), tmp_path_factory.mktemp("named") / "run"), NAME)
    return {"half": named, "six": runs.pairs("six", 7), "pro": runs.pairs("pro", 10)}


def environment(**extra: str) -> dict[str, str]:
    dropped = ("PYTHONIOENCODING", "LC_ALL", "PYTHONUTF8", "PYTHONUNBUFFERED", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY")
    return {key: value for key, value in os.environ.items() if key not in dropped} | extra


def run_command(*command: str, terminal: str) -> tuple[int, str]:
    """Exit code of a command and what it said, on one of the terminals."""
    done = subprocess.run([*COMMAND, *command], capture_output=True, env=environment(**TERMINALS[terminal]), check=False)
    assert b"Traceback" not in done.stderr
    return done.returncode, (done.stdout + done.stderr).decode("ascii" if terminal.startswith("C") else "latin-1")


@pytest.mark.parametrize("terminal", TERMINALS)
def test_verdicts_on_every_terminal(folders: dict[str, Path], tmp_path: Path, terminal: str) -> None:
    policy, half = str(write_policy(tmp_path, (WIDE, REGRESS))), str(folders["half"])
    # no baseline: the table has a dash where there is no figure
    code, shown = run_command("gate", "--policy", policy, half, "--explain", *TODAY, terminal=terminal)
    assert (code, "\\u2013" in shown) == (5, terminal != "cp1252")
    code, shown = run_command("compare", str(folders["six"]), half, terminal=terminal)
    assert (code, f"candidate {ESCAPED}\n" in shown) == (0, True)


def test_the_other_commands(folders: dict[str, Path], tmp_path: Path) -> None:
    half, there = str(folders["half"]), str(tmp_path / "отчёт")
    assert run_command("gate", "--policy", str(tmp_path / "политика.yaml"), half, terminal="C, strict")[0] == 2
    assert run_command("report", half, "--output", there, terminal="C, strict")[0] == 0
    assert run_command("export", "--format", "markdown", "--output", f"{there}/2/", half, terminal="C, strict")[0] == 0
    assert NAME in Path(there, "2", "scores.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("run", "expected"), [("half", 0), ("pro", 3)])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_who_leaves(folders: dict[str, Path], tmp_path: Path, run: str, expected: int, unbuffered: str) -> None:
    policy = write_policy(tmp_path, (WIDE, PATTERN))
    command = [*COMMAND, "gate", "--policy", str(policy), str(folders[run]), "--output", str(tmp_path / "out"), *TODAY]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(PYTHONUNBUFFERED=unbuffered)
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (expected, b"")
    assert (tmp_path / "out" / "junit.xml").exists()


def test_head_under_pipefail(folders: dict[str, Path], tmp_path: Path) -> None:
    policy = write_policy(tmp_path, (WIDE, PATTERN))
    gate = shlex.join([*COMMAND, "gate", "--policy", str(policy), str(folders["half"]), "--explain", *TODAY])
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {gate} | head -1"], capture_output=True, text=True, env=environment(), check=False
    )
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_said_and_a_verdict_kept(folders: dict[str, Path], tmp_path: Path) -> None:
    policy = write_policy(tmp_path, (WIDE,))
    for run, expected in (("half", 2), ("pro", 3)):
        with Path("/dev/full").open("wb") as full:
            command = [*COMMAND, "gate", "--policy", str(policy), str(folders[run]), *TODAY]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment(), check=False)
        assert (done.returncode, b"the output could not be written (No space left on device)" in done.stderr) == (
            expected,
            True,
        )


def test_streams_that_were_closed(folders: dict[str, Path], tmp_path: Path) -> None:
    policy = write_policy(tmp_path, (WIDE,))
    gate = shlex.join([*COMMAND, "gate", "--policy", str(policy), str(folders["pro"]), *TODAY])
    done = subprocess.run(["bash", "-c", f"{gate} >&- 2>&-"], capture_output=True, env=environment(), check=False)
    assert done.returncode == 3
