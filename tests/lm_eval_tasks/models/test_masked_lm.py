"""`hf-mlm` against minicons, against LM-PPL's definition written out, and against what must not matter."""

import gc
import json
import math
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from lm_eval import simple_evaluate
from lm_eval.api.registry import get_model
from lm_eval.tasks import TaskManager
from minicons.scorer import MaskedLMScorer
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    BertForMaskedLM,
)

from lm_eval_tasks.models import masked_lm
from lm_eval_tasks.models.masked_lm import HFMaskedLM
from lm_eval_tasks.models.mlm_tokens import word_reader
from lm_eval_tasks.models.pll import BatchShape, batches, masked_copies, pack, score_sentences
from tests.support import mlm_models
from tests.support.mlm_models import scores

SENTENCES = mlm_models.sentences()
PLLS = ("original", "within_word_l2r")


def log_softmax_reference(folder: str, text: str) -> tuple[float, int]:
    """Sum over text tokens by the book: one forward pass per token, no batching, the full softmax."""
    model, tokenizer = AutoModelForMaskedLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    total = 0.0
    for position in range(1, ids.shape[1] - 1):
        masked = ids.clone()
        masked[0, position] = tokenizer.mask_token_id
        with torch.no_grad():
            total += float(model(masked).logits[0, position].log_softmax(-1)[ids[0, position]])
    return total, ids.shape[1] - 2


@pytest.mark.parametrize("pll", PLLS)
@pytest.mark.parametrize("family", mlm_models.FAMILIES)
def test_agrees_with_minicons(saved, family, pll):
    assert len(SENTENCES) >= 200
    ours = scores(HFMaskedLM(saved(family), pll=pll), SENTENCES)
    scorer = MaskedLMScorer(saved(family), "cpu")
    theirs: list[float] = []
    for start in range(0, len(SENTENCES), 30):
        # Encoded here: minicons calls a method of tokenizers that transformers 5 dropped.
        encoded = scorer.tokenizer(SENTENCES[start : start + 30], padding=True)
        prepared = scorer.prepare_text(encoded, PLL_metric=pll)
        theirs += [math.fsum(tokens) for tokens in scorer.compute_stats(prepared)]
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_the_two_definitions_differ_where_words_have_several_pieces(saved):
    original, by_word = (scores(HFMaskedLM(saved("bert"), pll=pll), SENTENCES) for pll in PLLS)
    assert np.abs(np.subtract(original, by_word)).max() > 0.1


def test_perplexity_is_lm_ppls(saved):
    """LM-PPL's masked definition: each token masked in turn, cross-entropy there, exp of the mean over text tokens."""
    model = AutoModelForMaskedLM.from_pretrained(saved("bert")).eval()
    tokenizer = AutoTokenizer.from_pretrained(saved("bert"))
    loss = torch.nn.CrossEntropyLoss(reduction="none")
    lm = HFMaskedLM(saved("bert"))
    for text, ours in zip(SENTENCES[:20], scores(lm, SENTENCES[:20]), strict=True):
        tokens = tokenizer.tokenize(text)
        losses = []
        for i in range(len(tokens)):
            masked = [*tokens[:i], tokenizer.mask_token, *tokens[i + 1 :]]
            ids = tokenizer.convert_tokens_to_ids(["[CLS]", *masked, "[SEP]"])
            labels = torch.full((len(ids),), -100)
            labels[i + 1] = tokenizer.convert_tokens_to_ids(tokens[i])
            with torch.no_grad():
                losses.append(float(loss(model(torch.tensor([ids])).logits[0], labels).sum()))
        assert math.exp(-ours / len(tokens)) == pytest.approx(math.exp(sum(losses) / len(tokens)), rel=1e-4)


