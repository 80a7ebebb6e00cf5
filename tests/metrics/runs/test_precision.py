"""Number types: coarse sums are seen, `run` avoids them, and runs that differ in them say so."""

import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from lm_eval_tasks.metrics.runs import precision
from lm_eval_tasks.metrics.runs.results import read_run
from lm_eval_tasks.metrics.runs.summary import score
from lm_eval_tasks.models.masked_lm import HFMaskedLM
from lm_eval_tasks.scripts.run import precision as setting
from lm_eval_tasks.scripts.run import run
from tests.support import mlm_models
from tests.support.harness import evaluate, samples

TASK = "rubia_sample_class"
SUMS = list(-np.random.default_rng(0).uniform(20, 200, 50))


def rounded(values: list[float], dtype: torch.dtype) -> list[float]:
    return [float(value) for value in torch.tensor(values, dtype=dtype)]


class TestCoarseType:
    @pytest.mark.parametrize("name", ["bfloat16", "float16"])
    def test_half_types(self, name: str) -> None:
        assert precision.coarse_type(rounded(SUMS, getattr(torch, name))) == name

    def test_finer_ones(self) -> None:
        assert precision.coarse_type(SUMS) is None
        assert precision.coarse_type(rounded(SUMS, torch.float32)) is None
        # one value that only float32 has is enough
        assert precision.coarse_type([*rounded(SUMS, torch.bfloat16), -100.1]) is None

    @pytest.mark.parametrize("values", [[], [-64.0], [0.0, 0.0, -64.0], [float("nan"), -1.0], [float("-inf"), -1.0, -2.0]])
    def test_what_says_nothing(self, values: list[float]) -> None:
        assert precision.coarse_type(values) is None

    def test_beyond_float16(self) -> None:
        assert precision.coarse_type([-70000.25, -80000.5]) is None


class TestSetting:
    @pytest.mark.parametrize(
        ("model", "given", "expected"),
        [
            ("hf", {"pretrained": "x"}, {"pretrained": "x", "softmax_dtype": "float32"}),
            (None, None, {"softmax_dtype": "float32"}),
            ("huggingface", "pretrained=x", "pretrained=x,softmax_dtype=float32"),
            ("hf", {"softmax_dtype": "bfloat16"}, {"softmax_dtype": "bfloat16"}),
            ("hf", {"softmax_dtype": None}, {"softmax_dtype": None}),
            ("hf", "softmax_dtype=float16,pretrained=x", "softmax_dtype=float16,pretrained=x"),
            ("vllm", {"pretrained": "x"}, {"pretrained": "x"}),
            ("hf-mlm", {"pretrained": "x"}, {"pretrained": "x"}),
        ],
    )
    def test_hf_unless_named(self, model: str | None, given: Any, expected: Any) -> None:
        assert setting.summed_in_float32(model, given) == expected

    def test_arguments_of_a_file_are_kept(self, tmp_path: Path) -> None:
        (tmp_path / "run.yaml").write_text("model: hf\nmodel_args: {pretrained: x}\ntasks: [rubia]\n", encoding="utf-8")
        chosen = SimpleNamespace(config=str(tmp_path / "run.yaml"))
        setting.set_in(chosen)
        assert chosen.model_args == {"pretrained": "x", "softmax_dtype": "float32"}


def test_run_sums_in_float32_and_plain_harness_is_warned(
    models: dict[str, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    arguments = ["--model", "hf", "--device", "cpu", "--tasks", "rubia_sample", "--log_samples"]
    named = f"pretrained={models['bpe_without_bos']},dtype=bfloat16"
    found = {}
    for name, more in (("ours", ""), ("coarse", ",softmax_dtype=bfloat16")):
        caplog.clear()
        assert run.main([*arguments, "--model_args", named + more, "--output_path", str(tmp_path / name)]) == 0
        found[name] = read_run(tmp_path / name)
        answers = [float(r[0]) for leaf in found[name].leaves.values() for d in leaf.documents for r in d["filtered_resps"]]
        warnings = [r.getMessage() for r in caplog.records if "softmax_dtype=float32" in r.getMessage()]
        if name == "ours":
            assert precision.coarse_type(answers) is None
            assert warnings == []
        else:
            assert precision.coarse_type(answers) == "bfloat16"
            assert len(warnings) == 1  # once, though there are four tasks
            assert "every log-likelihood is a number of bfloat16" in warnings[0]
    ours, coarse = found["ours"], found["coarse"]
    first = score(ours, "rubia_sample")
    assert first is not None
    assert "|dtype:bfloat16|softmax:float32|revision:main|" in first.signature
    assert precision.differences(ours, ours) == []
    assert precision.differences(coarse, ours) == [
        "the data type that log-probabilities are summed in: bfloat16 in the baseline, float32 in the candidate"
    ]


def test_plain_harness_without_the_setting(models: dict[str, Path], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        coarse = evaluate(TASK, {"pretrained": str(models["bpe_without_bos"]), "dtype": "float16"})
    assert "is a number of float16" in caplog.text
    values = [float(resp[0]) for sample in samples(coarse) for resp in sample["filtered_resps"]]
    assert precision.coarse_type(values) == "float16"
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        evaluate(TASK, {"pretrained": str(models["bpe_without_bos"]), "dtype": "float32"})
    assert "softmax_dtype" not in caplog.text


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_hf_mlm_sums_finely_in_every_type(saved: mlm_models.SavedModels, dtype: str) -> None:
    texts = mlm_models.sentences(20)
    half = mlm_models.scores(HFMaskedLM(saved("bert"), dtype=dtype), texts)
    assert precision.coarse_type(half) is None
    # what is left is the rounding of the forward pass
    assert half == pytest.approx(mlm_models.scores(HFMaskedLM(saved("bert")), texts), rel=0.05)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"softmax_dtype": "float32"}, "float32"),
        ({"softmax_dtype": torch.float32}, "float32"),
        ({"softmax_dtype": None}, None),
        (json.dumps({"pretrained": "x", "softmax_dtype": "float32"}), "float32"),
        (json.dumps({"softmax_dtype": None}), None),
        ("pretrained=x,softmax_dtype=torch.bfloat16", "bfloat16"),
        ("pretrained=x", None),
        (None, None),
    ],
)
def test_softmax_dtype_is_read_from_arguments(given: object, expected: str | None) -> None:
    assert precision.softmax_dtype(given) == expected
