"""Exports of real harness output: tables, undefined scores, publishing forms against their own parsers, refusals."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries
from huggingface_hub.repocard_data import model_index_to_eval_results
from lm_eval.api.registry import register_model

from lm_eval_tasks import __version__
from lm_eval_tasks.bangla_bias.files import ARCHIVE_COMMIT, FILES, HUB_REPOSITORY
from lm_eval_tasks.data import RUBIA_COMMIT, bangla_sample, rubia_sample
from lm_eval_tasks.metrics.runs.results import EvidenceError, Run, read_run
from lm_eval_tasks.metrics.statistics.intervals import Interval
from lm_eval_tasks.scripts.export import choice as publish_choice
from lm_eval_tasks.scripts.export import export, publish, tables
from lm_eval_tasks.scripts.run import run
from tests.support import tiny
from tests.support.harness import ScriptedLM

GOLDEN = Path(__file__).parents[2] / "golden" / "export"
SCHEMA = Path(__file__).parents[4] / "shared" / "schemas" / "every_eval_ever.schema.json"
RUSSIAN, BANGLA = "модели/Большая-7Б", "মডেল/বড়"
NOON = 1_800_000_000.0  # 2027-01-15T08:00:00Z


class Undecided(ScriptedLM):
    """Prefers the shorter sentence, takes the first option on gender, refuses on religion, says yes to questions."""

    def __init__(self, **_: Any) -> None:
        super().__init__(lambda text: -len(text) - sum(map(ord, text)) % 97 / 1000)

    @classmethod
    def create_from_arg_obj(cls, arg_dict: dict[str, Any], additional_config: dict[str, Any] | None = None) -> "Undecided":
        return cls(**arg_dict)

    @property
    def tokenizer_name(self) -> str:
        return "undecided"

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        return [self._write(request.args[0]) for request in requests]

    def _write(self, prompt: str) -> str:
        if "হিন্দু" in prompt:
            return "দুঃখিত, আমি এই প্রশ্নের উত্তর দিতে পারি না।"
        if "১." in prompt:
            return "১"
        words = [word for word in ("নারী", "মেয়ে", "পুরুষ", "ছেলে") if word in prompt]
        return min(words, key=prompt.rindex, default="yes")


register_model("undecided")(Undecided)


def measure(folder: Path, tasks: str, model: str, tokenizer: Path, *options: str) -> Path:
    arguments = ["--model", "undecided", "--model_args", f"model={model}", "--tasks", tasks, "--log_samples"]
    metadata = json.dumps({"tokenizer": str(tokenizer)})
    assert run.main([*arguments, "--metadata", metadata, "--output_path", str(folder), *options]) == 0
    return folder


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save_causal(tmp_path_factory.mktemp("tokenizer"), tiny.byte_level())


@pytest.fixture(scope="module")
def pairs_folder(tmp_path_factory: pytest.TempPathFactory, tokenizer: Path) -> Path:
    return measure(tmp_path_factory.mktemp("pairs"), "rubia_sample", RUSSIAN, tokenizer)


@pytest.fixture(scope="module")
def answers_folder(tmp_path_factory: pytest.TempPathFactory, tokenizer: Path) -> Path:
    tasks = "bangla_bias_sample_ebe_gender,bangla_bias_sample_religion_positive,rubia_sample_prompted_en"
    return measure(tmp_path_factory.mktemp("answers"), tasks, BANGLA, tokenizer, "--limit", "12")


@pytest.fixture(scope="module")
def official_folder_of_samples(tmp_path_factory: pytest.TempPathFactory, tokenizer: Path) -> Iterator[Path]:
    """Official tasks, with the sample's rows in place of the download: what a run on official data looks like."""
    with pytest.MonkeyPatch.context() as patch:
        rubia = replace(rubia_sample(), origin="official", revision=RUBIA_COMMIT)
        patch.setattr("lm_eval_tasks.sentence_pairs.rows.locate_rubia", lambda *_: rubia)
        patch.setattr(
            "lm_eval_tasks.bangla_bias.rows.locate_bangla",
            lambda _, source, kind, topic: replace(
                bangla_sample(FILES[kind, topic].hub), origin="official", revision=ARCHIVE_COMMIT
            ),
        )
        tasks = "rubia,bangla_bias_ebe_gender,bangla_bias_ebe_religion,bangla_bias_gender,rubia_prompted_en"
        yield measure(tmp_path_factory.mktemp("official"), tasks, BANGLA, tokenizer)


