"""The benchmark says what it needs before it builds anything."""

import importlib.util
from pathlib import Path

import pytest

from lm_eval_tasks.scripts.tools import benchmark


@pytest.mark.parametrize(("parts", "needed"), [("causal", "lmppl, openai"), ("masked,causal", "lmppl, minicons, openai")])
def test_missing_contenders(
    parts: str, needed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="2"):
        benchmark.main([str(tmp_path / "rubia.tsv"), "--parts", parts])
    assert f"the contenders of {parts} need {needed}: {benchmark.INSTALL}" in capsys.readouterr().err


def test_the_installation_line_is_the_documented_one() -> None:
    assert benchmark.INSTALL in str(benchmark.__doc__)
    assert set(benchmark.NEEDS) == set(benchmark.CONTENDERS)
