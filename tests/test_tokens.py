"""The first-token convention: chosen once, recorded, overridable, and equal to the paper's scoring."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, BertTokenizer

from lm_eval_tasks.data import DataError, locate_rubia, rubia_sample
from lm_eval_tasks.rubia import tokens
from lm_eval_tasks.rubia.rows import Pair, read_pairs
from tests import tiny
from tests.harness import evaluate, samples

PAIRS = read_pairs(rubia_sample()).pairs
# What each kind needs to be scored as the paper did, and the convention that it then has.
KINDS = {
    "bpe_without_bos": ({}, "context"),
    "bpe_with_bos": ({}, "scored"),
    "unigram_with_leading_special": ({}, "scored"),
}


def build(tokenizer: Any, choice: str = "auto", pairs: tuple[Pair, ...] = PAIRS, **options: Any) -> tokens.Requests:
    return tokens.build_requests(
        pairs,
        tokenizer,
        choice=choice,
        **({"masked": False, "prefix_token_id": None, "prefix_key": "prefix_token_id", "add_bos": None} | options),
    )


def lmppl_perplexity(model: Any, tokenizer: Any, sentence: str) -> float:
    """LM-PPL: the tokenizer's defaults, cross-entropy averaged over all tokens but the first."""
    ids = torch.tensor([tokenizer(sentence)["input_ids"]])
    with torch.inference_mode():
        log_probabilities = model(ids).logits[0, :-1].log_softmax(-1)
    return math.exp(-log_probabilities.gather(-1, ids[0, 1:, None]).mean().item())