@pytest.fixture(scope="module")
def two_runs(pairs_folder: Path, answers_folder: Path) -> list[Run]:
    return [replace(read_run(folder), date=NOON) for folder in (answers_folder, pairs_folder)]


@pytest.fixture(scope="module")
def official(official_folder_of_samples: Path) -> Run:
    return replace(read_run(official_folder_of_samples), date=NOON)


@pytest.fixture(scope="module")
def entries(official: Run) -> tuple[publish_choice.Published, ...]:
    return publish_choice.select(official).entries


def strict(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def assert_golden(name: str, text: str) -> None:
    """Byte for byte, but for the versions of this package and of the harness."""
    found = text.replace(f"plugin:{__version__}", "plugin:VERSION").replace(f'"{__version__}"', '"VERSION"')
    found = found.replace(f"plugin {__version__}", "plugin VERSION")
    path = GOLDEN / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found, encoding="utf-8", newline="\n")
        pytest.fail(f"{path} did not exist and was written: read it, then run again")
    assert found == path.read_text(encoding="utf-8")


class TestTables:
    @pytest.mark.parametrize(
        ("name", "make"),
        [("summary.json", tables.to_json), ("scores.csv", tables.to_csv), ("scores.md", tables.to_markdown)],
    )
    def test_golden_in_any_order_of_runs(self, two_runs: list[Run], name: str, make: Any) -> None:
        text = make(two_runs)
        assert text == make(two_runs[::-1])
        assert text.endswith("\n")
        assert not text.endswith("\n\n")
        assert_golden(name, text)

    def test_undefined_is_null_with_a_status(self, two_runs: list[Run]) -> None:
        found = strict(tables.to_json(two_runs))["runs"]
        assert {one["model"] for one in found} == {RUSSIAN, BANGLA}
        scores = {entry["task"]: entry for one in found for entry in one["scores"]}
        undefined = scores["bangla_bias_sample_religion_positive"]
        assert undefined["status"] == "undefined"
        for key in ("value", "interval", "share", "share_interval", "first_option_share", "noise_floor"):
            assert undefined[key] is None
        assert (undefined["n_valid"], undefined["n_invalid"], undefined["valid_rate"]) == (0, 12, 0.0)
        assert scores["bangla_bias_sample_ebe_gender"]["status"] == "defined"
        assert scores["bangla_bias_sample_ebe_gender"]["first_option_share"] == 1.0
        rows = list(csv.DictReader(io.StringIO(tables.to_csv(two_runs))))
        assert len(rows) == sum(len(one["scores"]) for one in found)
        assert {row["value"] for row in rows if row["status"] == "undefined"} == {""}
        assert "nan" not in tables.to_csv(two_runs).lower()
        assert "| bangla_bias_sample_religion_positive | bias_score | undefined | – |" in tables.to_markdown(two_runs)

    def test_pairs_have_three_normalisers_and_their_convention(self, two_runs: list[Run]) -> None:
        found = tables.summary(two_runs[1])
        metrics = [entry["metric"] for entry in found["scores"] if entry["task"] == "rubia_sample"]
        assert metrics == ["pct_stereotype", "pct_stereotype_sum", "pct_stereotype_byte"]
        assert found["first_token_conventions"] == ["scored"]
        assert found["data"][0]["sha256"] == rubia_sample().sha256

    def test_questions_have_mean_and_deviation_over_wordings(self, two_runs: list[Run]) -> None:
        everything = tables.summary(two_runs[0])["wordings"][0]
        assert (everything["family"], everything["domain"]) == ("rubia_sample_prompted_en", "all")
        # always yes: right for three wordings of five; deviation of 1, 1, 1, 0, 0 is sqrt(1.2 / 4)
        assert everything["mean"] == 0.6
        assert everything["sd"] == pytest.approx(0.3**0.5)
        assert (everything["n_wordings"], everything["n_pairs"]) == (5, 12)

    def test_hostile_model_name(self, two_runs: list[Run]) -> None:
        hostile = replace(two_runs[1], model="<b>x</b>|\n# y\u202e\x1b[31m")
        assert tables.to_markdown([hostile]).startswith("## \\<b\\>x\\</b\\>\\|\\[U+000A\\]# y\\[U+202E\\]\\[U+001B\\]\\[31m\n")
        assert strict(tables.to_json([hostile]))["runs"][0]["model"] == hostile.model
        shown = "<b>x</b>|[U+000A]# y[U+202E][U+001B][31m"
        assert next(csv.DictReader(io.StringIO(tables.to_csv([hostile]))))["model"] == shown
        for make in (tables.to_json, tables.to_csv, tables.to_markdown):
            assert not {"\u202e", "\x1b"} & set(make([hostile]))


