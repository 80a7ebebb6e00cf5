"""What `run` looks at before the first request and after the last one, through the real command line."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from lm_eval_tasks.redaction import REMOVED
from lm_eval_tasks.scripts.run import cache as run_cache
from lm_eval_tasks.scripts.run import run
from tests.support import tiny
from tests.support.harness import logged_samples, strict_json

PAIRS = "rubia_sample_class"


@pytest.fixture(autouse=True)
def _no_list_of_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.utils.collect_env.get_pretty_env_info", lambda: "")


def hf(folder: Any, *more: Any, args: str = "", tasks: str = PAIRS) -> list[str]:
    arguments = ["--model", "hf", "--device", "cpu", "--tasks", tasks, "--limit", "3"]
    return [*arguments, "--model_args", f"pretrained={folder}{args}", *map(str, more)]


class TestOutput:
    def refused(self, capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
        # A model that is not there: whatever is refused here is refused before the model is loaded.
        assert run.main(hf(*arguments)) == 2
        return capsys.readouterr().err

    def test_a_folder_that_cannot_be_written(self, capsys: pytest.CaptureFixture[str]) -> None:
        # /proc refuses new folders to everybody, root included.
        said = self.refused(capsys, "/nowhere", "--output_path", "/proc/results", "--log_samples")
        assert "--output_path /proc/results: cannot write into /proc/results/__nowhere" in said
        assert "Name another folder." in said

    @pytest.mark.parametrize("below", ["", "deeper/still", "name.json"])
    def test_a_file_in_the_way(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], below: str) -> None:
        (tmp_path / "results").write_text("")
        said = self.refused(capsys, "/nowhere", "--output_path", tmp_path / "results" / below)
        assert f"{tmp_path}/results is a file, expected a folder" in said

    def test_a_model_name_that_is_too_long(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        name = "/модель" * 30  # 13 bytes each, and 14 as a name
        said = self.refused(capsys, name, "--output_path", tmp_path / "results")
        assert "which has 420 bytes; file systems take 255" in said
        assert "--output_path DIR/NAME.json, which leaves the model's name out" in said
        assert list(tmp_path.iterdir()) == []

    def test_the_way_round_a_long_name(self, models: dict[str, Path], tmp_path: Path) -> None:
        # The link's name is short enough for the file system, and too long behind the names of its folders.
        link = tmp_path / ("м" * 120)
        link.symlink_to(models["bpe_with_bos"])
        assert run.main(hf(link, "--output_path", tmp_path / "results")) == 2
        assert run.main(hf(link, "--output_path", tmp_path / "results" / "mine.json", "--log_samples")) == 0
        assert len(list((tmp_path / "results").glob("mine_*.json"))) == 1
        assert [len(lines) for lines in logged_samples(tmp_path / "results").values()] == [3]

    def test_samples_without_a_folder(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert "need a folder to write to: add --output_path DIR" in self.refused(capsys, "/nowhere", "--log_samples")

    @pytest.mark.parametrize("kind", ["samples", "results"])
    def test_files_that_are_lost_at_the_end(
        self,
        models: dict[str, Path],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        kind: str,
    ) -> None:
        """As with a full disk: the harness logs the error of saving, and goes on."""
        from lm_eval.loggers import evaluation_tracker

        def full(*_: Any, **__: Any) -> Any:
            raise OSError(28, "No space left on device")

        function = {"samples": "sanitize_list", "results": "asdict"}[kind]
        monkeypatch.setattr(evaluation_tracker, function, full)
        assert run.main(hf(models["bpe_with_bos"], "--output_path", tmp_path, "--log_samples")) == 2
        said = capsys.readouterr().err
        lost = {"samples": r"(0 of 3 lines)", "results": "everything: the harness could not save its results below"}[kind]
        assert "the harness did not save" in said
        assert lost in said

    def test_a_file_cut_short_is_lost(self, models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from lm_eval.loggers.evaluation_tracker import EvaluationTracker

        plain = EvaluationTracker.save_results_samples

        def cut(self: Any, task_name: str, samples: Any) -> None:
            plain(self, task_name, samples[:-1])

        monkeypatch.setattr(EvaluationTracker, "save_results_samples", cut)
        assert run.main(hf(models["bpe_with_bos"], "--output_path", tmp_path, "--log_samples")) == 2


class TestArguments:
    @pytest.mark.parametrize("tasks", ["bangla_bias_sample", "rubia_sample_prompted_ru_1"])
    @pytest.mark.parametrize("model", ["local-chat-completions", "anthropic-chat"])
    def test_a_chat_api_without_its_template(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, model: str, tasks: str
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        assert run.main(["--model", model, "--model_args", "model=m,base_url=http://127.0.0.1:9", "--tasks", tasks]) == 2
        said = capsys.readouterr().err
        assert f"{model} sends messages and not text, and fails in mid-run without --apply_chat_template. Add it." in said

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("rubia_sample", "--samples names the group rubia_sample"),
            ("rubia_experimental", "--samples names the tag rubia_experimental"),
            ("rubia_smaple_class", "--samples names 'rubia_smaple_class', which is no task"),
        ],
    )
    def test_documents_of_a_group(
        self, models: dict[str, Path], capsys: pytest.CaptureFixture[str], name: str, said: str
    ) -> None:
        arguments = [item for item in hf(models["bpe_with_bos"], tasks="rubia_sample") if item not in ("--limit", "3")]
        assert run.main([*arguments, "--samples", json.dumps({name: [0, 1]})]) == 2
        error = capsys.readouterr().err
        assert said in error
        if name == "rubia_sample":
            assert "Name the tasks: rubia_sample_class, rubia_sample_diverse, rubia_sample_gender" in error

    def test_documents_of_a_task(self, models: dict[str, Path], tmp_path: Path) -> None:
        arguments = [item for item in hf(models["bpe_with_bos"]) if item not in ("--limit", "3")]
        arguments += ["--samples", json.dumps({PAIRS: [0, 5]}), "--output_path", str(tmp_path), "--log_samples"]
        assert run.main(arguments) == 0
        assert [len(lines) for lines in logged_samples(tmp_path).values()] == [2]

    @pytest.mark.parametrize("key", ["data", "first_token", "answer_reading", "bangla_source"])
    def test_metadata_that_is_no_text(self, capsys: pytest.CaptureFixture[str], key: str) -> None:
        assert run.main(["--model", "dummy", "--tasks", "rubia_class", "--metadata", f"{key}=2024"]) == 2
        said = capsys.readouterr().err
        assert f"metadata key '{key}' is 2024 (int), expected text" in said
        assert f'--metadata \'{{"{key}": "2024"}}\'' in said

    def test_a_hash_that_is_none(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run.main(["--model", "dummy", "--tasks", "rubia_class", "--metadata", "data_sha256=2024"]) == 2
        assert "'data_sha256' holds 2024, expected a SHA-256 hash of 64 hexadecimal digits" in capsys.readouterr().err

    @pytest.mark.parametrize("name", ["pretrained", "tokenizer", "peft"])
    def test_model_arguments_that_are_no_text(self, capsys: pytest.CaptureFixture[str], name: str) -> None:
        assert run.main(["--model", "hf", "--tasks", PAIRS, "--model_args", f"{name}=2024"]) == 2
        assert f"the model argument {name} is 2024 (int), expected a name or a folder" in capsys.readouterr().err

    def test_a_secret_is_kept_out_of_every_file_and_warned_of(
        self, models: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        token = "hf_abcdefghijkl0123456789"
        more = ["--output_path", tmp_path, "--log_samples", "--metadata", '{"password": "open sesame"}']
        assert run.main(hf(models["bpe_with_bos"], *more, args=f",token={token}")) == 0
        said = capsys.readouterr().err
        assert "warning: the model argument token holds a secret." in said
        assert "Pass it as an environment variable instead: HF_TOKEN=" in said
        (results,) = tmp_path.rglob("results_*.json")
        assert strict_json(results)["config"]["model_args"]["token"] == REMOVED
        for file in (file for file in tmp_path.rglob("*") if file.is_file()):
            assert token not in file.read_text()
            assert "open sesame" not in file.read_text()


class TestTokenizerWithoutSpecialTokens:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """Byte-level, so that a first token cannot stand alone, with neither BOS nor EOS."""
        tokenizer = tiny.byte_level()
        folder = tiny.save_causal(tmp_path / "model", tokenizer)
        file = folder / "tokenizer_config.json"
        settings = json.loads(file.read_text())
        file.write_text(json.dumps({key: value for key, value in settings.items() if key not in ("bos_token", "eos_token")}))
        (folder / "special_tokens_map.json").unlink(missing_ok=True)
        assert AutoTokenizer.from_pretrained(folder).eos_token_id is None
        return folder

    def test_the_way_that_the_message_names_works(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run.main(hf(folder)) == 2
        said = capsys.readouterr().err
        assert "--model_args ...,prefix_token_id=" in said
        assert '"first_token"' not in said
        assert run.main(hf(folder, args=",prefix_token_id=0")) == 0


class TestCache:
    def names(self, folder: Path) -> set[str]:
        return {file.name for file in folder.glob("cache*.db")}

    def test_other_weights_at_the_same_path_are_asked_anew(self, tmp_path: Path) -> None:
        path = tiny.save_causal(tmp_path / "model", tiny.bpe_with_bos())
        model = AutoModelForCausalLM.from_pretrained(path)
        found = []
        for factor in (1.0, 2.0, 0.5):  # the third gives the first weights again
            model.lm_head.weight.data.mul_(factor)
            model.save_pretrained(path)
            out = tmp_path / f"out{len(found)}"
            assert run.main(hf(path, "--output_path", out, "--log_samples", "--use_cache", tmp_path / "cache")) == 0
            (lines,) = logged_samples(out).values()
            found.append([line["resps"] for line in lines])
        assert len(self.names(tmp_path)) == 2
        assert found[0] == found[2]
        assert found[0] != found[1]

    def test_another_way_of_scoring_is_asked_anew(self, tmp_path: Path) -> None:
        folder = tiny.save_masked(tmp_path / "model")
        for pll in ("original", "within_word_l2r", "original"):
            arguments = hf(folder, "--use_cache", tmp_path / "cache", args=f",pll={pll}")
            assert run.main(["--model", "hf-mlm", *arguments[2:]]) == 0
        assert len(self.names(tmp_path)) == 2

    @pytest.fixture
    def checkpoint(self, tmp_path: Path) -> Path:
        folder = tmp_path / "checkpoint"
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        (folder / "weights").write_bytes(bytes(3 << 20))
        os.utime(folder / "weights", (1, 1))
        return folder

    def name(self, folder: Path, model: str = "hf", gen_kwargs: Any = None, **arguments: Any) -> str:
        made = run_cache.cache_name("c_rank0.db", model, {"pretrained": str(folder)} | arguments, {"gen_kwargs": gen_kwargs})
        assert made.startswith("c-")
        assert made.endswith("_rank0.db")
        return made

    def test_what_makes_another_cache(self, checkpoint: Path) -> None:
        first = self.name(checkpoint)
        others = [
            self.name(checkpoint, model="vllm"),
            self.name(checkpoint, dtype="bfloat16"),
            self.name(checkpoint, revision="v2"),
            self.name(checkpoint, gen_kwargs={"temperature": 0}),
            self.name(checkpoint, prefix_token_id=0),
        ]
        (checkpoint / "config.json").write_text("[]")
        others.append(self.name(checkpoint))
        (checkpoint / "config.json").write_text("{}")
        assert self.name(checkpoint) == first
        os.utime(checkpoint / "weights", (2, 2))
        others.append(self.name(checkpoint))
        with (checkpoint / "weights").open("r+b") as file:
            file.seek(-1, 2)
            file.write(b"x")
        os.utime(checkpoint / "weights", (1, 1))
        others.append(self.name(checkpoint))
        (checkpoint / "adapter").write_text("")
        others.append(self.name(checkpoint))
        assert len({first, *others}) == 1 + len(others)

    @pytest.mark.parametrize("arguments", [{"num_concurrent": 8}, {"timeout": 9, "max_retries": 1}, {"batch_size": 4}])
    def test_what_does_not(self, checkpoint: Path, arguments: dict[str, Any]) -> None:
        assert self.name(checkpoint, **arguments) == self.name(checkpoint)
        assert self.name(checkpoint, token="one") == self.name(checkpoint, token="two")

    def test_a_hub_model_by_its_commit(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def name_at(commit: str) -> str:
            def found(name: str, file: str, revision: str | None = None) -> str | None:
                return str(tmp_path / commit / file) if (name, file) == ("team/tiny", "config.json") else None

            monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", found)
            return run_cache.cache_name("c_rank0.db", "hf", {"pretrained": "team/tiny"}, {})

        assert name_at("a" * 40) == name_at("a" * 40) != name_at("b" * 40)