def measured(sample: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """(sentence, perplexity) of both sides of a logged sample."""
    for side, (loglikelihood, _) in zip(("pro", "anti"), sample["filtered_resps"], strict=True):
        yield sample["doc"][f"{side}_trope"], math.exp(-float(loglikelihood) / sample["doc"][f"{side}_n_tokens"])


@pytest.mark.parametrize("kind", KINDS)
def test_perplexities_are_those_of_lmppl(models: dict[str, Path], kind: str) -> None:
    extra, convention = KINDS[kind]
    found = evaluate("rubia_sample", {"pretrained": str(models[kind]), **extra})
    model, tokenizer = (auto.from_pretrained(models[kind]) for auto in (AutoModelForCausalLM, AutoTokenizer))
    assert {c["metadata"]["first_token_convention"] for c in found["configs"].values()} == {convention}
    logged = samples(found)
    assert len(logged) == 27 + 36 + (81 - 18) + (45 - 9)
    for sample in logged:
        for sentence, perplexity in measured(sample):
            assert perplexity == pytest.approx(lmppl_perplexity(model, tokenizer, sentence), rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_winners_of_every_official_pair(models: dict[str, Path], kind: str, official_folder: str) -> None:
    extra, _ = KINDS[kind]
    found = evaluate("rubia,rubia_experimental", {"pretrained": str(models[kind]), **extra}, {"data": official_folder})
    model, tokenizer = (auto.from_pretrained(models[kind]) for auto in (AutoModelForCausalLM, AutoTokenizer))
    expected = {}
    for pair in read_pairs(locate_rubia(official_folder)).pairs:
        pro, anti = (lmppl_perplexity(model, tokenizer, text) for text in (pair.pro_trope, pair.anti_trope))
        expected[pair.row] = None if math.isclose(pro, anti, rel_tol=1e-6) else float(pro < anti)
    logged = samples(found)
    assert [sample["doc"]["row"] for sample in logged] == sorted(expected)
    for sample in logged:
        winner = expected[sample["doc"]["row"]]
        # Equal to single precision: batching may decide either way.
        assert winner is None or sample["pct_stereotype"] == winner, sample["doc"]
    assert sum(winner is None for winner in expected.values()) < 5


def test_byte_level_falls_back_and_says_so(models: dict[str, Path]) -> None:
    found = evaluate("rubia_sample_class", {"pretrained": str(models["byte_level"])})
    metadata = found["configs"]["rubia_sample_class"]["metadata"]
    assert metadata["first_token_convention"] == "scored"
    assert "adds no special token, but the first token of" in metadata["first_token_reason"]
    # Every token is scored after <|endoftext|>: the reference for that reads it as the first token.
    model, tokenizer = (auto.from_pretrained(models["byte_level"]) for auto in (AutoModelForCausalLM, AutoTokenizer))
    for sample in samples(found):
        for sentence, perplexity in measured(sample):
            reference = lmppl_perplexity(model, tokenizer, "<|endoftext|>" + sentence)
            assert perplexity == pytest.approx(reference, rel=1e-4)


class TestChoice:
    def test_override_scored(self) -> None:
        requests = build(tiny.bpe_without_bos(), "scored")
        assert (requests.convention, requests.reason) == ("scored", "asked for")
        assert all(request.context == "" for request in requests.by_sentence.values())

    def test_override_context(self) -> None:
        tokenizer = tiny.bpe_without_bos()
        requests = build(tokenizer, "context")
        for sentence, request in requests.by_sentence.items():
            assert request.context + request.target == sentence
            assert len(tokenizer.encode(request.context)) == 1
            assert request.n_tokens == len(tokenizer.encode(sentence)) - 1

    def test_context_is_impossible(self) -> None:
        with pytest.raises(DataError, match=r"'first_token' is 'context', but the first token of '.*' cannot stand alone"):
            build(tiny.byte_level(), "context")

    def test_unknown_choice(self) -> None:
        with pytest.raises(DataError, match="'first_token' is 'both', expected one of auto, context, scored"):
            build(tiny.byte_level(), "both")

    def test_one_convention_for_the_whole_run(self) -> None:
        # One sentence of one token has nothing left to score after it: all are scored from the first token then.
        short = Pair(0, "Он", "Она поёт", "gender", "freeform_generic", "freeform_generic", 0)
        requests = build(tiny.bpe_without_bos(), pairs=(*PAIRS, short))
        assert requests.convention == "scored"
        assert "'Он' cannot stand alone (1 of" in requests.reason

    def test_masked(self) -> None:
        requests = build(tiny.bpe_with_bos(), masked=True)
        assert requests.convention == "masked"
        assert requests.by_sentence[PAIRS[0].pro_trope].n_tokens == len(
            tiny.bpe_with_bos().encode(PAIRS[0].pro_trope, add_special_tokens=False)
        )


class TestPrefix:
    def test_other_token_than_the_harness_puts(self) -> None:
        tokenizer = tiny.unigram_with_leading_special()
        tokenizer.bos_token = "<unk>"
        with pytest.raises(DataError, match=r"starts a sequence with \['</s>'\] .*'<unk>' \(id 0\).*prefix_token_id=1"):
            build(tokenizer)
        assert build(tokenizer, prefix_token_id=1).prefix_token_id == 1
        assert build(tokenizer, "scored").prefix_token_id == 0

    def test_neither_bos_nor_eos(self) -> None:
        tokenizer = tiny.byte_level()
        tokenizer.bos_token = tokenizer.eos_token = None
        with pytest.raises(DataError, match=r"neither a BOS nor an EOS token.*prefix_token_id=ID.*context"):
            build(tokenizer)

    def test_tokenizer_without_bos_and_eos_can_use_context(self) -> None:
        tokenizer = tiny.bpe_without_bos()
        tokenizer.bos_token = tokenizer.eos_token = None
        assert build(tokenizer).convention == "context"

    def test_add_bos_switched_off(self) -> None:
        assert build(tiny.bpe_with_bos(), add_bos=False).convention == "context"


def test_folding_tokenizer_makes_ties(tmp_path: Path) -> None:
    """An uncased tokenizer that strips accents reads ё as е and й as и (slow and fast kinds alike)."""
    letters = sorted(set("оставнилыь"))
    vocabulary = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]", *letters, *(f"##{c}" for c in letters), "е", "##е"]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    tokenizer = BertTokenizer(str(tmp_path / "vocab.txt"), do_lower_case=True)
    pair = Pair(0, "Все встали", "Всё встали", "gender", "freeform_full", "freeform_full", 0)
    requests = build(tokenizer, pairs=(pair,), masked=True)
    assert requests.identical(pair)
    kept = build(tiny.bpe_without_bos(), pairs=(pair,))
    assert not kept.identical(pair)


def test_empty_tokenization() -> None:
    class Mute:
        def __call__(self, texts: list[str], **_: Any) -> dict[str, list[list[int]]]:
            return {"input_ids": [[] for _ in texts]}

    with pytest.raises(DataError, match="makes no token of the sentence"):
        build(Mute())