@pytest.mark.parametrize("family", [*mlm_models.FAMILIES, "electra", "deberta-v2", "distilbert", "modernbert"])
def test_architectures_project_at_masked_positions_only(saved, family):
    lm = HFMaskedLM(saved(family))
    assert lm._forward.shortcut
    expected = [log_softmax_reference(saved(family), text)[0] for text in SENTENCES[:4]]
    np.testing.assert_allclose(scores(lm, SENTENCES[:4]), expected, rtol=1e-4)


def test_a_model_without_the_shortcut_runs_in_full(saved, caplog):
    class Unusual(BertForMaskedLM):
        base_model_prefix = "none_of_that_name"

    expected = scores(HFMaskedLM(saved("bert")), SENTENCES[:20])
    unusual = Unusual(BertForMaskedLM.from_pretrained(saved("bert")).config)
    unusual.load_state_dict(BertForMaskedLM.from_pretrained(saved("bert")).state_dict())
    lm = HFMaskedLM(unusual, tokenizer=AutoTokenizer.from_pretrained(saved("bert")))
    assert not lm._forward.shortcut
    assert "every position is projected" in caplog.text
    np.testing.assert_allclose(scores(lm, SENTENCES[:20]), expected, rtol=1e-5)


@pytest.mark.parametrize("pll", PLLS)
def test_order_and_repeats_change_nothing(saved, pll):
    lm = HFMaskedLM(saved("xlm-roberta"), pll=pll)
    once = scores(lm, SENTENCES)
    assert scores(lm, SENTENCES[::-1]) == once[::-1]
    assert scores(lm, SENTENCES + SENTENCES) == once + once


@pytest.mark.parametrize("batch_size", [1, 7, "auto", "auto:4", "64"])
def test_batch_size_changes_only_rounding(saved, batch_size):
    texts = SENTENCES[:60]
    expected = scores(HFMaskedLM(saved("xlm-roberta"), batch_size=3), texts)
    found = scores(HFMaskedLM(saved("xlm-roberta"), batch_size=batch_size), texts)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_alone_or_beside_a_long_one(saved):
    lm = HFMaskedLM(saved("roberta"))
    longest = max(SENTENCES, key=len)
    assert scores(lm, ["Каро", longest])[0] == pytest.approx(scores(lm, ["Каро"])[0], rel=1e-5)


def test_equal_sentences_are_scored_once(saved, monkeypatch):
    lm = HFMaskedLM(saved("bert"))
    seen: list[int] = []
    plain = lm._forward.logprobs
    monkeypatch.setattr(lm._forward, "logprobs", lambda batch: seen.append(len(batch.ids)) or plain(batch))
    scores(lm, [SENTENCES[0], SENTENCES[1], SENTENCES[0]])
    tokens = [len(lm.tokenizer.tokenize(text)) for text in SENTENCES[:2]]
    assert sum(seen) == sum(tokens)


def test_half_precision_stays_close(saved):
    full, half = (scores(HFMaskedLM(saved("bert"), dtype=dtype), SENTENCES[:30]) for dtype in ("float32", "bfloat16"))
    np.testing.assert_allclose(half, full, rtol=0.05)


def test_smaller_batches_after_out_of_memory(saved, monkeypatch, caplog):
    lm = HFMaskedLM(saved("bert"))
    expected = scores(lm, SENTENCES[:30])
    plain = lm._forward.logprobs

    def small(batch: Any) -> Any:
        if len(batch.ids) > 5:
            raise torch.OutOfMemoryError
        return plain(batch)

    monkeypatch.setattr(lm._forward, "logprobs", small)
    np.testing.assert_allclose(scores(lm, SENTENCES[:30]), expected, rtol=1e-5)
    assert lm._shape.rows < 40
    assert "out of memory" in caplog.text


@pytest.mark.parametrize("pll", PLLS)
def test_slow_and_fast_tokenizers_agree(saved, tmp_path, pll):
    fast = AutoTokenizer.from_pretrained(saved("bert"))
    vocabulary = sorted(fast.get_vocab(), key=fast.get_vocab().get)
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    slow = slow_bert(str(tmp_path / "vocab.txt"))
    assert not slow.is_fast
    by_slow, by_fast = (scores(HFMaskedLM(saved("bert"), pll=pll, tokenizer=t), SENTENCES) for t in (slow, fast))
    np.testing.assert_allclose(by_slow, by_fast, rtol=1e-6)


