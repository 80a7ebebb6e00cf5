"""One name is one number: a tie counts alike in the harness's table, the report, the gate and the exports."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from lm_eval_tasks.metrics.outcomes.pairs import is_tie
from lm_eval_tasks.metrics.runs.results import read_run
from lm_eval_tasks.metrics.runs.summary import METRICS, score
from lm_eval_tasks.scripts.compare import compare
from lm_eval_tasks.scripts.export import export
from lm_eval_tasks.scripts.report import report
from tests.support.gate_runs import Gate, Runs

TASKS = ("rubia_sample", "rubia_sample_gender", "rubia_sample_class")


@pytest.fixture
def tied(runs: Runs) -> Path:
    """A run in which a fifth of the pairs tie."""
    return runs.ties("tied", 5)


def of_the_harness(folder: Path) -> dict[tuple[str, str], float]:
    (file,) = folder.rglob("results_*.json")
    content = json.loads(file.read_text(encoding="utf-8"))
    return {(task, metric): content["results"][task][f"{metric},none"] for task in TASKS for metric in METRICS["pairs"]}


@pytest.mark.parametrize("metric", METRICS["pairs"])
def test_every_place_says_the_same(tied: Path, tmp_path: Path, judge: Gate, metric: str) -> None:
    harness = of_the_harness(tied)
    assert export.main(["--format", "summary", "--output", str(tmp_path), str(tied)]) == 0
    (run,) = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))["runs"]
    exported = {(one["task"], one["metric"]): one["value"] for one in run["scores"]}
    check = f"{{id: a, task: rubia_sample*, metric: {metric}, test: cap, cap: 0.9, scale: t}}"
    _, judged = judge(tied, check, rest="defaults: {max_tie_rate: 0.5, min_n: 10}")
    gated = {one["task"]: one["share"] for one in judged["checks"]}
    for task in TASKS:
        expected = pytest.approx(harness[task, metric], abs=1e-6)  # the gate rounds
        found = score(read_run(tied), task, metric)
        assert found is not None
        assert (found.share, exported[task, metric], gated[task]) == (expected, expected, expected)
        assert (found.n_valid, found.n_tied > 0) == (found.n_documents, True)


def test_report_and_compare(tied: Path, tmp_path: Path, runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    found = score(read_run(tied), "rubia_sample")
    assert found is not None
    assert found.share is not None
    assert found.worst_case is not None
    assert found.worst_case == pytest.approx((found.share, found.share + found.n_tied / 162))
    assert report.main([str(tied), "--output", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    low, high = (f"{100 * share:.1f}" for share in found.worst_case)
    assert re.search(rf"<b>{low}</b>.*<small>{found.n_tied} ties: {low} to {high} if all had gone one way</small>", page)
    assert compare.main([str(runs.pairs("half", 5)), str(tied)]) == 0
    (row,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("rubia_sample "))
    assert f"{found.share:.3f}" in row
    assert "162 of 162" in row


def test_ties_only_are_no_direction(runs: Runs) -> None:
    run = read_run(runs.pairs("half", 5))
    leaf = run.leaves["rubia_sample_gender"]
    documents = tuple(one | {"doc": one["doc"] | {"identical_tokens": True}} for one in leaf.documents)
    found = score(replace(run, leaves={leaf.name: replace(leaf, documents=documents)}), leaf.name)
    assert found is not None
    assert (found.share, found.interval, found.n_tied, found.n_valid) == (None, None, 63, 0)
    assert found.worst_case == (0, 1)


def test_each_normaliser_has_its_own_ties() -> None:
    doc = {"pro_trope": "aa", "anti_trope": "bbb", "pro_n_tokens": 2, "anti_n_tokens": 2}
    found = [is_tie(doc, (-4.0, -4.0), metric) for metric in METRICS["pairs"]]
    assert found == [True, True, False]
    assert [is_tie(doc, (-4.0, -6.0), metric) for metric in METRICS["pairs"]] == [False, False, True]
    assert all(is_tie(doc | {"undecided": True}, (-4.0, -6.0), metric) for metric in METRICS["pairs"])
