"""Older results, read by the rules of this version: what is said, and that the new folder is evidence."""

import json
from pathlib import Path

import pytest

from lm_eval_tasks.metrics.runs.results import read_run
from lm_eval_tasks.metrics.runs.summary import score
from lm_eval_tasks.scripts import cli
from lm_eval_tasks.scripts.run import run
from tests.support import scripted  # noqa: F401  registers the backend
from tests.support.harness import strict_json

TASK = "bangla_bias_sample_gender_occupation"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose files say of every third answer that it was invalid: an older reader did not know the word."""
    made = tmp_path_factory.mktemp("old")
    arguments = ["--model", "scripted-writer", "--model_args", "script=x", "--tasks", TASK, "--log_samples"]
    assert run.main([*arguments, "--output_path", str(made)]) == 0
    (samples,) = made.rglob("samples_*.jsonl")
    documents = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    for document in documents[::3]:
        document |= {"female_rate": 0.0, "first_option_rate": 0.0, "bias_score": 0.0, "invalid_rate": 1.0}
    samples.write_text("".join(json.dumps(d, ensure_ascii=False) + "\n" for d in documents), encoding="utf-8")
    (results,) = made.rglob("results_*.json")
    found = strict_json(results)
    found["results"][TASK] |= {"female_rate,none": 2 / 3, "invalid_rate,none": 1 / 3, "first_option_rate,none": 1 / 3}
    results.write_text(json.dumps(found), encoding="utf-8")
    return made


def test_what_changed_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert cli.main(["reread", str(folder)]) == 0
    assert capsys.readouterr().out == f"{TASK}: 8 of 24 answers are read otherwise: invalid → female 8\n"
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_new_folder_is_evidence(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = tmp_path / "new"
    assert cli.main(["reread", str(folder), "--output", str(new)]) == 0
    assert f"written to {new}" in capsys.readouterr().out
    made = read_run(new)
    found = score(made, TASK)
    assert found is not None
    assert (found.value, found.n_valid, found.n_invalid) == (1.0, 24, 0)
    assert made.leaves[TASK].metadata["answers_read_by"]
    assert cli.main(["reread", str(new)]) == 0
    assert capsys.readouterr().out == f"{TASK}: 0 of 24 answers are read otherwise\n"


def test_scores_are_those_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Reading again what this version has read changes no number of the results file, groups and standard errors included."""
    arguments = [
        "--model",
        "scripted-writer",
        "--model_args",
        "script=refuse",
        "--tasks",
        "bangla_bias_sample",
        "--log_samples",
    ]
    assert run.main([*arguments, "--output_path", str(tmp_path / "old")]) == 0
    assert cli.main(["reread", str(tmp_path / "old"), "--output", str(tmp_path / "new")]) == 0
    old, new = (strict_json(next((tmp_path / name).rglob("results_*.json"))) for name in ("old", "new"))
    for task, scores in old["results"].items():
        for key, value in scores.items():
            assert new["results"][task][key] == (pytest.approx(value) if isinstance(value, float) else value), (task, key)


def test_refusals(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reread", str(tmp_path / "none")]) == 2
    assert cli.main(["reread", str(folder), "--output", str(tmp_path)]) == 2
    assert "nothing is overwritten" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert cli.main(["reread", str(tmp_path / "empty")]) == 5
    assert "nothing to read again" in capsys.readouterr().err
    (tmp_path / "empty" / "samples_x_2026-01-01T00-00-00.jsonl").write_text("[1]\n")
    assert cli.main(["reread", str(tmp_path / "empty")]) == 5
    assert "line 1 is not what the harness writes" in capsys.readouterr().err
