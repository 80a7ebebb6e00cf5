"""`hf-mlm` with a peft adapter, and with a model whose code stands beside its weights."""

import json
from pathlib import Path

import pytest
import torch
import transformers.dynamic_module_utils
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForMaskedLM

from lm_eval_tasks.models.masked_lm import HFMaskedLM
from lm_eval_tasks.scripts.run import run
from tests.support import mlm_models, tiny
from tests.support.harness import logged_samples, scores

TEXTS = mlm_models.sentences(12)
CODE = """
from transformers import BertConfig, BertForMaskedLM


class ShelfConfig(BertConfig):
    model_type = "shelf"


class ShelfForMaskedLM(BertForMaskedLM):
    config_class = ShelfConfig
"""


def save_adapter(base: str, folder: Path) -> Path:
    torch.manual_seed(1)
    options = LoraConfig(r=4, target_modules=["query", "value"], init_lora_weights=False)
    get_peft_model(AutoModelForMaskedLM.from_pretrained(base), options).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("pll", ["original", "within_word_l2r"])
def test_adapter(saved: mlm_models.SavedModels, tmp_path: Path, pll: str) -> None:
    base = saved("bert")
    adapter = save_adapter(base, tmp_path / "adapter")
    adapted = mlm_models.scores(HFMaskedLM(base, pll=pll, peft=str(adapter)), TEXTS)
    # the adapter beside the weights, and not merged into them
    beside = PeftModel.from_pretrained(AutoModelForMaskedLM.from_pretrained(base), str(adapter)).base_model.model
    reference = HFMaskedLM(beside, pll=pll, tokenizer=base)
    assert adapted == pytest.approx(mlm_models.scores(reference, TEXTS), rel=1e-4)
    plain = mlm_models.scores(HFMaskedLM(base, pll=pll), TEXTS)
    assert max(abs(a - b) for a, b in zip(adapted, plain, strict=True)) > 0.1


def test_adapter_through_the_command_line(tmp_path: Path) -> None:
    base = tiny.save_masked(tmp_path / "base")
    adapter = save_adapter(str(base), tmp_path / "adapter")
    found = {}
    for name, more in (("plain", ""), ("adapted", f",peft={adapter}")):
        arguments = ["--model", "hf-mlm", "--model_args", f"pretrained={base}{more}", "--device", "cpu"]
        arguments += ["--tasks", "rubia_sample_class", "--log_samples", "--output_path", str(tmp_path / name)]
        assert run.main(arguments) == 0
        found[name] = scores({"samples": logged_samples(tmp_path / name)})
    assert len(found["adapted"]) == 27
    assert found["adapted"] != found["plain"]


def save_with_code(folder: Path) -> Path:
    """The tiny masked model as a class that only a file beside its weights knows."""
    tiny.save_masked(folder)
    (folder / "shelf.py").write_text(CODE, encoding="utf-8")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    named = {"AutoConfig": "shelf.ShelfConfig", "AutoModelForMaskedLM": "shelf.ShelfForMaskedLM"}
    config |= {"model_type": "shelf", "architectures": ["ShelfForMaskedLM"], "auto_map": named}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def test_remote_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformers.dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    known, remote = tiny.save_masked(tmp_path / "known"), save_with_code(tmp_path / "remote")
    lm = HFMaskedLM(str(remote), trust_remote_code=True)
    assert type(lm.model).__name__ == "ShelfForMaskedLM"
    sentences = tiny.sentences()[:12]
    assert mlm_models.scores(lm, sentences) == mlm_models.scores(HFMaskedLM(str(known)), sentences)
    with pytest.raises(ValueError, match="trust_remote_code"):
        HFMaskedLM(str(remote))
    found = []
    for folder, more in ((known, ""), (remote, ",trust_remote_code=True")):
        arguments = ["--model", "hf-mlm", "--model_args", f"pretrained={folder}{more}", "--device", "cpu"]
        arguments += ["--tasks", "rubia_sample_class", "--log_samples", "--output_path", str(folder / "out")]
        assert run.main(arguments) == 0
        found.append(scores({"samples": logged_samples(folder / "out")}))
    assert found[0] == found[1]
