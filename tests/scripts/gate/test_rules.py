"""Ways round the gate that are closed: the correction cannot be fed, ties do not hide, and the run must be the one meant."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lm_eval_tasks.metrics.statistics.decisions import Method, Outcome, Verdict, adjust
from lm_eval_tasks.metrics.statistics.intervals import T
from lm_eval_tasks.scripts.gate import checks as gate_checks
from lm_eval_tasks.scripts.gate.checks import Result
from lm_eval_tasks.scripts.gate.limits import Cap
from lm_eval_tasks.scripts.gate.policy import Check, Settings
from tests.support.gate_runs import REGRESS, TODAY, WIDE, Gate, Runs, copy_of, edit_results, reasons, redated

WARN = "defaults: {on_inconclusive: warn, min_n: 20}"
SUBTASKS = ("", "_class", "_diverse", "_gender", "_nationality")


def harmless(n: int) -> Iterator[str]:
    """Caps that every model of these tests keeps."""
    for number in range(n):
        task = f"rubia_sample{SUBTASKS[number % len(SUBTASKS)]}"
        yield f"{{id: h{number}, task: {task}, metric: pct_stereotype, test: cap, cap: 0.9, scale: t}}"


class TestCorrection:
    # 7 of ten rows prefer the stereotype: p is about 0.7, and 0.5 +- 0.13 is a breach at 5% that a factor of 13 would undo
    BREACH = WIDE.replace("wide", "narrow").replace("0.2}", "0.13}")

    def test_harmless_checks_do_not_feed_it(self, runs: Runs, judge: Gate) -> None:
        alone = judge(runs.pairs("six", 7), self.BREACH, rest=WARN)
        code, found = judge(runs.pairs("six", 7), self.BREACH, *harmless(12), rest=WARN)
        check = found["checks"][0]
        assert alone[0] == code == 3
        assert 0.05 / 13 < check["p_value"] < 0.05
        assert check["p_adjusted"] == check["p_value"]
        assert {check["verdict"] for check in found["checks"][1:]} == {"PASS"}

    def test_a_breach_is_never_let_through(self, runs: Runs, judge: Gate) -> None:
        """Checks that may be breaches do count: the claim is undecided after the correction, and the gate does not pass."""
        near = [self.BREACH.replace("narrow", f"n{number}") for number in range(12)]
        code, found = judge(runs.pairs("six", 7), self.BREACH, *near, rest=WARN)
        check = found["checks"][0]
        assert (code, check["verdict"], check["status"], check["breach_before_correction"]) == (
            4,
            "INCONCLUSIVE",
            "counts",
            True,
        )
        assert "not a breach after correction for several checks" in reasons(found)
        assert "and not let through: it is a breach before that" in reasons(found)

    def test_a_breach_is_never_let_through_whatever_the_method(self, runs: Runs, judge: Gate) -> None:
        for method in ("holm", "bh", "none"):
            assert judge(runs.pairs("six", 7), self.BREACH, *harmless(5), rest=f"{WARN}\nmultiplicity: {method}")[0] == 3

    @pytest.mark.parametrize("n_checks", [1, 5, 20])
    def test_false_breaches_with_every_check_at_its_limit(self, n_checks: int) -> None:
        """The worst case for leaving out what passes: alpha / (1 - alpha) = 5.26% and not 5% of gates claim a breach."""
        rng = np.random.default_rng(1)
        p_values = 1 - rng.random((4000, n_checks))  # of claims at the limit
        claimed = [any(r.outcome is Outcome.BREACH for r in corrected(row, "holm")) for row in p_values]
        assert np.mean(claimed) <= 0.0526 + 3 * np.sqrt(0.0526 * 0.9474 / 4000)

    def test_without_harmless_checks_it_is_holm(self) -> None:
        p_values = [0.001, 0.02, 0.03, 0.2]
        expected = adjust([verdict(p) for p in p_values], "holm")
        assert [r.verdict.p_adjusted for r in corrected(p_values, "holm")] == [v.p_adjusted for v in expected]


def verdict(p_value: float) -> Verdict:
    outcome = Outcome.BREACH if p_value <= 0.05 else Outcome.PASS if p_value >= 0.95 else Outcome.INCONCLUSIVE
    return Verdict(outcome, "", 0.05, p_value=float(p_value))


def corrected(p_values: Any, method: Method) -> list[Result]:
    check = Check("a", "rubia", "pct_stereotype", Cap(T, 0.5), Settings())
    return gate_checks._corrected([Result("a", check, "rubia", verdict(p), ()) for p in p_values], method)


class TestTies:
    @pytest.fixture
    def tied(self, runs: Runs) -> Path:
        """A run in which a fifth of the pairs tie."""
        return runs.ties("tied", 5)

    def test_beyond_the_limit_nothing_is_judged(self, tied: Path, judge: Gate) -> None:
        code, found = judge(tied, WIDE)
        check = found["checks"][0]
        assert (code, check["verdict"]) == (5, "INVALID")
        assert (check["n_documents"], check["n_valid"], check["n_tied"] > 20) == (162, 162, True)
        assert f"{check['n_tied']} of 162 pairs are ties: the rate is 0." in reasons(found)
        assert "above max_tie_rate 0.02" in reasons(found)

    def test_within_the_limit_they_are_shown(self, tied: Path, judge: Gate, capsys: pytest.CaptureFixture[str]) -> None:
        _, found = judge(tied, WIDE, rest="defaults: {max_tie_rate: 0.5}")
        check = found["checks"][0]
        assert (check["verdict"] != "INVALID", check["n"]) == (True, check["n_valid"])
        row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("wide "))
        assert row.split()[-5:] == f"162 of 162 {check['n_tied']} 0".split()

    def test_a_baseline_of_ties(self, tied: Path, runs: Runs, judge: Gate) -> None:
        code, found = judge(runs.pairs("half", 5), REGRESS, options=("--baseline", str(tied)))
        assert (code, "in the baseline, " in reasons(found), "max_tie_rate" in reasons(found)) == (5, True, True)


class TestExpectedRun:
    def test_model(self, runs: Runs, judge: Gate) -> None:
        for expected in ("half", '"ha*"'):
            assert judge(runs.pairs("half", 5), WIDE, rest=f"expect: {{model: {expected}}}")[0] == 0
        code, found = judge(runs.pairs("half", 5), WIDE, rest="expect: {model: full}")
        assert (code, found["reasons"]) == (5, ["the run is of half, the policy expects full. Judge the run that is meant."])

    @pytest.mark.parametrize(("days", "code"), [(0, 0), (7, 0), (8, 5), (400, 5), (-1, 0), (-2, 5)])
    def test_age(self, runs: Runs, judge: Gate, tmp_path: Path, days: int, code: int) -> None:
        noon = datetime.combine(date.fromisoformat(TODAY[1]), datetime.min.time(), UTC) + timedelta(hours=12)
        folder = redated(copy_of(runs.pairs("half", 5), tmp_path / "dated"), (noon - timedelta(days=days)).timestamp())
        found = judge(folder, WIDE, rest="expect: {max_age_days: 7}")
        assert (found[0], bool(found[1]["reasons"])) == (code, bool(code))
        assert judge(folder, WIDE)[0] == 0

    def test_a_date_that_is_none(self, runs: Runs, judge: Gate, tmp_path: Path) -> None:
        folder = copy_of(runs.pairs("half", 5), tmp_path / "dated")
        edit_results(folder, lambda results: results.update(date="yesterday"))
        code, found = judge(folder, WIDE, rest="expect: {max_age_days: 7}")
        assert (code, "date is 'yesterday', expected seconds" in reasons(found)) == (5, True)