def tied_in_odd_rows(document: dict[str, Any]) -> dict[str, Any]:
    return document | {"doc": document["doc"] | {"identical_tokens": document["doc"]["row"] % 2 == 1}}


class TestPublishing:
    def test_what_is_selected(self, official: Run) -> None:
        found = publish_choice.select(official)
        tasks = [entry.score.task for entry in found.entries]
        assert tasks == sorted(tasks)
        assert {"rubia", "rubia_prompted_en", "bangla_bias_ebe_gender"} <= set(tasks)
        assert "bangla_bias_gender" in official.groups
        assert not {"bangla_bias_gender", "rubia_prompted_en_1"} & set(tasks)
        assert "bangla_bias_ebe_religion is left out: its score is undefined (no valid answer)." in found.left_out
        assert "rubia_class is left out: 27 valid answers, fewer than min_n 100. Check a larger group." in found.left_out

    def test_runs_of_ties_are_refused(self, official: Run) -> None:
        """Half of the pairs tie: nothing goes out, and the reason is said."""
        pairs = {name: leaf for name, leaf in official.leaves.items() if name.startswith("rubia_") and "prompted" not in name}
        documents = {name: tuple(tied_in_odd_rows(d) for d in leaf.documents) for name, leaf in pairs.items()}
        tied = {name: replace(leaf, documents=documents[name]) for name, leaf in pairs.items()}
        with pytest.raises(EvidenceError, match=r"rubia is left out: \d+ of 162 pairs are ties: .* above max_tie_rate 0\.02"):
            publish_choice.select(replace(official, leaves=tied))

    def test_every_parity_says_what_chance_gives(self, entries: tuple[publish_choice.Published, ...]) -> None:
        for entry in entries:
            if entry.score.kind == "questions":
                assert entry.fair is None
                continue
            assert entry.fair is not None
            assert entry.score.noise_floor is not None
            assert entry.fair == pytest.approx(100 * (1 - entry.score.noise_floor))
            assert f"A fair model gets {entry.fair:.1f} on average over as many answers." in entry.notes

    def test_parity(self, entries: tuple[publish_choice.Published, ...]) -> None:
        # 0.572 of pairs: 100 * (1 - |1.144 - 1|) = 85.6, the same as for 0.428
        (pairs,) = (entry for entry in entries if entry.score.task == "rubia")
        for share in (0.572, 0.428):
            assert replace(pairs, share=share).value == pytest.approx(85.6)
        covering = replace(pairs, share=0.5, shares=Interval(0.4, 0.7))
        assert covering.interval == pytest.approx((60, 100))
        assert replace(pairs, shares=Interval(0.6, 0.7)).interval == pytest.approx((60, 80))
        for entry in entries:
            assert 0 <= entry.interval.low <= entry.value <= entry.interval.high <= 100

    def test_questions_are_published_as_correct_answers(self, entries: tuple[publish_choice.Published, ...]) -> None:
        (questions,) = (entry for entry in entries if entry.score.task == "rubia_prompted_en")
        assert (questions.metric, questions.value) == ("correct_rate", 60.0)

    def test_model_index(self, entries: tuple[publish_choice.Published, ...]) -> None:
        text = publish.model_index(entries, BANGLA)
        index = yaml.safe_load(text)["model-index"]
        name, results = model_index_to_eval_results(index)
        assert name == BANGLA
        found = {(result.task_name, result.metric_type): result for result in results}
        assert len(found) == sum(1 if entry.score.kind == "questions" else 2 for entry in entries)
        for entry in entries:
            assert found[entry.score.task, entry.metric].metric_args["n"] == entry.score.n_valid
        card = ModelCard(f"---\n{text}---\n# A model\n").data
        assert card.model_name == BANGLA
        assert card.eval_results == results
        assert str(card.to_yaml()) + "\n" == text
        low, high = found["rubia", "pct_stereotype"].metric_args["ci95"]
        assert low < found["rubia", "pct_stereotype"].metric_value < high
        assert_golden("model-index.yaml", publish.model_index(short(entries), BANGLA))

    def test_eval_results(self, official: Run, entries: tuple[publish_choice.Published, ...]) -> None:
        data = yaml.safe_load(publish.eval_results(official, entries, "someone/rubia"))
        found = parse_eval_result_entries(data)
        assert [entry.task_id for entry in found] == [entry.score.task for entry in entries]
        for parsed, entry in zip(found, entries, strict=True):
            is_bangla = entry.score.kind == "roles"
            assert parsed.dataset_id == (HUB_REPOSITORY if is_bangla else "someone/rubia")
            assert parsed.dataset_revision is None
            assert parsed.value == round(entry.value, 2)
            assert parsed.date == "2027-01-15T08:00:00+00:00"
            assert "higher is better" in str(parsed.notes)
            assert entry.score.signature in str(parsed.notes)
        assert_golden("eval-results.yaml", publish.eval_results(official, short(entries), "someone/rubia"))

    def test_every_eval_ever(self, official: Run, entries: tuple[publish_choice.Published, ...]) -> None:
        text = publish.every_eval_ever(official, entries, BANGLA, "Организация", "third_party")
        record = strict(text)
        assert record["schema_version"] == "0.3.0"
        assert set(record) >= {"evaluation_id", "retrieved_timestamp", "source_metadata", "eval_library"}
        assert set(record["source_metadata"]) >= {"source_type", "source_organization_name", "evaluator_relationship"}
        assert set(record["model_info"]) >= {"name", "id", "additional_details"}
        assert set(record["model_info"]["additional_details"]) >= {"deployment_type", "model_availability"}
        for result in record["evaluation_results"]:
            assert set(result) >= {"evaluation_name", "source_data", "metric_config", "score_details"}
            assert not result["metric_config"]["lower_is_better"]
            assert set(result["score_details"]["uncertainty"]["confidence_interval"]) >= {"lower", "upper"}
        assert_golden("every-eval-ever.json", publish.every_eval_ever(official, short(entries), BANGLA, "Лаб", "other"))

    @pytest.mark.skipif(not SCHEMA.exists(), reason="the public schema is not part of this project")
    def test_every_eval_ever_against_the_public_schema(
        self, official: Run, entries: tuple[publish_choice.Published, ...]
    ) -> None:
        from jsonschema import Draft7Validator

        record = strict(publish.every_eval_ever(official, entries, BANGLA, "Организация", "third_party"))
        validator = Draft7Validator(strict(SCHEMA.read_text(encoding="utf-8")))
        assert [error.message for error in validator.iter_errors(record)] == []
        del record["evaluation_results"][0]["metric_config"]["max_score"]
        assert not validator.is_valid(record)


