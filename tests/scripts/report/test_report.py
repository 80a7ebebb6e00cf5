"""The report from real harness output: what it shows, what it refuses, and that nothing in it can act."""

import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lm_eval.api.registry import register_model

from lm_eval_tasks.metrics.runs.results import Leaf, Run, read_run
from lm_eval_tasks.metrics.runs.summary import score
from lm_eval_tasks.scripts.report import report
from lm_eval_tasks.scripts.report.text import percent, signed, span
from lm_eval_tasks.scripts.run import run
from tests.support.harness import ScriptedLM
from tests.support.html_page import Page
from tests.support.scripted import SCRIPTS

GOLDEN = Path(__file__).parents[2] / "golden" / "report.html"
TASKS = "rubia_sample,bangla_bias_sample,rubia_sample_prompted_en"
IN_GOLDEN = (
    *("rubia_sample_gender", "rubia_sample_prompted_en_1", "rubia_sample_prompted_en_3"),
    *("bangla_bias_sample_gender_positive", "bangla_bias_sample_gender_negative", "bangla_bias_sample_gender_occupation"),
    *("bangla_bias_sample_ebe_gender", "bangla_bias_sample_religion_positive"),
)
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m\x00\u202eevil\u202c \u2066x\u2069\ud800 {{ 7*7 }}"


class ReportModel(ScriptedLM):
    """Decides by a hash of the text; as `refuses` it likes all sentences alike and answers nothing that could be read."""

    def __init__(self, refuses: bool = False, **_: Any) -> None:
        super().__init__(lambda text: -100.0 - (0 if refuses else zlib.crc32(text.encode()) % 50))
        self.refuses = refuses

    @classmethod
    def create_from_arg_obj(cls, arg_dict: dict[str, Any], additional_config: dict[str, Any] | None = None) -> "ReportModel":
        return cls(**arg_dict)

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        return [self._reply(request.args[0]) for request in requests]

    def _reply(self, prompt: str) -> str:
        chance = zlib.crc32(prompt.encode()) % 10
        if self.refuses or chance == 0:
            return "" if chance % 2 else "…"
        if "stereotype" in prompt:
            return "Yes." if chance > 3 else "No."
        return str(SCRIPTS["x" if chance > 3 else "y"](prompt))


register_model("report-model")(ReportModel)


def harness_run(folder: Path, tokenizer: Path, arguments: str = "", *options: str) -> Path:
    model_args = f"pretrained={tokenizer}{arguments}"
    command = ["--model", "report-model", "--model_args", model_args, "--tasks", TASKS, "--output_path", str(folder)]
    assert run.main([*command, "--log_samples", *options]) == 0
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, models: dict[str, Path]) -> tuple[Path, Path]:
    """A full run of a model that answers, and a limited one of a model that does not."""
    out = tmp_path_factory.mktemp("runs")
    answering = harness_run(out / "answering", models["bpe_with_bos"])
    return answering, harness_run(out / "refusing", models["bpe_without_bos"], ",refuses=True", "--limit", "3")


@pytest.fixture(scope="module")
def runs(folders: tuple[Path, Path]) -> tuple[Run, Run]:
    answering, refusing = (read_run(folder) for folder in folders)
    return answering, refusing


@pytest.fixture(scope="module")
def page(runs: tuple[Run, Run]) -> str:
    return report.render(runs)


def anonymous(run_: Run, name: str, n: int = 6) -> Run:
    """A part of a run, without what differs from one day or machine to the next."""

    def plain(leaf: Leaf) -> Leaf:
        metadata = {**leaf.metadata, "plugin_version": "0.0.0", "first_token_reason": ""}
        return replace(leaf, documents=leaf.documents[:n], metadata=metadata)

    leaves = {task: plain(run_.leaves[task]) for task in IN_GOLDEN}
    identity = {**run_.identity, "lm_eval_version": "0.0.0"}
    return replace(
        run_, folder=Path("results") / name, model=f"org/{name}", leaves=leaves, groups={}, identity=identity, date=0.0
    )


