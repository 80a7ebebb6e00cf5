"""Every way to name a model: object, folder, hub name and revision, another tokenizer, GGUF."""

import subprocess
import sys
from pathlib import Path

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from lm_eval_tasks import model_args
from tests.support.harness import evaluate, scores, strict_json


class TestModelArguments:
    def test_model_and_tokenizer_as_objects(self, models: dict[str, Path]) -> None:
        folder = models["bpe_without_bos"]
        model, tokenizer = (auto.from_pretrained(folder) for auto in (AutoModelForCausalLM, AutoTokenizer))
        found = evaluate("rubia_sample_class", {"pretrained": model, "tokenizer": tokenizer})
        assert found["configs"]["rubia_sample_class"]["metadata"]["tokenizer"] == str(folder)
        assert scores(found) == scores(evaluate("rubia_sample_class", {"pretrained": str(folder)}))

    def test_tokenizer_in_another_folder_and_slow(self, models: dict[str, Path]) -> None:
        folder = str(models["bpe_without_bos"])
        found = evaluate("rubia_sample_class", {"pretrained": folder, "tokenizer": folder, "use_fast_tokenizer": False})
        assert scores(found) == scores(evaluate("rubia_sample_class", {"pretrained": folder}))

    def test_unknown_metadata_does_no_harm(self, models: dict[str, Path]) -> None:
        args = {"pretrained": str(models["bpe_without_bos"])}
        found = evaluate("rubia_sample_class", args, {"max_seq_lengths": [4096], "purpose": "test"})
        assert found["configs"]["rubia_sample_class"]["metadata"]["purpose"] == "test"

    def test_hub_name_and_revision_from_another_folder(self, models: dict[str, Path], tmp_path: Path) -> None:
        """A hub cache as huggingface_hub lays it out, used offline by name and revision."""
        snapshot = tmp_path / "hub" / "models--team--tiny" / "snapshots" / ("a" * 40)
        snapshot.parent.mkdir(parents=True)
        snapshot.symlink_to(models["bpe_without_bos"])
        refs = tmp_path / "hub" / "models--team--tiny" / "refs"
        refs.mkdir()
        (refs / "v2").write_text("a" * 40)
        script = (
            "from lm_eval_tasks.scripts.cli import main; import sys;"
            "sys.exit(main(['run', '--model', 'hf', '--tasks', 'rubia_sample_class', '--model_args',"
            "'pretrained=team/tiny,revision=v2', '--output_path', 'out']))"
        )
        environment = {
            "HF_HUB_CACHE": str(tmp_path / "hub"),
            "HF_HUB_OFFLINE": "1",
            "PATH": "/usr/bin:/bin",
            "LC_ALL": "C",
        }
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr[-3000:]
        (file,) = (tmp_path / "out").rglob("results_*.json")
        assert strict_json(file)["configs"]["rubia_sample_class"]["metadata"]["revision"] == "v2"


class TestTokenizerOptions:
    """The tokenizer must be made as the harness makes it."""

    @pytest.fixture(autouse=True)
    def asked(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, object]]]:
        calls: list[tuple[str, dict[str, object]]] = []

        def record(name: str, **options: object) -> object:
            calls.append((name, options))
            return object()

        model_args._tokenizer.cache_clear()
        monkeypatch.setattr(model_args.AutoTokenizer, "from_pretrained", record)
        return calls

    @pytest.mark.parametrize(
        ("metadata", "expected"),
        [
            ({"pretrained": "a/b"}, ("a/b", {"use_fast": True})),
            ({"model": "a/b"}, ("a/b", {"use_fast": True})),
            ({"pretrained": "a/b", "tokenizer": "c"}, ("c", {"use_fast": True})),
            ({"pretrained": "a", "gguf_file": "m.gguf"}, ("a", {"gguf_file": "m.gguf"})),
            ({"pretrained": "a", "gguf_file": "m.gguf", "tokenizer": "c"}, ("c", {"use_fast": True})),
            ({"pretrained": "a", "use_fast_tokenizer": False}, ("a", {"use_fast": False})),
            ({"pretrained": "a", "revision": 3}, ("a", {"use_fast": True, "revision": "3"})),
            ({"pretrained": "a", "revision": "x", "tokenizer_revision": "y"}, ("a", {"use_fast": True, "revision": "y"})),
            ({"pretrained": "a", "trust_remote_code": True}, ("a", {"use_fast": True, "trust_remote_code": True})),
            ({"pretrained": "a", "subfolder": "s"}, ("a", {"use_fast": True, "subfolder": "s"})),
            ({"pretrained": "a", "add_bos_token": False}, ("a", {"use_fast": True, "add_bos_token": False})),
        ],
    )
    def test_options(
        self, asked: list[tuple[str, dict[str, object]]], metadata: dict[str, object], expected: tuple[str, object]
    ) -> None:
        model_args.load_tokenizer(metadata)
        model_args.load_tokenizer(metadata)  # the second time it is at hand
        assert asked == [expected]


@pytest.mark.slow
def test_gguf_file() -> None:
    """A real GGUF file, as the demo's package carries it."""
    from lm_eval_tasks.scripts.tools.demo_model import _packaged_gguf

    gguf = _packaged_gguf()
    args = {"pretrained": str(gguf.parent), "gguf_file": gguf.name}
    found = evaluate("rubia_sample_class", args, limit=2)
    assert len(scores(found)) == 2
