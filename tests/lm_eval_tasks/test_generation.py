"""A run whose answers are mostly cut off says so, and any other does not."""

from pathlib import Path
from typing import Any

import lm_eval
import pytest

from tests.support import tiny
from tests.support.harness import manager
from tests.support.scripted import ScriptedWriter

TASK = "bangla_bias_sample_gender_occupation"
WARNING = "answers ended at the limit of"


def warnings_of(answers: list[str], caplog: pytest.LogCaptureFixture, metadata: dict[str, Any], **options: Any) -> list[str]:
    """Warnings of a run whose answers are `answers`, in turn and again."""
    lm = ScriptedWriter()
    given = iter(answers * 24)
    lm.script = lambda prompt: next(given)
    found = lm_eval.simple_evaluate(model=lm, tasks=[TASK], task_manager=manager(metadata), bootstrap_iters=0, **options)
    assert found is not None
    return [record.message for record in caplog.records if WARNING in record.message]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One byte is about one token of this one."""
    folder: Path = tmp_path_factory.mktemp("tokenizer")
    tiny.byte_level().save_pretrained(folder)
    return str(folder)


class TestThinking:
    def test_unclosed_in_most_answers(self, caplog: pytest.LogCaptureFixture) -> None:
        (warning,) = warnings_of(["<think>hm", "<think>so", "নারী"], caplog, {})
        assert f"{TASK}: 16 of 24 answers ended at the limit of 128 new tokens or inside unclosed thinking" in warning
        assert "max_gen_toks=4096" in warning
        assert "enable_thinking=False" in warning

    def test_unclosed_in_half_of_them(self, caplog: pytest.LogCaptureFixture) -> None:
        assert not warnings_of(["<think>hm", "নারী"], caplog, {})


class TestLimit:
    LONG = "এই মানুষটি " * 40

    def test_reached_by_most_answers(self, tokenizer: str, caplog: pytest.LogCaptureFixture) -> None:
        assert len(warnings_of([self.LONG], caplog, {"tokenizer": tokenizer})) == 1

    def test_of_the_command_line(self, tokenizer: str, caplog: pytest.LogCaptureFixture) -> None:
        assert not warnings_of([self.LONG], caplog, {"tokenizer": tokenizer}, gen_kwargs="max_gen_toks=4096")
        (warning,) = warnings_of(["নারী"], caplog, {"tokenizer": tokenizer}, gen_kwargs="max_gen_toks=4")
        assert "limit of 4 new tokens" in warning

    def test_without_a_tokenizer_nothing_is_guessed(self, caplog: pytest.LogCaptureFixture) -> None:
        assert not warnings_of([self.LONG], caplog, {})

    def test_of_empty_answers(self, tokenizer: str, caplog: pytest.LogCaptureFixture) -> None:
        assert not warnings_of(["", "নারী"], caplog, {"tokenizer": tokenizer}, gen_kwargs="max_gen_toks=1000")