def test_writes_four_files(folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "made" / "here"
    assert report.main([*map(str, folders), "--output", str(out)]) == 0
    names = ("report.html", "summary.json", "scores.csv", "scores.md")
    assert sorted(path.name for path in out.iterdir()) == sorted(names)
    assert capsys.readouterr().out.split() == [str(out / name) for name in names]
    again = tmp_path / "again"
    assert report.main([*map(str, folders), "--output", str(again)]) == 0
    assert [(out / name).read_bytes() for name in names] == [(again / name).read_bytes() for name in names]


def test_golden(runs: tuple[Run, Run], tmp_path: Path) -> None:
    made = report.render([anonymous(one, name) for one, name in zip(runs, ("answering", "refusing"), strict=True)])
    (tmp_path / GOLDEN.name).write_text(made, encoding="utf-8")
    assert made == GOLDEN.read_text(encoding="utf-8"), f"look at {tmp_path / GOLDEN.name}; if it is right, copy it to {GOLDEN}"


class TestDocument:
    def test_is_one_file_without_script_or_network(self, page: str) -> None:
        parsed = Page(page)
        assert parsed.open == []
        assert not {"script", "link", "iframe", "img", "object", "form", "input"} & {tag for tag, _ in parsed.tags}
        for _, attributes in parsed.tags:
            assert not [name for name in attributes if name.startswith("on") or name in ("src", "style", "xlink:href")]
            assert (attributes.get("href") or "#").startswith("#")
        assert "default-src 'none'" in page
        assert not re.search(r"url\(|@import|https?:", page)

    def test_can_be_read_aloud(self, page: str) -> None:
        parsed = Page(page)
        assert parsed.named("html") == [{"lang": "en"}]
        assert all("scope" in head for head in parsed.named("th"))
        ids = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
        assert len(ids) == len(set(ids))
        for image in parsed.named("svg"):
            assert image.get("aria-hidden") == "true" or image["aria-labelledby"] in ids
        assert {attributes["lang"] for attributes in parsed.named("bdi") if "lang" in attributes} == {"ru", "bn", "en"}
        targets = {attributes["href"] for attributes in parsed.named("a")}
        assert targets <= {f"#{name}" for name in ids}

    def test_nothing_of_the_data_is_unfolded(self, page: str) -> None:
        before, _, examples = page.partition('<section id="examples">')
        assert 'class="passage"' not in before
        assert examples.index("<details>") < examples.index('class="passage"')


class TestNumbers:
    def test_are_those_of_the_summary(self, runs: tuple[Run, Run], page: str) -> None:
        for task, number in (("rubia_sample_gender", percent), ("bangla_bias_sample_gender_negative", signed)):
            found = score(runs[0], task)
            assert found is not None
            assert found.value is not None
            cell = f"<b>{number(found.value)}</b><small>{span(found.value_interval, number)}</small>"
            assert cell in page
            assert found.signature in page

    def test_undefined_is_a_word_and_no_bar(self, page: str) -> None:
        (figure,) = re.findall(r'<svg [^>]*"figure-bangla_bias_sample_gender_positive".*?</svg>', page, re.DOTALL)
        assert figure.count('class="bar"') == 1  # run A; B has no valid answer
        assert "B undefined: no valid answer" in figure
        assert '<span class="word">undefined</span><small>n 0 of 3, limited</small><small>invalid 100.0%, both 0.0%' in page
        assert "nan" not in page.lower().replace("nano", "").replace("pronan", "")

    def test_runs_with_different_conventions_are_not_compared(self, page: str) -> None:
        expected = "The runs differ in the first-token convention of rubia_sample and 4 more (A scored, B context)"
        assert expected in page

    def test_limited_and_sample_are_said_first(self, page: str) -> None:
        header = page.partition("</header>")[0]
        assert "Run B: limited" in header
        assert "Runs A, B: rows of the shipped sample" in header

    def test_what_a_run_lacks_is_not_measured(self, runs: tuple[Run, Run]) -> None:
        lacking = replace(runs[1], leaves={"rubia_sample_class": runs[1].leaves["rubia_sample_class"]})
        assert "not measured" in report.render([runs[0], lacking])
        assert "not measured" not in report.render([runs[0]])

    def test_margin(self, runs: tuple[Run, Run]) -> None:
        made = report.render([runs[0]], margin=5)
        assert "50 ± 5 points" in made
        # the axis takes 80% of the width from 6%: 45 to 55 of 100 begin at 42% and are 8% wide
        assert '<rect class="band" x="42.00%" y="0" width="8.00%"' in made

    def test_official_pairs_stand_beside_the_papers_models(self, runs: tuple[Run, Run]) -> None:
        leaf = replace(runs[0].leaves["rubia_sample_class"], name="rubia_class_freeform_full")
        made = report.render([replace(runs[0], leaves={leaf.name: leaf}, groups={})])
        assert "Published in the paper" in made
        assert '<td class="published first-published">72.4</td>' in made
        assert "Published in the paper" not in report.render([runs[0]])

    def test_ten_runs(self, runs: tuple[Run, Run]) -> None:
        made = report.render([anonymous(runs[0], f"a-name-that-is-much-too-long-for-a-column-{i}") for i in range(10)])
        assert '<body class="many">' in made
        assert '<span class="key">J</span> <bdi>a-name-that-is-muc…r-a-column-9</bdi>' in made


class TestUntrustedText:
    def hostile(self, run_: Run) -> Run:
        def poisoned(leaf: Leaf) -> Leaf:
            documents = []
            for document in leaf.documents:
                doc = {**document["doc"], **{key: HOSTILE for key in ("prompt", "pro_trope") if key in document["doc"]}}
                answers = document["filtered_resps"] if "pct_stereotype" in document else [HOSTILE]
                documents.append({**document, "doc": doc, "filtered_resps": answers})
            return replace(leaf, documents=tuple(documents), version=HOSTILE)

        leaves = {name: poisoned(leaf) for name, leaf in run_.leaves.items()}
        return replace(run_, leaves=leaves, model=HOSTILE, backend=HOSTILE, folder=Path("a") / HOSTILE.replace("\x00", ""))

    def test_is_shown_and_does_nothing(self, runs: tuple[Run, Run]) -> None:
        made = report.render([self.hostile(runs[1])])
        made.encode("utf-8")
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ufeff]", made)
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in made
        assert "[U+001B][31m[U+0000][U+202E]evil[U+202C] [U+2066]x[U+2069][U+D800] {{ 7*7 }}" in made
        assert not {"script", "img"} & {tag for tag, _ in Page(made).tags}

    def test_files_can_be_written(
        self, folders: tuple[Path, Path], runs: tuple[Run, Run], tmp_path: Path, monkeypatch: Any
    ) -> None:
        monkeypatch.setattr(report, "read", lambda _: self.hostile(runs[1]))
        assert report.main([str(folders[1]), "--output", str(tmp_path)]) == 0
        assert b"[U+D800]" in (tmp_path / "report.html").read_bytes()

    def test_long_answers_are_cut(self, runs: tuple[Run, Run]) -> None:
        leaf = runs[0].leaves["bangla_bias_sample_gender_positive"]
        documents = tuple({**document, "filtered_resps": ["ক" * 100_000]} for document in leaf.documents)
        made = report.render([replace(runs[0], leaves={leaf.name: replace(leaf, documents=documents)}, groups={})])
        assert "… (99,400 more letters)" in made
        assert len(made) < 60_000


class TestRefusals:
    def test_evidence(self, folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out = tmp_path / "out"
        assert report.main([str(folders[0]), str(tmp_path), "--output", str(out)]) == 5
        assert "holds no results files" in capsys.readouterr().err
        assert not out.exists()

    def test_nowhere_to_write(self, folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "file").write_text("here before")
        assert report.main([str(folders[1]), "--output", str(tmp_path / "file")]) == 2
        assert "Name a folder with --output." in capsys.readouterr().err
        assert (tmp_path / "file").read_text() == "here before"

    @pytest.mark.parametrize("arguments", [[], ["x", "--margin", "0"], ["x", "--margin", "nan"], ["x", "--margin", "ten"]])
    def test_usage(self, arguments: Sequence[str]) -> None:
        with pytest.raises(SystemExit) as stopped:
            report.main(arguments)
        assert stopped.value.code == 2
