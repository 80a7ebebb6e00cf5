"""RuBia with masked models through the command line: same tasks and metrics as for causal models."""

import math
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from lm_eval_tasks.scripts.run import run
from tests.support import tiny, two_processes
from tests.support.harness import logged_samples, samples, scores, strict_json


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save_masked(tmp_path_factory.mktemp("masked"))


def score(folder: Path, out: Path, *options: str, tasks: str = "rubia_sample_class") -> dict[str, object]:
    arguments = ["--model", "hf-mlm", "--model_args", f"pretrained={folder}", "--device", "cpu", "--tasks", tasks]
    assert run.main([*arguments, "--output_path", str(out), "--log_samples", *options]) == 0
    return {"samples": logged_samples(out)}


def lmppl_masked(model: torch.nn.Module, tokenizer: object, sentence: str) -> float:
    """LM-PPL's masked definition: exp of the mean, over text tokens, of -log p(token | the others)."""
    ids = tokenizer(sentence)["input_ids"]  # type: ignore[operator]
    losses = []
    for position in range(1, len(ids) - 1):
        masked = torch.tensor([ids])
        masked[0, position] = tokenizer.mask_token_id  # type: ignore[attr-defined]
        with torch.inference_mode():
            losses.append(-model(masked).logits[0, position].log_softmax(-1)[ids[position]].item())
    return math.exp(sum(losses) / len(losses))


def test_pseudo_perplexities_are_those_of_lmppl(folder: Path, tmp_path: Path) -> None:
    found = score(folder, tmp_path, tasks="rubia_sample")
    (file,) = tmp_path.rglob("results_*.json")
    results = strict_json(file)
    metadata = results["configs"]["rubia_sample_gender"]["metadata"]
    assert metadata["first_token_convention"] == "masked"
    assert results["config"]["pll"] == "original"
    assert results["config"]["batch_size"] == "auto"
    assert set(results["groups"]) == {"rubia_sample"}
    model, tokenizer = (auto.from_pretrained(folder) for auto in (AutoModelForMaskedLM, AutoTokenizer))
    logged = samples(found)
    assert len(logged) == 162
    for sample in logged[::9]:
        for side, (loglikelihood, _) in zip(("pro", "anti"), sample["filtered_resps"], strict=True):
            measured = math.exp(-float(loglikelihood) / sample["doc"][f"{side}_n_tokens"])
            assert measured == pytest.approx(lmppl_masked(model, tokenizer, sample["doc"][f"{side}_trope"]), rel=1e-4)


@pytest.mark.parametrize("options", [["--batch_size", "3"], ["--apply_chat_template", "--system_instruction", "Be fair."]])
def test_options_change_nothing(folder: Path, tmp_path: Path, options: list[str]) -> None:
    plain, other = score(folder, tmp_path / "plain"), score(folder, tmp_path / "other", *options)
    assert scores(plain) == scores(other)


def test_two_processes(folder: Path, tmp_path: Path) -> None:
    arguments = ["--output_path", tmp_path / "two", "--log_samples"]
    two_processes.launch(
        "run", "--model", "hf-mlm", "--model_args", f"pretrained={folder}", "--tasks", "rubia_sample_class", *arguments
    )
    one = scores(score(folder, tmp_path / "one"))
    two = scores({"samples": logged_samples(tmp_path / "two")})
    assert len(two) == 27
    assert two == one


def test_generation_tasks_are_refused(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--model", "hf-mlm", "--model_args", f"pretrained={folder}", "--device", "cpu", "--limit", "2"]
    assert run.main([*arguments, "--tasks", "bangla_bias_sample"]) == 2
    assert "hf-mlm cannot generate text" in capsys.readouterr().err