def slow_bert(vocabulary: str) -> Any:
    """BERT's tokenizer in Python: `BertTokenizer` up to transformers 4, `BertTokenizerLegacy` since."""
    try:
        from transformers.models.bert.tokenization_bert_legacy import BertTokenizerLegacy as Slow
    except ImportError:
        from transformers import BertTokenizer as Slow
    return Slow(vocabulary, do_lower_case=False, strip_accents=False)


@pytest.mark.parametrize(
    ("pieces", "starts"),
    [
        (["ка", "##ро", ",", "ми"], [1, 0, 1, 1]),
        (["▁ка", "ро", ",", "▁ми"], [1, 0, 0, 1]),
        (["ка@@", "ро", ",", "ми"], [1, 0, 1, 1]),
        (["ка", "ро</w>", ",</w>", "ми</w>"], [1, 0, 1, 1]),
    ],
)
def test_words_of_slow_tokenizers(pieces, starts):
    tokenizer = SimpleNamespace(is_fast=False, get_vocab=lambda: set(pieces), convert_ids_to_tokens=lambda ids: ids)
    assert word_reader(tokenizer, "x")({"input_ids": [["^", *pieces, "$"]]}, 0, range(1, 5)) == starts


def test_unknown_word_boundaries_are_refused():
    tokenizer = SimpleNamespace(is_fast=False, get_vocab=lambda: {"Ġка", "ро"})
    with pytest.raises(ValueError, match=r"word boundaries.*use_fast_tokenizer=True"):
        word_reader(tokenizer, "x")


def test_masks_by_hand():
    """Text tokens 10 11 12 between 1 and 2; the second word is 11 12; the mask is 0."""
    copies = list(masked_copies([pack([1, 10, 11, 12, 2], [True, True, False])], 1, 1))
    (batch,) = batches(copies, BatchShape(None, 100, 100), 0)
    assert batch.ids.tolist() == [[1, 0, 11, 12, 2], [1, 10, 0, 0, 2], [1, 10, 11, 0, 2]]
    assert batch.targets.tolist() == [10, 11, 12]
    copies = list(masked_copies([pack([1, 10, 11, 12, 2])], 1, 1))
    (batch,) = batches(copies, BatchShape(None, 100, 100), 0)
    assert batch.ids.tolist() == [[1, 0, 11, 12, 2], [1, 10, 0, 12, 2], [1, 10, 11, 0, 2]]


def test_batches_keep_the_budget_and_one_length():
    sizes = []

    def logprobs(batch: Any) -> Any:
        sizes.append(batch.ids.shape)
        return np.full(len(batch.ids), -1.0)

    made = [pack([1, *range(3, 3 + n), 2]) for n in range(1, 60)]
    shape = BatchShape(None, 200, 30)
    found = dict(score_sentences(made, logprobs, shape, n_prefix=1, n_suffix=1, mask_id=0))
    assert found == {i: -(i + 1.0) for i in range(59)}
    assert all(rows * length <= 200 and rows <= 30 for rows, length in sizes)


def test_only_one_batch_is_ever_held():
    taken: list[int] = []

    def copies() -> Any:
        for copy in masked_copies([pack([1, 5, 6, 7, 2])] * 1000, 1, 1):
            taken.append(copy.sentence)
            yield copy

    stream = batches(copies(), BatchShape(4, 1, 1), 0)
    next(stream)
    assert len(taken) == 5