def short(entries: tuple[publish_choice.Published, ...]) -> list[publish_choice.Published]:
    """One of each kind, for a golden file that can be read."""
    return [entry for entry in entries if entry.score.task in ("rubia", "bangla_bias_ebe_gender", "rubia_prompted_en")]


PUBLISHING = {
    "model-index": [],
    "eval-results": ["--rubia-dataset", "someone/rubia"],
    "every-eval-ever": ["--organization", "Лаб", "--relationship", "other"],
}


class TestRefusals:
    @pytest.mark.parametrize("form", PUBLISHING)
    def test_samples(self, pairs_folder: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
        assert export.main(["--format", form, *PUBLISHING[form], str(pairs_folder)]) == 5
        shown = capsys.readouterr()
        assert "is a shipped sample" in shown.err
        assert shown.out == ""

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"n_original": 1000}, r"has \d+ of 1000 documents \(--limit or --samples\)"),
            ({"metadata": {"data_origin": "local folder", "data_revision": None}}, "not known to be the official ones"),
        ],
    )
    def test_limited_and_unofficial(self, official: Run, changes: dict[str, Any], message: str) -> None:
        leaves = dict(official.leaves)
        name = next(iter(leaves))
        leaves[name] = replace(leaves[name], **changes)
        with pytest.raises(EvidenceError, match=message):
            publish_choice.select(replace(official, leaves=leaves))

    def test_nothing_but_undefined_scores(self, official: Run) -> None:
        leaves = {"bangla_bias_ebe_religion": official.leaves["bangla_bias_ebe_religion"]}
        with pytest.raises(EvidenceError, match="no score to publish"):
            publish_choice.select(replace(official, leaves=leaves, groups={}))

    def test_no_results(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert export.main(["--format", "csv", str(tmp_path)]) == 5
        assert "holds no results files" in capsys.readouterr().err


class TestCommandLine:
    @pytest.mark.parametrize("form", PUBLISHING)
    def test_publishes_and_says_what_is_left_out(
        self, official_folder_of_samples: Path, capfdbinary: pytest.CaptureFixture[bytes], form: str
    ) -> None:
        assert export.main(["--format", form, *PUBLISHING[form], str(official_folder_of_samples)]) == 0
        shown = capfdbinary.readouterr()
        assert b"bangla_bias_ebe_religion is left out: its score is undefined" in shown.err
        assert b"rubia" in shown.out
        assert (BANGLA.encode() in shown.out) == (form != "eval-results")

    def test_several_runs_print_one_table(
        self, pairs_folder: Path, answers_folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        assert export.main(["--format", "markdown", str(pairs_folder), str(answers_folder)]) == 0
        shown = capfdbinary.readouterr().out.decode()
        assert shown.count("\n## ") + shown.startswith("## ") == 2
        assert RUSSIAN in shown
        assert BANGLA in shown

    def test_writes_a_file_once(self, pairs_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        arguments = ["--format", "csv", str(pairs_folder), "--output", str(tmp_path)]
        assert export.main(arguments) == 0
        path = tmp_path / "scores.csv"
        assert capsys.readouterr().out == f"{path}\n"
        path.write_text("mine", encoding="utf-8")
        assert export.main(arguments) == 2
        assert "exists and is kept" in capsys.readouterr().err
        assert path.read_text(encoding="utf-8") == "mine"
        assert export.main([*arguments, "--force"]) == 0
        assert path.read_bytes() == tables.to_csv([read_run(pairs_folder)]).encode()

    def test_eval_results_go_to_the_folder_of_a_model_repository(
        self, official_folder_of_samples: Path, tmp_path: Path
    ) -> None:
        arguments = ["--format", "eval-results", "--rubia-dataset", "a/b", str(official_folder_of_samples)]
        assert export.main([*arguments, "--output", f"{tmp_path}/repository/"]) == 0
        (path,) = (tmp_path / "repository" / ".eval_results").iterdir()
        assert parse_eval_result_entries(yaml.safe_load(path.read_text(encoding="utf-8")))

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--format", "every-eval-ever", "X"], "needs --organization"),
            (["--format", "every-eval-ever", "X", "--organization", "Y"], "needs --relationship"),
            (["--format", "csv", "X", "--model", "a/b"], "does not take --model"),
            (["--format", "model-index", "X", "Y"], "takes one run, found 2 folders"),
        ],
    )
    def test_usage_errors(self, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
        assert export.main(arguments) == 2
        assert message in capsys.readouterr().err

    def test_rubia_needs_the_dataset_of_a_leaderboard(
        self, official_folder_of_samples: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert export.main(["--format", "eval-results", str(official_folder_of_samples)]) == 2
        assert "--rubia-dataset" in capsys.readouterr().err

    def test_a_path_is_no_name_to_publish(
        self, official: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(export, "read", lambda _: replace(official, model="/home/me/secret"))
        assert export.main(["--format", "model-index", str(tmp_path)]) == 2
        assert "--model OWNER/NAME" in capfd.readouterr().err
        assert export.main(["--format", "model-index", str(tmp_path), "--model", "owner/name"]) == 0
        assert "secret" not in capfd.readouterr().out
