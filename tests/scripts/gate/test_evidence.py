"""Runs that the gate must not judge: limited, damaged, edited, of other versions or data."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lm_eval_tasks import __version__
from lm_eval_tasks.data import bangla_sample, rubia_sample
from tests.support.gate_runs import NEGATIVE, ROLES, SMALL, WIDE, Gate, Runs, copy_of, edit_results, reasons


class TestEvidence:
    """Runs that must not be judged; `judge` sees that none is changed."""

    def refused(self, judge: Gate, folder: Path, message: str, evidence: str = "") -> None:
        code, found = judge(folder, WIDE, rest=f"evidence: {{{evidence}}}")
        assert (code, found["verdict"]) == (5, "INVALID")
        assert message in reasons(found)
        assert {check["verdict"] for check in found["checks"]} == {"INVALID"}

    def test_limited(self, runs: Runs, judge: Gate) -> None:
        folder = runs.pairs("six", 7, "--limit", "10")
        self.refused(judge, folder, "only 40 of 162 documents were measured")
        code, found = judge(folder, WIDE.replace("}", ", min_n: 40}"), rest="evidence: {allow_limit: true}")
        assert found["checks"][0]["n"] == 40
        assert code == 4

    def test_no_samples(self, runs: Runs, judge: Gate, tmp_path: Path) -> None:
        folder = copy_of(runs.pairs("half", 5), tmp_path / "copy")
        for file in folder.rglob("samples_*"):
            file.unlink()
        self.refused(judge, folder, "no samples files")

    def test_run_cut_short(self, runs: Runs, judge: Gate, tmp_path: Path) -> None:
        """Samples are there, the results file never came."""
        folder = copy_of(runs.pairs("half", 5), tmp_path / "copy")
        next(folder.rglob("results_*")).unlink()
        self.refused(judge, folder, "holds no results files")

    @pytest.mark.parametrize(("kept", "message"), [(0.5, "cut short"), (1 / 3, "cut short")])
    def test_samples_truncated(self, runs: Runs, judge: Gate, tmp_path: Path, kept: float, message: str) -> None:
        folder = copy_of(runs.pairs("half", 5), tmp_path / "copy")
        file = sorted(folder.rglob("samples_*"))[0]
        text = file.read_text(encoding="utf-8")
        file.write_text(text[: int(len(text) * kept)], encoding="utf-8")
        self.refused(judge, folder, message)

    def test_results_truncated(self, runs: Runs, judge: Gate, tmp_path: Path) -> None:
        folder = copy_of(runs.pairs("half", 5), tmp_path / "copy")
        file = next(folder.rglob("results_*"))
        file.write_bytes(file.read_bytes()[:2000])
        self.refused(judge, folder, "The file is damaged; run again")

    def test_two_models(self, runs: Runs, judge: Gate, tmp_path: Path) -> None:
        copy_of(runs.pairs("half", 5), tmp_path / "both" / "half")
        copy_of(runs.pairs("pro", 10), tmp_path / "both" / "pro")
        self.refused(judge, tmp_path / "both", "are not one run: model_name is 'half' and 'pro'")

    def test_edited_by_hand(self, runs: Runs, judge: Gate, tmp_path: Path) -> None:
        def change(results: dict[str, Any]) -> None:
            results["results"]["rubia_sample_class"]["pct_stereotype,none"] = 0.5

        folder = edit_results(copy_of(runs.pairs("pro", 10), tmp_path / "copy"), change)
        self.refused(judge, folder, "pct_stereotype of rubia_sample_class is 0.5, but its samples give 1.0")

    def test_older_plugin(self, runs: Runs, judge: Gate, tmp_path: Path) -> None:
        def change(results: dict[str, Any], *, everywhere: bool = True) -> None:
            for task in results["configs"] if everywhere else ["rubia_sample_class"]:
                results["configs"][task]["metadata"]["plugin_version"] = "0.0.9"

        folder = edit_results(copy_of(runs.pairs("half", 5), tmp_path / "part"), partial(change, everywhere=False))
        self.refused(judge, folder, f"different plugin versions (0.0.9, {__version__})")
        folder = edit_results(copy_of(runs.pairs("half", 5), tmp_path / "copy"), change)
        self.refused(judge, folder, "made with version 0.0.9 of this plugin, the policy wants >=0.1", 'plugin: ">=0.1"')

    def test_older_task(self, runs: Runs, judge: Gate, tmp_path: Path) -> None:
        def change(results: dict[str, Any]) -> None:
            results["versions"]["rubia_sample_class"] = 0.9
            results["configs"]["rubia_sample_class"]["metadata"]["version"] = 0.9

        folder = edit_results(copy_of(runs.pairs("half", 5), tmp_path / "copy"), change)
        for name in ("rubia_sample", '"rubia*"', "rubia_sample_class"):
            evidence = f'task_versions: {{{name}: "1.0"}}'
            self.refused(judge, folder, "rubia_sample_class is of task version 0.9, the policy wants 1.0", evidence)
        assert judge(folder, WIDE, rest='evidence: {task_versions: {rubia_sample_gender: "1.0"}}')[0] == 0

    def test_rules_that_the_run_does_not_meet(self, runs: Runs, judge: Gate) -> None:
        folder = runs.pairs("half", 5)
        self.refused(judge, folder, "made with lm-eval 0.4.13, the policy wants >=0.5", 'lm_eval: ">=0.5"')
        self.refused(
            judge, folder, f"the rubia data has SHA-256 {rubia_sample().sha256[:8]}", f"data_sha256: {{rubia: {64 * 'a'}}}"
        )
        self.refused(judge, folder, "task_versions names rubia_gendr, which", 'task_versions: {rubia_gendr: "1.0"}')

    def test_data_of_bangla_tasks(self, runs: Runs, judge: Gate) -> None:
        rest = f"evidence: {{data_sha256: {{bangla_template_gender: {64 * 'a'}}}}}"
        code, found = judge(runs.roles("x", "x", NEGATIVE), ROLES, rest=rest)
        digest = bangla_sample("Prompts/template_gender_prompts.csv").sha256[:8]
        assert (code, f"the bangla_template_gender data has SHA-256 {digest}" in reasons(found)) == (5, True)

    def test_too_few_answers(self, runs: Runs, judge: Gate) -> None:
        code, found = judge(runs.pairs("half", 5), SMALL.replace("min_n: 20", "min_n: 28"))
        assert (code, "27 valid answers, fewer than min_n 28" in reasons(found)) == (5, True)
