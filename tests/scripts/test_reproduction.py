"""The paper's table from the authors' published perplexities."""

from pathlib import Path

import pytest

from lm_eval_tasks.scripts.reproduce_rubia import MODELS, TOLERANCE, main, reproduce


def test_every_cell_agrees(official_folder: str) -> None:
    cells = reproduce(Path(official_folder) / "rubia")
    assert len(cells) == len(MODELS) * (4 + 21)
    assert max(cell.difference for cell in cells) <= TOLERANCE


def test_a_cell_that_differs_is_reported(
    official_folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("scored_data.tsv", "statistics.tsv"):
        text = (Path(official_folder) / "rubia" / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace("57,6", "57,7", 1), encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["reproduce_rubia", str(tmp_path)])
    assert main() == 1
    assert "differs: class all XGLM: 57.55, published 57.7" in capsys.readouterr().out
