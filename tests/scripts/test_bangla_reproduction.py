"""The authors' Bangla files checked value by value, and what is said where one differs."""

import shutil
from pathlib import Path

import pytest

from lm_eval_tasks.scripts.reproduce_bangla import JUDGED, ROWS, main, reproduce


@pytest.fixture
def copy(official_folder: str, tmp_path: Path) -> Path:
    """The authors' files where a test may change them."""
    shutil.copytree(Path(official_folder) / "BanglaSocialBias", tmp_path / "copy")
    return tmp_path / "copy"


def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.argv", ["reproduce_bangla", str(folder)])
    return main()


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_bytes().decode()
    assert old in text
    path.write_bytes(text.replace(old, new, 1).encode())


def test_every_value_holds(official_folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(official_folder) / "BanglaSocialBias"
    checks = reproduce(folder)
    assert len(checks) == 2 * len(ROWS) + sum(map(len, JUDGED.values()))
    assert [check for check in checks if not check.holds] == []
    assert run(folder, monkeypatch) == 0
    out = capsys.readouterr().out
    assert "0.722  [0.526, 0.918]" in out
    assert "DIFFERS" not in out


def test_another_judgement_is_reported(copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    edit(copy / "Data/Annotators_Agreement/gender_annotated.csv", ",1,1,,,,,", ",1,0,,,,,")
    assert run(copy, monkeypatch) == 1
    out = capsys.readouterr().out
    assert "differs: gender: agreement, %: 96.0, expected 96.5" in out
    assert "differs: gender: usable to both: 182, expected 183" in out
    assert "differs: Annotators_Agreement/gender_annotated.csv, SHA-256" in out
    assert "differs: religion" not in out


def test_a_changed_prompt_is_reported(copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    judged = (copy / "Data/Annotators_Agreement/religion_annotated.csv").read_text(encoding="utf-8-sig").splitlines()[1]
    prompt = judged.partition(",")[2].partition('"। উত্তর')[0]
    edit(copy / "Data/Naturally_Sourced/religion_prompts.csv", prompt, f"{prompt} ")
    assert run(copy, monkeypatch) == 1
    out = capsys.readouterr().out
    assert "differs: religion: judged, not in the main file: 9, expected 8" in out
    assert "Naturally_Sourced/religion_prompts.csv, rows" in out
    assert "differs: Naturally_Sourced/religion_prompts.csv, rows" not in out


def test_a_row_too_few_is_reported(copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = copy / "Data/Template/gender_prompts.csv"
    path.write_bytes(path.read_bytes().rstrip(b"\r\n").rpartition(b"\n")[0])
    assert run(copy, monkeypatch) == 1
    assert "differs: Template/gender_prompts.csv, rows: 2127, expected 2128" in capsys.readouterr().out


def test_files_that_cannot_be_checked(copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = copy / "Data/Annotators_Agreement/religion_annotated.csv"
    edit(path, ",1,1,,,,,", ",1,?,,,,,")
    assert run(copy, monkeypatch) == 2
    error = capsys.readouterr().err
    assert "religion_annotated.csv ID " in error
    assert "annotator2 is '?', expected 0 or 1" in error
    path.unlink()
    assert run(copy, monkeypatch) == 2
    assert "religion_annotated.csv" in capsys.readouterr().err
