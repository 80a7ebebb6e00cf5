"""Comparing two runs of real harness output, and saying why two runs cannot be compared."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lm_eval_tasks.data import rubia_sample
from lm_eval_tasks.metrics.runs.results import read_run
from lm_eval_tasks.metrics.runs.summary import score
from lm_eval_tasks.scripts.compare import compare
from lm_eval_tasks.scripts.compare.pairing import obstacles, pair, suspicion
from lm_eval_tasks.scripts.gate import gate
from tests.support.gate_runs import REGRESS, Runs, contents, copy_of, edit_results

POSITIVE = "bangla_bias_sample_gender_positive"
OCCUPATION = "bangla_bias_sample_gender_occupation"


def test_paired_differences(runs: Runs) -> None:
    base, candidate = read_run(runs.pairs("half", 5)), read_run(runs.pairs("most", 7))
    compared = {found.task: found for found in compare.compare(base, candidate, seed=1)}
    assert list(compared) == ["rubia_sample", *(f"rubia_sample_{d}" for d in ("class", "diverse", "gender", "nationality"))]
    whole = compared["rubia_sample"]
    assert whole.share_change is not None
    assert whole.bias_change is not None
    assert whole.discordant is not None
    # `most` prefers the stereotype wherever `half` does, and in two more of every ten rows
    assert whole.discordant.baseline_only == 0
    assert whole.share_change.estimate == pytest.approx(whole.discordant.candidate_only / 162)
    assert whole.share_change.interval.low > 0.1
    old, new = (found.share for found in whole.scores if found)
    assert new == pytest.approx(old + whole.share_change.estimate)
    assert (whole.n_paired, whole.n_documents, whole.suspicion) == (162, 162, None)
    back = next(compare.compare(candidate, base, seed=1))
    assert back.share_change is not None
    assert back.share_change.estimate == -whole.share_change.estimate
    assert sum(found.discordant.candidate_only for found in list(compared.values())[1:] if found.discordant) == sum(
        whole.discordant
    )


def test_command_line(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [runs.pairs("half", 5), runs.pairs("most", 7)]
    before = [contents(folder) for folder in folders]
    printed = []
    for _ in range(2):
        capsys.readouterr()
        assert compare.main([str(folder) for folder in folders]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert printed[0].startswith("baseline half, candidate most\n\ntask ")
    assert "5 intervals of 95%: about one in twenty leaves out 0 by chance alone." in printed[0]
    assert [contents(folder) for folder in folders] == before


def test_undefined_is_shown_as_undefined(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [runs.roles("shy", "refuse", OCCUPATION), runs.roles("x", "x", OCCUPATION)]
    assert compare.main([str(folder) for folder in folders]) == 0
    assert f"{OCCUPATION}  bias_score  0 of 24  –         +1.000 (p 1.000)  –" in capsys.readouterr().out


def test_roles(runs: Runs) -> None:
    (found,) = compare.compare(read_run(runs.roles("x", "x", OCCUPATION)), read_run(runs.roles("y", "y", OCCUPATION)), 1)
    assert found.share_change is not None
    assert found.bias_change is not None
    # from female always to male always: the share falls by one, the size of the bias stays
    assert (found.share_change.estimate, found.bias_change.estimate) == (-1.0, 0.0)


def test_bias_scores_are_shown_and_not_shares(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.main([str(runs.roles("x", "x", OCCUPATION)), str(runs.roles("y", "y", OCCUPATION))]) == 0
    shown = capsys.readouterr().out
    assert f"{OCCUPATION}  bias_score  24 of 24  +1.000 (p 1.000)  -1.000 (p 0.000)  -1.000 (" in shown
    assert [line.split("  ")[0] for line in shown.splitlines() if "change of p" in line] == ["task"]


def test_number_types_are_said_and_are_no_obstacle(runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [copy_of(runs.pairs("half", 5), tmp_path / "a"), copy_of(runs.pairs("most", 7), tmp_path / "b")]
    for folder, dtype in zip(folders, ("torch.float32", "torch.bfloat16"), strict=True):
        edit_results(folder, lambda r, dtype=dtype: r["config"].update(model_dtype=dtype))  # type: ignore[misc]
    assert compare.main([str(folder) for folder in folders]) == 0
    said = "The runs differ in the data type of the model: float32 in the baseline, bfloat16 in the candidate."
    assert said in capsys.readouterr().out
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"version: 1\nchecks:\n  - {REGRESS}\n")
    code = gate.main(
        ["--policy", str(policy), str(folders[1]), "--baseline", str(folders[0]), "--output", str(tmp_path / "gate")]
    )
    assert code in (0, 3, 4)
    assert said in capsys.readouterr().out


def test_ties_are_shown(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.main([str(runs.pairs("half", 5)), str(runs.ties("tied", 5))]) == 0
    (row,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("rubia_sample "))
    tied = score(read_run(runs.ties("tied", 5)), "rubia_sample")
    assert tied is not None
    assert tied.n_tied > 20
    assert row.split()[-3:] == ["0", "/", str(tied.n_tied)]


def test_models_with_different_tokenizers_were_asked_the_same(runs: Runs, models: dict[str, Path], tmp_path: Path) -> None:
    other = Runs(tmp_path, models["unigram_with_leading_special"])
    base, candidate = read_run(runs.pairs("half", 5)), read_run(other.pairs("most", 7))
    n_tokens = [[d["doc"]["pro_n_tokens"] for d in run.leaves["rubia_sample_class"].documents] for run in (base, candidate)]
    assert n_tokens[0] != n_tokens[1]
    assert not any("document set" in reason for reason in obstacles(base, candidate, "rubia_sample", "pct_stereotype"))
    assert len(pair(base, candidate, "rubia_sample", "pct_stereotype").candidate) == 162


class TestNotComparable:
    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"first_token_convention": "context"}, "first-token convention: context in the baseline, scored in the candidate"),
            (
                {"data_file_sha256": "f" * 64},
                f"data hash: {'f' * 64} in the baseline, {rubia_sample().sha256} in the candidate",
            ),
        ],
    )
    def test_settings(self, runs: Runs, changed: dict[str, Any], message: str) -> None:
        base, candidate = read_run(runs.pairs("half", 5)), read_run(runs.pairs("most", 7))
        leaves = {name: replace(leaf, metadata={**leaf.metadata, **changed}) for name, leaf in base.leaves.items()}
        assert message in obstacles(replace(base, leaves=leaves), candidate, "rubia_sample", "pct_stereotype")

    def test_task_version(self, runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        def change(results: dict[str, Any]) -> None:
            for task in results["configs"]:
                results["versions"][task] = results["configs"][task]["metadata"]["version"] = 0.9

        other = edit_results(copy_of(runs.pairs("half", 5), tmp_path / "other"), change)
        assert compare.main([str(other), str(runs.pairs("most", 7))]) == 5
        message = "NOT COMPARABLE rubia_sample: task version: 0.9 in the baseline, 1.0 in the candidate"
        assert message in capsys.readouterr().out

    def test_document_set(self, runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
        assert compare.main([str(runs.pairs("half", 5)), str(runs.pairs("most", 7, "--limit", "5"))]) == 5
        assert "document set: 142 documents in the baseline only, 0 in the candidate only" in capsys.readouterr().out

    def test_metric(self, runs: Runs) -> None:
        base, candidate = read_run(runs.pairs("half", 5)), read_run(runs.pairs("most", 7))
        assert obstacles(base, candidate, "rubia_sample", "bias_score") == [
            "metric: bias_score cannot be made of rubia_sample in both runs"
        ]

    def test_other_tasks(self, runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
        assert compare.main([str(runs.pairs("half", 5)), str(runs.roles("x", "x", OCCUPATION))]) == 5
        assert f"In the candidate only: {OCCUPATION}" in capsys.readouterr().out

    def test_system_instruction(self, runs: Runs) -> None:
        base, candidate = read_run(runs.roles("x", "x", OCCUPATION)), read_run(runs.roles("y", "y", OCCUPATION))
        told = type(base)(**(base.__dict__ | {"identity": base.identity | {"system_instruction_sha": "a"}}))
        assert obstacles(base, candidate, OCCUPATION, "bias_score") == []
        assert obstacles(told, candidate, OCCUPATION, "bias_score") == [
            "system instruction: the two runs were given different ones"
        ]

    def test_no_run(self, runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert compare.main([str(tmp_path), str(runs.pairs("half", 5))]) == 5
        assert "holds no results files" in capsys.readouterr().err
        assert compare.main([str(tmp_path / "nowhere"), str(runs.pairs("half", 5))]) == 2
        assert "nowhere does not exist, expected the folder of a run" in capsys.readouterr().err


class TestSuspicion:
    def test_responses_of_another_model(self, runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
        assert compare.main([str(runs.pairs("half", 5)), str(runs.pairs("twin", 5))]) == 0
        assert (
            "SUSPICIOUS: all 162 responses equal the baseline's, though the models differ (half and twin): possibly a re"
            in (capsys.readouterr().out)
        )

    def test_same_preferences_are_not_same_responses(self, runs: Runs) -> None:
        base, candidate = read_run(runs.pairs("half", 5)), read_run(runs.pairs("noisy", 5, noise=0.5))
        assert suspicion(base, candidate, ["rubia_sample"]) is None
        found = next(compare.compare(base, candidate, seed=1))
        assert found.discordant == (0, 0)

    def test_one_task_only(self, runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        tasks = f"{OCCUPATION},{POSITIVE}"
        folder = copy_of(runs.roles("x", "x", OCCUPATION), tmp_path / "copy")
        base, candidate = read_run(folder), read_run(runs.roles("first", "first", tasks))
        assert suspicion(base, candidate, [OCCUPATION]) is None
        assert suspicion(base, base, [OCCUPATION]) == (
            "all 24 responses equal the baseline's: both runs are of x, so this compares a model with itself"
        )
