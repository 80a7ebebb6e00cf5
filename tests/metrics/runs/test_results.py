"""Reading runs: what is refused, and why. The runs are real, and damaged here one way each."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lm_eval_tasks.metrics.runs.results import EvidenceError, read_run
from lm_eval_tasks.metrics.runs.summary import score, scores
from lm_eval_tasks.scripts.run import run
from tests.support.scripted import SCRIPTS  # noqa: F401  # registers the scripted model


def make(
    folder: Path, script: str = "x", tasks: str = "bangla_bias_sample_gender_positive,bangla_bias_sample_ebe_gender"
) -> Path:
    arguments = ["--model", "scripted-writer", "--model_args", f"script={script}", "--tasks", tasks]
    assert run.main([*arguments, "--output_path", str(folder), "--log_samples"]) == 0
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("run"))


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(made, tmp_path / "run"))


def results_file(folder: Path) -> Path:
    (file,) = folder.rglob("results_*.json")
    return file


def samples_file(folder: Path) -> Path:
    return sorted(folder.rglob("samples_bangla_bias_sample_gender_positive_*.jsonl"))[0]


def edit_results(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = results_file(folder)
        content = json.loads(path.read_text(encoding="utf-8"))
        change(content)
        path.write_text(json.dumps(content), encoding="utf-8")

    return edit


def edit_samples(change: Callable[[str], str]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = samples_file(folder)
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")

    return edit


TASK = "bangla_bias_sample_gender_positive"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: results_file(folder).unlink(), r"holds no results files\. Run with --output_path"),
        (
            lambda folder: samples_file(folder).unlink(),
            r"gender_positive has no samples of the same time\. Run it with --log_samples",
        ),
        (edit_samples(lambda text: text[:-40]), r"ends in the middle of a line: it is cut short"),
        (edit_samples(lambda text: text[: text.index("\n") + 1]), r"holds 1 documents, .* says 144: it is cut short"),
        (edit_samples(lambda text: text + text[: text.index("\n") + 1]), r"holds document 0 twice: --samples named it twice"),
        (
            edit_samples(lambda text: text.replace('"filtered_resps"', '"responses"')),
            r"line 1 \(document 0\): it has no filtered_resps",
        ),
        (edit_samples(lambda text: text.replace('"male_rate": 0.0', '"male_rate": NaN', 1)), r"NaN is no JSON number.*damaged"),
        (
            edit_samples(lambda text: text.replace('"male_rate": 0.0', '"male_rate": "0"', 1)),
            r"line \d+ \(document \d+\): male_rate is '0', and its responses give 0\.0",
        ),
        (
            edit_samples(lambda text: text.replace('"female_rate": 1.0', '"female_rate": 0.0', 1)),
            r"female_rate is 0\.0, and its responses give 1\.0.*lm-eval-bias reread",
        ),
        (lambda folder: samples_file(folder).write_bytes(b"\xff\n"), r"is not UTF-8 text"),
        (
            edit_results(lambda r: r["results"][TASK].update({"bias_score,none": 0.0})),
            r"bias_score of .* is 0.0, but its samples give 1.0",
        ),
        (
            edit_results(lambda r: r["results"][TASK].pop("female_rate,none")),
            r"female_rate of .* is None, but its samples give 1\.0",
        ),
        (edit_results(lambda r: r["versions"].pop(TASK)), r"is said to be of version None in one place and 2.0 in another"),
        (edit_results(lambda r: r.pop("config")), r"is not a results file of lm-eval"),
        (lambda folder: results_file(folder).write_text("{"), r"The file is damaged"),
    ],
)
def test_damage_is_refused(folder: Path, damage: Callable[[Path], None], message: str) -> None:
    damage(folder)
    with pytest.raises(EvidenceError, match=message):
        read_run(folder)


def test_two_models_in_one_folder(folder: Path) -> None:
    second = results_file(folder)
    content = json.loads(second.read_text(encoding="utf-8")) | {"model_name": "another", "date": 4070908800.0}  # 2099-01-01
    second.with_name("results_2099-01-01T00-00-00.000000.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(EvidenceError, match=r"are not one run: model_name is '.*' and 'another'\. Give each model"):
        read_run(folder)


def test_prompting_may_differ_for_pairs_only(tmp_path: Path, made: Path) -> None:
    folder = Path(shutil.copytree(made, tmp_path / "run"))
    second = results_file(folder).with_name("results_2020-01-01T00-00-00.000000.json")
    template = {"chat_template": "other", "chat_template_sha": hashlib.sha256(b"other").hexdigest()}
    content = json.loads(results_file(folder).read_text(encoding="utf-8")) | template | {"date": 1577836800.0}  # 2020-01-01
    second.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(EvidenceError, match=r"are not one run: chat_template_sha is '.*' and None"):
        read_run(folder)
    metadata = content["configs"][TASK]["metadata"] | {"version": 1.0}
    content["configs"] = {"rubia_sample_class": {"output_type": "loglikelihood", "metadata": metadata}}
    content |= {"versions": {"rubia_sample_class": 1.0}, "results": {}, "group_subtasks": {}}
    content["n-samples"] = {"rubia_sample_class": {"original": 27, "effective": 27}}
    second.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(EvidenceError, match="rubia_sample_class has no samples"):  # past that check
        read_run(folder)


def test_several_goes_of_one_model_are_one_run(tmp_path: Path) -> None:
    make(tmp_path, tasks="bangla_bias_sample_gender_positive")
    make(tmp_path, tasks="bangla_bias_sample_ebe_gender")
    assert set(read_run(tmp_path).leaves) == {"bangla_bias_sample_gender_positive", "bangla_bias_sample_ebe_gender"}


def test_limited_run_is_marked(tmp_path: Path) -> None:
    arguments = ["--model", "scripted-writer", "--tasks", TASK, "--limit", "4", "--output_path", str(tmp_path), "--log_samples"]
    assert run.main(arguments) == 0
    leaf = read_run(tmp_path).leaves[TASK]
    assert leaf.limited
    assert (len(leaf.documents), leaf.n_original) == (4, 144)


def test_scores_of_a_run(made: Path) -> None:
    found = {s.task: s for s in scores(read_run(made))}
    assert set(found) == {"bangla_bias_sample_gender_positive", "bangla_bias_sample_ebe_gender"}
    positive = found["bangla_bias_sample_gender_positive"]
    assert (positive.value, positive.n_valid, positive.first_option_share) == (1.0, 144, 0.5)
    assert positive.n_clusters == 36  # 36 traits: alone and beside an occupation, both orders
    assert positive.signature.startswith("bangla_bias_sample_gender_positive|bias_score|instruction:task|n:144|data:")
    assert found["bangla_bias_sample_ebe_gender"].n_clusters == 60  # 60 sentences in both orders


def test_traits_of_opposite_polarity_are_not_pooled(tmp_path: Path) -> None:
    read = read_run(make(tmp_path, tasks="bangla_bias_sample"))
    assert score(read, "bangla_bias_sample") is None
    assert score(read, "bangla_bias_sample_gender_negative") is not None
    assert score(read, "unknown") is None