def test_runs_in_the_harness(saved, tmp_path):
    """From a task on disk to a result, with model arguments as a string and as a dictionary."""
    (tmp_path / "rows.json").write_text("\n".join(f'{{"text": "{text}"}}' for text in SENTENCES[:4]), encoding="utf-8")
    (tmp_path / "task.yaml").write_text(
        "task: sentences\ndataset_path: json\noutput_type: loglikelihood\ntest_split: train\ndoc_to_text: ''\n"
        f"dataset_kwargs: {{data_files: '{tmp_path / 'rows.json'}', cache_dir: '{tmp_path / 'cache'}'}}\n"
        "doc_to_target: text\ntarget_delimiter: ''\nmetric_list: [{metric: perplexity}]\n",
        encoding="utf-8",
    )
    manager = TaskManager(include_path=str(tmp_path), include_defaults=False)
    expected = scores(HFMaskedLM(saved("bert"), pll="within_word_l2r"), SENTENCES[:4])
    arguments = {"pretrained": saved("bert"), "pll": "within_word_l2r"}
    for given in (arguments, ",".join(f"{key}={value}" for key, value in arguments.items())):
        result = simple_evaluate(
            "hf-mlm", model_args=given, tasks=["sentences"], task_manager=manager, batch_size="auto", device="cpu"
        )
        found = [float(sample["resps"][0][0][0]) for sample in result["samples"]["sentences"]]
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert result["config"]["pll"] == "within_word_l2r"


@pytest.mark.slow
def test_processes_share_the_work(saved, tmp_path):
    script = tmp_path / "run.py"
    script.write_text(
        "import sys, json\n"
        "from lm_eval.api.instance import Instance\n"
        "from lm_eval_tasks.models.masked_lm import HFMaskedLM\n"
        "import torch\n"
        "lm = HFMaskedLM(sys.argv[1])\n"
        "texts = json.load(open(sys.argv[2], encoding='utf-8'))[lm.rank :: lm.world_size]\n"
        "found = lm.loglikelihood([Instance('loglikelihood', {}, ('', t), i) for i, t in enumerate(texts)])\n"
        "counts = lm.all_gather(torch.tensor(len(texts), device=lm.device)).tolist()\n"
        "gathered = lm.gather_object(found)\n"
        "lm.barrier()\n"
        "if lm.rank == 0:\n"
        "    json.dump([lm.world_size, counts, gathered], open(sys.argv[3], 'w'))\n"
    )
    (tmp_path / "texts.json").write_text(json.dumps(SENTENCES[:9]), encoding="utf-8")
    # torchrun, because `accelerate launch --cpu --num_processes 2` starts one process.
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--standalone", str(script)]
    given = [saved("bert"), str(tmp_path / "texts.json"), str(tmp_path / "out.json")]
    environment = os.environ | {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    subprocess.run([*launch, *given], check=True, timeout=300, env=environment)
    world_size, counts, gathered = json.loads((tmp_path / "out.json").read_text())
    assert (world_size, counts) == (2, [5, 4])
    merged = [gathered[i % 2][i // 2][0] for i in range(9)]
    np.testing.assert_allclose(merged, scores(HFMaskedLM(saved("bert")), SENTENCES[:9]), rtol=1e-5)


def test_registered_and_known_while_it_lives(saved):
    assert get_model("hf-mlm") is HFMaskedLM
    assert not masked_lm.is_live("somewhere/else")
    lm = HFMaskedLM.create_from_arg_string(f"pretrained={saved('roberta')}", {"batch_size": 1, "device": "cuda:0"})
    assert masked_lm.is_live(saved("roberta"))
    assert lm.batch_size == 1
    del lm
    gc.collect()
    assert not masked_lm.is_live(saved("roberta"))


def test_a_loaded_model_comes_back_unchanged(saved):
    model = AutoModelForMaskedLM.from_pretrained(saved("roberta"))
    lm = HFMaskedLM(model)
    np.testing.assert_allclose(scores(lm, SENTENCES[:5]), scores(HFMaskedLM(saved("roberta")), SENTENCES[:5]), rtol=1e-6)
    assert masked_lm.is_live(model)
    assert not model.base_model._forward_hooks
