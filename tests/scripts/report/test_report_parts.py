"""Parts of the report by themselves: figures, names of tasks, the paper's numbers, hidden characters."""

import csv
import re
from pathlib import Path

import pytest

from lm_eval_tasks.metrics.statistics.intervals import Interval
from lm_eval_tasks.scripts.report.charts import Chart, ChartRow, Mark, keys, score_axis, share_axis
from lm_eval_tasks.scripts.report.text import published, published_models, role_task
from lm_eval_tasks.scripts.shared.safe_text import visible
from tests.support.harness import manager


class TestFigures:
    def drawn(self, mark: Mark, bars: bool) -> str:
        axis = score_axis("gender") if bars else share_axis(0.1)
        chart = Chart("title", (ChartRow("row", "Label", (mark,)),), axis, bars)
        return str(chart.scale() + chart.row(chart.rows[0]))

    def test_bar(self) -> None:
        made = self.drawn(Mark("A", -0.5, Interval(-0.8, 0.1)), bars=True)
        # -0.5 is a quarter of the axis, which takes 80% of the width from 6%; the bar ends at the middle, 46%
        assert '<rect class="bar" x="26.00%" y="23" width="20.00%" height="10"/>' in made
        assert "− = male" in made
        assert "+ = female" in made
        assert ">−0.50</text>" in made
        assert "Label: A −0.50 (95% interval −0.80 to +0.10)" in made

    @pytest.mark.parametrize("bars", [True, False])
    def test_missing_is_neither_bar_nor_point(self, bars: bool) -> None:
        made = self.drawn(Mark("", None, None, "undefined: no valid answer"), bars)
        assert "undefined: no valid answer" in made
        assert 'class="bar"' not in made
        assert "whisker" not in made
        assert "circle" not in made

    def test_zero_is_drawn(self) -> None:
        assert 'class="bar-end"' in self.drawn(Mark("", 0.0, Interval(-0.5, 0.5)), bars=True)

    def test_religion(self) -> None:
        assert score_axis("religion").ends == ("− = Muslim", "+ = Hindu")

    def test_keys(self) -> None:
        assert list(keys(1)) == [""]
        assert list(keys(3)) == ["A", "B", "C"]
        assert len(set(keys(40))) == 40


class TestNames:
    def test_every_pair_task_has_its_row(self) -> None:
        tasks = {t for t in manager().all_tasks if t.startswith("rubia") and not re.search("sample|prompted|experimental", t)}
        assert set(published()) == tasks

    def test_every_role_task_has_a_name_of_its_own(self) -> None:
        names = [t for t in manager().all_tasks if re.fullmatch(r"bangla_bias(_ebe)?_(gender|religion).*", t)]
        labels = {(found.topic, found.full_label) for name in names if (found := role_task(name))}
        assert len(labels) == len(names) == 13 + 9 + 2 + 2
        assert role_task("bangla_bias") is None
        assert role_task("rubia_gender") is None
        found = role_task("bangla_bias_religion_ideology_occupation_negative")
        assert found is not None
        assert found.full_label == "Ideology with occupation, negative traits"

    def test_published_figures_are_those_of_the_paper(self, official_folder: str) -> None:
        path = Path(official_folder) / "rubia" / "statistics.tsv"
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        numbered = {"freeform_1": "gendergap", "freeform_2": "lgb", "freeform_3": "repres", "freeform_4": "transnb"}
        assert len(rows) == len(published()) - 1
        for row in rows:
            domain, subdomain = row["Domain"], row["Subdomain"]
            if domain == "diverse" and subdomain in numbered:
                subdomain = f"freeform_{numbered[subdomain]}"
            task = f"rubia_{domain}" if subdomain == "all" else f"rubia_{domain}_{subdomain}"
            for model in published_models():
                assert float(published()[task].figures[model]) == float(row[model].replace(",", ".")), (task, model)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("а\u0301 র\u200d্যাব\nমেয়ে\tок", "а\u0301 র\u200d্যাব\nমেয়ে\tок"),
        ("a\u202eb\u2069", "a[U+202E]b[U+2069]"),
        ("\x1b\r\x7f\x85", "[U+001B][U+000D][U+007F][U+0085]"),
        ("\u2028\ufeff\U000e0041", "[U+2028][U+FEFF][U+E0041]"),
    ],
)
def test_hidden_characters_are_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown
