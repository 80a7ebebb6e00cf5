"""The table of number types: counted by hand, and made with a tiny model."""

from pathlib import Path

import pytest

from lm_eval_tasks.scripts.tools.precision_table import SETTINGS, Pair, main, table_row


def test_counts() -> None:
    reference = {"a": Pair(1.0, (-10.0, -11.0)), "b": Pair(0.0, (-30.0, -29.0)), "c": Pair(0.0, (-5.0, -4.0))}
    found = {"a": Pair(1.0, (-10.5, -11.0)), "b": Pair(None, (-30.0, -30.0)), "c": Pair(1.0, (-4.0, -4.0))}
    # a and c of three are preferred; b became a tie and c turned over; differences 0.5, 0, 0, 1, 1 and 0
    expected = "| m | bfloat16 | – | 3 | 0.6667 | 1 | 2 | 0.417 | 1.000 |"
    assert table_row("m", ("bfloat16", None), found, reference) == expected


def test_float32_sums_are_nearer(models: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    main([str(models["bpe_without_bos"]), "--tasks", "rubia_sample"])
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines() if "float" in line]
    found = {(row[1], row[2]): (int(row[3]), float(row[7])) for row in rows}
    assert list(found) == [(dtype, softmax or "–") for dtype, softmax in SETTINGS]
    assert found["float32", "float32"] == (162, 0.0)
    for dtype in ("bfloat16", "float16"):
        assert found[dtype, "float32"][1] < found[dtype, "–"][1]
