"""Mistakes of a policy file: each ends with exit code 2, the line of the file and what to do, before any run is read."""

from pathlib import Path

import pytest

from lm_eval_tasks.scripts import cli

CHECK = "{id: a, task: rubia, metric: pct_stereotype, "
CAP = CHECK + "test: cap, cap: 0.5, scale: t}"
REGRESS = CHECK.replace("id: a", "id: b") + "test: non_inferiority, margin: 0.06, scale: t}"


def policy(*checks: str, rest: str = "") -> str:
    """A policy whose checks stand on line 3 and after, `rest` below them."""
    return "version: 1\nchecks:\n" + "".join(f"  - {check}\n" for check in checks) + rest


MISTAKES = {
    "a file that is empty": ("", 1, "the policy is None"),
    "YAML that does not end": ("version: 1\nchecks: [\n", 3, "Expected YAML"),
    "a sign that is no text": ("version: 1\nchecks: \x07\n", 2, "Expected YAML"),
    "a date that does not exist": (
        policy(CAP, rest="waivers:\n  - {id: a, reason: r, approved_by: x, expires: 2027-13-45}\n"),
        5,
        "2027-13-45",
    ),
    "a key given twice": (policy(CAP, rest="multiplicity: holm\nmultiplicity: none\n"), 5, "'multiplicity' is given twice"),
    "a key that is a number": (policy(CAP, rest="evidence:\n  task_versions: {1: '1.0'}\n"), 5, "the key 1 is no text"),
    "a key that nobody knows": (policy(CAP, rest="tolerance: 1\n"), 4, "unknown key 'tolerance'"),
    "a misspelt key of a check": (policy(CAP.replace("}", ", teir: advisory}")), 3, "unknown key 'teir'"),
    "a version of the future": (policy(CAP).replace("version: 1", "version: 2"), 1, "version of the policy is 2"),
    "no checks": ("version: 1\nchecks: []\n", 2, "a list of at least one check"),
    "the same id twice": (policy(CAP, CAP), 4, "id of checks[2] is 'a', expected one that no other has"),
    "a test that does not exist": (policy(CHECK + "test: t_test}"), 3, "test of checks[1] (a) is 't_test'"),
    "a metric that does not exist": (policy(CAP.replace("pct_stereotype", "acc")), 3, "metric of checks[1] (a) is 'acc'"),
    "a cap whose scale is not said": (policy(CAP.replace(", scale: t", "")), 3, "0.65 on scale t is p from 0.175 to 0.825"),
    "a margin whose scale is not said": (policy(CAP, REGRESS.replace(", scale: t", "")), 4, "0.06 are 3 points of p"),
    "a cap of one": (policy(CAP.replace("0.5", "1")), 3, "cap of checks[1] (a) is 1, expected a number above 0 and below 1"),
    "a cap that nothing breaches": (policy(CAP.replace("0.5", "0.9999")), 3, "|t| < 0.9999 (p 0.000 to 1.000)"),
    "an equivalence of everything": (
        policy(CHECK + "test: equivalence, ideal: 0.5, margin: 0.5}"),
        3,
        "one that something can breach (p from 0 to 1)",
    ),
    "an equivalence of almost everything": (
        policy(CHECK + "test: equivalence, ideal: 0, margin: 0.9999, scale: t}"),
        3,
        "nothing could fail",
    ),
    "a margin that nothing breaches": (policy(REGRESS.replace("0.06", "0.99")), 3, "one that something can breach"),
    "percent in place of a share": (
        policy(CHECK + "test: equivalence, ideal: 50, margin: 10}"),
        3,
        "expected a number from 0 and up to 1",
    ),
    "a number larger than numbers": (policy(CAP.replace("0.5", "1" + "0" * 400)), 3, "expected a number above 0"),
    "all checks advisory": (policy(CAP.replace("}", ", tier: advisory}")), 2, "Add one, or say `advisory_only: true`"),
    "advisory by default": (
        "version: 1\ndefaults: {tier: advisory}\nchecks:\n  - " + CAP,
        3,
        "at least one of tier blocking: as it is, nothing can fail",
    ),
    "advisory only, but not all": (policy(CAP, rest="advisory_only: true\n"), 4, "a is blocking and can fail a run"),
    "a baseline that no check uses": (policy(CAP, rest="baseline:\n  samples: last/\n"), 5, "no check of test non_inferiority"),
    "a baseline without a name": (policy(REGRESS, rest="baseline:\n  samples:\n"), 5, "samples of baseline is None"),
    "required as a word": (policy(REGRESS, rest="baseline:\n  required: maybe\n"), 5, "expected true or false"),
    "a tie rate above one": (policy(CAP, rest="defaults: {max_tie_rate: 5}\n"), 4, "max_tie_rate of defaults is 5"),
    "an age below zero": (policy(CAP, rest="expect:\n  max_age_days: -1\n"), 5, "max_age_days of expect is -1"),
    "any model": (policy(CAP, rest="expect:\n  model: '*'\n"), 5, "a name that not every model has"),
    "a waiver that has expired": (
        policy(CAP, rest="waivers:\n  - id: a\n    reason: r\n    approved_by: x\n    expires: 2020-01-01\n"),
        8,
        "The waiver has expired",
    ),
    "a waiver of no check": (
        policy(CAP, rest="waivers:\n  - {id: z, reason: r, approved_by: x, expires: 2099-01-01}\n"),
        5,
        "id of waivers[1] is 'z'",
    ),
    "data of an unknown family": (
        policy(CAP, rest=f"evidence:\n  data_sha256:\n    russian: {64 * 'a'}\n"),
        5,
        "expected keys among rubia",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_exit_code_line_and_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str], mistake: str) -> None:
    text, line, message = MISTAKES[mistake]
    path = tmp_path / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    assert cli.main(["gate", "--policy", str(path), str(tmp_path), "--output", str(tmp_path / "out")]) == 2
    said = capsys.readouterr()
    assert f"{path} line {line}: " in said.err
    assert message in said.err
    assert (said.out, (tmp_path / "out").exists()) == ("", False)


@pytest.mark.parametrize("advisory_only", [False, True])
def test_a_policy_that_fails_nothing_may_say_so(tmp_path: Path, advisory_only: bool) -> None:
    path = tmp_path / "policy.yaml"
    text = policy(CAP.replace("}", ", tier: advisory}"), rest=f"advisory_only: {str(advisory_only).lower()}\n")
    path.write_text(text, encoding="utf-8")
    assert cli.main(["gate", "--policy", str(path), str(tmp_path)]) == (5 if advisory_only else 2)


@pytest.mark.parametrize(("folder", "found"), [("nowhere", "does not exist"), ("policy.yaml", "is a file")])
@pytest.mark.parametrize("place", ["run", "baseline"])
def test_a_folder_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: str, found: str, place: str
) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(policy(CAP), encoding="utf-8")
    there = str(tmp_path / folder)
    arguments = [there] if place == "run" else [str(tmp_path), "--baseline", there]
    assert cli.main(["gate", "--policy", str(path), *arguments]) == 2
    assert f"{there} {found}, expected the folder of a run" in capsys.readouterr().err
