"""Failures of a backend under the plain harness: seen in the responses of a whole task, before any score is made of them."""

import json
from pathlib import Path
from typing import Any

import lm_eval
import pytest

from lm_eval_tasks.failures import BackendError, check_loglikelihoods, writable
from tests.support.harness import ScriptedLM, manager

REQUESTS = [("", f"sentence {number}") for number in range(8)]


class TestLogLikelihoods:
    @pytest.mark.parametrize("value", [None, float("nan"), float("-inf"), "-1.0", True])
    def test_no_number(self, value: Any) -> None:
        with pytest.raises(BackendError, match=r"task: the backend's log-likelihood of 'sentence 1' is .*expected a finite"):
            check_loglikelihoods("task", REQUESTS[:2], [(-1.0, False), (value, False)])

    @pytest.mark.parametrize("response", [None, (), "x"])
    def test_no_response(self, response: Any) -> None:
        with pytest.raises(BackendError, match="'sentence 0' is None"):
            check_loglikelihoods("task", REQUESTS[:1], [response])

    def test_all_zero(self) -> None:
        with pytest.raises(BackendError, match="gives all 2 sentences the log-likelihood 0"):
            check_loglikelihoods("task", REQUESTS[:2], [(0.0, False)] * 2)
        check_loglikelihoods("task", REQUESTS[:2], [(0.0, False), (-1.0, False)])

    def test_all_equal(self) -> None:
        with pytest.raises(BackendError, match=r"gives all 8 sentences the same log-likelihood, -2\.5"):
            check_loglikelihoods("task", REQUESTS, [(-2.5, False)] * 8)

    def test_few_or_the_same_sentences_may_be_equal(self) -> None:
        check_loglikelihoods("task", REQUESTS[:7], [(-2.5, False)] * 7)
        check_loglikelihoods("task", REQUESTS[:1] * 8, [(-2.5, False)] * 8)

    def test_nothing_to_score_is_left_out(self) -> None:
        check_loglikelihoods("task", [("a", ""), ("", "b")], [(0.0, False), (-1.0, False)])
        check_loglikelihoods("task", [], [])


@pytest.mark.parametrize(
    ("answer", "said"),
    [(lambda text: 0.0, "gives all 54 sentences the log-likelihood 0"), (lambda text: -3.0, "the same log-likelihood, -3.0")],
)
def test_the_plain_harness_ends_in_the_error(models: dict[str, Path], answer: Any, said: str) -> None:
    tasks = manager({"tokenizer": str(models["bpe_with_bos"])})
    with pytest.raises(BackendError, match=f"rubia_sample_class: the backend .*{said}"):
        lm_eval.simple_evaluate(ScriptedLM(answer), tasks=["rubia_sample_class"], task_manager=tasks, bootstrap_iters=0)


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("да", "да"),
        ("a\ud83d b", "a\ufffd b"),
        ("\udc00", "\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        (None, None),
        ((-1.0, False), (-1.0, False)),
    ],
)
def test_writable(response: Any, expected: Any) -> None:
    assert writable(response) == expected
    json.dumps(writable(response), ensure_ascii=False).encode()
