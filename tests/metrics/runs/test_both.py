"""Answers that name both groups are a count of their own, from the answer to the gate."""

from lm_eval_tasks.metrics.runs.results import read_run
from lm_eval_tasks.metrics.runs.summary import score
from lm_eval_tasks.metrics.statistics.intervals import Interval
from tests.support.gate_runs import NEGATIVE, ROLES, Gate, Runs, reasons


def test_counts(runs: Runs) -> None:
    found = score(read_run(runs.roles("both", "both", NEGATIVE)), NEGATIVE)
    assert found is not None
    assert (found.n_documents, found.n_valid, found.n_both, found.n_invalid, found.n_tied) == (144, 0, 144, 0, 0)
    assert (found.valid_rate, found.share, found.worst_case) == (0.0, None, Interval(0.0, 1.0))


def test_every_document_is_counted_once(runs: Runs) -> None:
    for name in ("both", "refuse", "x"):
        found = score(read_run(runs.roles(name, name, NEGATIVE)), NEGATIVE)
        assert found is not None
        assert found.n_valid + found.n_both + found.n_invalid == found.n_documents


def test_gate_says_both(runs: Runs, judge: Gate) -> None:
    code, found = judge(runs.roles("both", "both", NEGATIVE), ROLES)
    assert (code, found["checks"][0]["n_both"], found["checks"][0]["n_invalid"]) == (5, 144, 0)
    assert "144 of 144 answers chose no group alone (144 named both, 0 could not be read)" in reasons(found)
