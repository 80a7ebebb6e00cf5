"""The gate on real harness output: every verdict, every exit code, comparisons with a baseline."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lm_eval_tasks.scripts.gate import gate
from lm_eval_tasks.scripts.gate import policy as policy_module
from tests.support.gate_runs import (
    NEGATIVE,
    PATTERN,
    REGRESS,
    ROLES,
    SMALL,
    TODAY,
    WAIVED,
    WIDE,
    Gate,
    Runs,
    contents,
    copy_of,
    edit_results,
    reasons,
    write_policy,
)


class TestVerdicts:
    def test_pass(self, runs: Runs, judge: Gate) -> None:
        code, found = judge(runs.pairs("half", 5), WIDE)
        (check,) = found["checks"]
        assert (code, found["verdict"], check["verdict"], found["model"]) == (0, "PASS", "PASS", "half")
        assert (check["n"], check["n_valid"], check["n_clusters"], check["signature"][:12]) == (162, 162, 162, "rubia_sample")
        assert (check["n_documents"], check["n_tied"], check["n_both"], check["n_invalid"]) == (162, 0, 0, 0)
        assert (check["limit"], check["limit_p"]) == ("p from 0.3 to 0.7", {"low": 0.3, "high": 0.7})
        assert 0.3 < check["interval"]["low"] < check["estimate"] < check["interval"]["high"] < 0.7

    def test_breach(self, runs: Runs, judge: Gate) -> None:
        code, found = judge(runs.pairs("pro", 10), WIDE)
        (check,) = found["checks"]
        assert (code, found["verdict"], check["status"], check["estimate"]) == (3, "BREACH", "counts", 1.0)
        assert check["p_value"] < 0.001

    def test_inconclusive_where_answers_are_few(self, runs: Runs, judge: Gate) -> None:
        assert judge(runs.pairs("half", 5), SMALL)[0] == 4
        code, found = judge(runs.pairs("half", 5), SMALL, rest="defaults: {on_inconclusive: warn}")
        assert (code, found["verdict"], found["checks"][0]["status"]) == (0, "INCONCLUSIVE", "warned")

    def test_invalid_where_the_model_refuses(self, runs: Runs, judge: Gate) -> None:
        code, found = judge(runs.roles("shy", "refuse", NEGATIVE), ROLES)
        assert (code, found["verdict"], found["checks"][0]["estimate"]) == (5, "INVALID", None)
        assert "144 of 144 answers could not be read" in reasons(found)

    def test_bias_score(self, runs: Runs, judge: Gate) -> None:
        code, found = judge(runs.roles("x", "x", NEGATIVE), ROLES)
        assert (code, found["checks"][0]["scale"], found["checks"][0]["estimate"]) == (3, "bias_score", 1.0)

    def test_order_of_exit_codes(self, runs: Runs, judge: Gate) -> None:
        folder = runs.pairs("pro", 10)
        few = SMALL.replace("0.5", "0.98").replace("0.1,", "0.06,")
        missing = WIDE.replace("wide", "missing").replace("rubia_sample", "rubia")
        assert judge(folder, few)[0] == 4
        assert judge(folder, few, WIDE)[0] == 3
        assert judge(folder, few, WIDE, missing)[0] == 5

    def test_waived(self, runs: Runs, judge: Gate) -> None:
        code, found = judge(runs.pairs("pro", 10), WIDE, rest=WAIVED)
        assert (code, found["verdict"], found["checks"][0]["verdict"]) == (0, "PASS", "BREACH")
        assert found["checks"][0]["waiver"] == {"reason": "known", "approved_by": "team", "expires": "2026-12-31"}

    def test_waiver_of_one_task_of_a_pattern(self, runs: Runs, judge: Gate) -> None:
        rest = WAIVED.replace("id: wide", 'id: "all[rubia_sample_class]"')
        code, found = judge(runs.pairs("pro", 10), PATTERN.replace("0.9", "0.3"), rest=rest)
        assert code == 3
        assert [check["status"] for check in found["checks"]].count("waived") == 1

    def test_a_waiver_does_not_make_evidence(self, runs: Runs, judge: Gate) -> None:
        assert judge(runs.pairs("pro", 10), WIDE.replace("rubia_sample", "rubia"), rest=WAIVED)[0] == 5

    def test_advisory(self, runs: Runs, judge: Gate) -> None:
        code, found = judge(runs.pairs("pro", 10), WIDE.replace("}", ", tier: advisory}"), PATTERN.replace("0.9", "0.95"))
        assert (found["checks"][0]["verdict"], found["checks"][0]["status"]) == ("BREACH", "advisory")
        assert found["checks"][0]["p_adjusted"] is None
        assert code == 4

    def test_pattern_gives_one_verdict_for_each_task(self, runs: Runs, judge: Gate) -> None:
        code, found = judge(runs.pairs("half", 5), PATTERN)
        names = ("class", "diverse", "gender", "nationality")
        assert {check["id"] for check in found["checks"]} == {f"all[rubia_sample_{name}]" for name in names}
        assert code == 0

    @pytest.mark.parametrize("task", ["rubia", '"bangla_*"'])
    def test_a_check_that_matches_nothing_is_invalid(self, runs: Runs, judge: Gate, task: str) -> None:
        code, found = judge(runs.pairs("half", 5), WIDE, WIDE.replace("wide", "other").replace("rubia_sample", task))
        assert (code, [check["verdict"] for check in found["checks"]]) == (5, ["PASS", "INVALID"])
        assert "the run has no complete" in found["checks"][1]["reasons"][0]

    def test_breach_claims_are_corrected_for_their_number(self, runs: Runs, judge: Gate) -> None:
        again = WIDE.replace("wide", "again")
        for method, factor in (("holm", 2), ("bh", 1), ("none", 1)):
            _, found = judge(
                runs.pairs("six", 7), WIDE.replace("0.2", "0.1"), again.replace("0.2", "0.1"), rest=f"multiplicity: {method}"
            )
            check = found["checks"][0]
            assert check["p_adjusted"] == pytest.approx(min(1, factor * check["p_value"]), rel=1e-4)

    def test_metric_that_the_task_does_not_have(self, runs: Runs, judge: Gate) -> None:
        code, found = judge(runs.pairs("half", 5), WIDE.replace("pct_stereotype", "bias_score"))
        assert (code, "rubia_sample has no bias_score, only pct_stereotype" in reasons(found)) == (5, True)


class TestBaseline:
    def test_no_worse(self, runs: Runs, judge: Gate) -> None:
        options = ("--baseline", str(runs.pairs("six", 7)))
        code, found = judge(runs.pairs("half", 5), REGRESS, options=options)
        check = found["checks"][0]
        assert (code, found["baseline_model"], check["estimate"] < 0) == (0, "six", True)
        assert check["discordant"]["candidate_only"] == 0
        assert check["discordant"]["baseline_only"] > 20

    def test_worse(self, runs: Runs, judge: Gate) -> None:
        code, found = judge(runs.pairs("pro", 10), REGRESS, options=("--baseline", str(runs.pairs("half", 5))))
        assert (code, found["verdict"]) == (3, "BREACH")

    def test_same_numbers_for_the_same_seed_whatever_else_is_checked(self, runs: Runs, judge: Gate) -> None:
        options = ("--baseline", str(runs.pairs("six", 7)))
        _, alone = judge(runs.pairs("half", 5), REGRESS, options=options)
        _, beside = judge(runs.pairs("half", 5), REGRESS.replace("regress", "first"), REGRESS, options=options)
        assert alone["checks"][0]["interval"] == beside["checks"][1]["interval"]

    def test_responses_of_another_model(self, runs: Runs, judge: Gate) -> None:
        """Two models that share a response cache: the candidate would look exactly as good as the baseline."""
        code, found = judge(runs.pairs("twin", 5), REGRESS, WIDE, options=("--baseline", str(runs.pairs("half", 5))))
        assert (code, [check["verdict"] for check in found["checks"]]) == (5, ["INVALID", "PASS"])
        assert "all 162 responses equal the baseline's, though the models differ (half and twin)" in reasons(found)
        assert "On the tasks that both runs have, all 162 responses equal" in found["warnings"][0]

    def test_model_against_itself(self, runs: Runs, judge: Gate) -> None:
        code, found = judge(runs.pairs("half", 5), REGRESS, options=("--baseline", str(runs.pairs("half", 5))))
        assert (code, "compares a model with itself" in reasons(found), len(found["warnings"])) == (5, True, 1)

    def test_missing(self, runs: Runs, judge: Gate) -> None:
        folder = runs.pairs("half", 5)
        code, found = judge(folder, REGRESS)
        assert (code, "no baseline run is given. Name its folder with --baseline" in reasons(found)) == (5, True)
        code, found = judge(folder, REGRESS, WIDE, rest="baseline: {required: false}")
        assert (code, [check["status"] for check in found["checks"]]) == (0, ["warned", "passed"])

    @pytest.mark.parametrize("required", ["true", "false"])
    def test_named_and_not_there(self, runs: Runs, judge: Gate, required: str) -> None:
        """A name may be mistyped: no baseline yet is only where none is named."""
        code, found = judge(
            runs.pairs("half", 5), REGRESS, WIDE, rest=f"baseline: {{samples: lats-release, required: {required}}}"
        )
        assert (code, [check["verdict"] for check in found["checks"]]) == (5, ["INVALID", "PASS"])
        assert "the baseline cannot be used: " in reasons(found)
        assert "lats-release does not exist" in reasons(found)

    def test_caps_only_do_not_ask_for_one(self, runs: Runs, judge: Gate) -> None:
        code, found = judge(runs.pairs("half", 5), WIDE)
        assert (code, found["warnings"]) == (0, [])
        code, found = judge(runs.pairs("half", 5), WIDE, options=("--baseline", str(runs.pairs("six", 7))))
        assert (code, found["warnings"]) == (
            0,
            ["The baseline is not used: no check of test non_inferiority compares with it."],
        )

    def test_relative_to_the_policy(self, runs: Runs, judge: Gate, tmp_path: Path) -> None:
        copy_of(runs.pairs("six", 7), tmp_path / "last")
        assert judge(runs.pairs("half", 5), REGRESS, rest="baseline: {samples: last}")[0] == 0

    def test_other_documents(self, runs: Runs, judge: Gate) -> None:
        limited = runs.pairs("six", 7, "--limit", "10")
        code, found = judge(runs.pairs("half", 5), REGRESS, options=("--baseline", str(limited)))
        assert (code, "document set: 0 documents in the baseline only, 122 in the candidate" in reasons(found)) == (5, True)

    def test_other_first_token_convention(self, runs: Runs, judge: Gate, tmp_path: Path) -> None:
        def change(results: dict[str, Any]) -> None:
            for config in results["configs"].values():
                config["metadata"]["first_token_convention"] = "context"

        other = edit_results(copy_of(runs.pairs("six", 7), tmp_path / "other"), change)
        code, found = judge(runs.pairs("half", 5), REGRESS, options=("--baseline", str(other)))
        assert (code, "first-token convention: context in the baseline, scored in the candidate" in reasons(found)) == (5, True)


class TestUsage:
    def test_policy_errors(
        self, runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
        expired = WAIVED.replace("2026-12-31", "2026-11-30")
        for rest, message in (("tolerance: 1", "unknown key 'tolerance'"), (expired, "The waiver has expired")):
            policy = write_policy(tmp_path, (WIDE,), rest)
            assert (
                gate.main(["--policy", str(policy), str(runs.pairs("half", 5)), "--output", str(tmp_path / "o"), *TODAY]) == 2
            )
            shown = capsys.readouterr()
            assert message in shown.err
            assert shown.out.startswith("::error title=policy::")
        assert not (tmp_path / "o").exists()

    def test_a_waiver_expires_by_itself(self, runs: Runs, tmp_path: Path) -> None:
        policy = write_policy(tmp_path, (WIDE,), WAIVED.replace("2026-12-31", "2020-01-01"))
        assert gate.main(["--policy", str(policy), str(runs.pairs("half", 5))]) == 2

    @pytest.mark.parametrize(
        "arguments", [["DIR"], ["--policy", "p.yaml"], ["--explain"], ["--policy", "p.yaml", "DIR", "--today", "soon"]]
    )
    def test_command_line(self, arguments: list[str]) -> None:
        with pytest.raises(SystemExit, match="2"):
            gate.main(arguments)

    def test_files_of_others_are_not_overwritten(self, runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "o").mkdir()
        (tmp_path / "o" / "junit.xml").write_text("<testsuites name='pytest'/>")
        policy = write_policy(tmp_path, (WIDE,))
        before = contents(tmp_path)
        assert gate.main(["--policy", str(policy), str(runs.pairs("half", 5)), "--output", str(tmp_path / "o")]) == 2
        assert gate.main(["--policy", str(policy), str(runs.pairs("half", 5)), "--output", str(policy)]) == 2
        assert contents(tmp_path) == before
        assert "exists and is not of this gate" in capsys.readouterr().err

    def test_crash(self, tmp_path: Path) -> None:
        code = "import sys; from lm_eval_tasks.scripts import gate; gate.read = lambda folder: 1 / 0; "
        code += "sys.exit(gate.main(sys.argv[1:]))"
        command = [sys.executable, "-c", code, "--policy", str(write_policy(tmp_path, (WIDE,))), str(tmp_path)]
        assert subprocess.run(command, capture_output=True).returncode == 1


@pytest.mark.parametrize("with_baseline", [True, False])
def test_starter_policy_on_the_sample(runs: Runs, tmp_path: Path, with_baseline: bool) -> None:
    text = Path(policy_module.__file__).with_name("starter_policy.yaml").read_text(encoding="utf-8")
    text = (
        text.replace("task: rubia", "task: rubia_sample")
        .replace("min_n: 100", "min_n: 20")
        .replace("margin: 0.06", "margin: 0.3")
    )
    text = re.sub(r"\n  data_sha256:.*|\n  - {id: ru-subdomains[^}]*}", "", text)
    (tmp_path / "starter.yaml").write_text(text, encoding="utf-8")
    options = ["--baseline", str(runs.pairs("six", 7))] if with_baseline else []
    arguments = ["--policy", str(tmp_path / "starter.yaml"), str(runs.pairs("half", 5)), "--output", str(tmp_path), *options]
    assert gate.main(arguments) == 0
    found = json.loads((tmp_path / "gate.json").read_text(encoding="utf-8"))
    assert found["verdict"] == ("PASS" if with_baseline else "INCONCLUSIVE")
    assert [check["status"] for check in found["checks"]].count("passed") == (5 if with_baseline else 4)
