"""Tokenizers of many kinds under the harness's `hf`: LM-PPL's own numbers, or the deviation that is written down here.

LM-PPL reads a sentence with the tokenizer's special tokens and averages over all tokens but the first. What a kind scores
instead is given as the token ids that LM-PPL's definition would have to be applied to.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.support import tiny
from tests.support.harness import evaluate, samples
from tests.support.tokenizer_kinds import KINDS

TASK = "rubia_sample_class"  # the convention is decided over the whole file all the same


def own(ids: list[int], _: int) -> list[int]:
    """As LM-PPL."""
    return ids


def without_end(ids: list[int], _: int) -> list[int]:
    """The special token that the tokenizer appends is not scored."""
    return ids[:-1]


def after_prefix(ids: list[int], prefix: int) -> list[int]:
    """The first token is scored, too, after the harness's prefix token: the harness cannot split the text there."""
    return [prefix, *ids]


def after_prefix_without_end(ids: list[int], prefix: int) -> list[int]:
    """Both."""
    return [prefix, *ids[:-1]]


class Case(NamedTuple):
    """Convention, what is scored, and the model arguments that the kind needs."""

    convention: str
    scored: Callable[[list[int], int], list[int]] = own
    arguments: dict[str, Any] = {}  # noqa: RUF012  # never changed


CASES = {
    "bpe": Case("context"),
    "bpe_bos": Case("scored"),
    "bpe_bos_eos": Case("scored", without_end),
    "bpe_eos": Case("scored", after_prefix_without_end),
    "bpe_whole_word": Case("context"),
    "dummy_prefix": Case("context"),
    "dummy_prefix_small": Case("scored", after_prefix),
    "dummy_prefix_bos": Case("scored"),
    "unigram": Case("scored", after_prefix),
    "unigram_leading_eos": Case("scored"),
    "byte_fallback": Case("scored", after_prefix),
    "byte_fallback_bos": Case("scored"),
    "byte_level": Case("scored", after_prefix),
    "byte_level_cyrillic": Case("context"),
    "byte_level_bos": Case("scored"),
    "wordpiece_cls_sep": Case("scored", without_end, {"prefix_token_id": 1}),
    "wordpiece": Case("context", own, {"prefix_token_id": 1}),
    "without_ends": Case("context", own, {"prefix_token_id": 3}),
    "uncased": Case("context"),
    "characters": Case("context"),
    "whole_words": Case("context"),
    "slow_bytes_eos": Case("scored", after_prefix_without_end),
    "slow_sentencepiece": Case("context"),
    "slow_words": Case("scored", after_prefix, {"prefix_token_id": 0}),
}


def perplexity(model: Any, ids: Sequence[int]) -> float:
    """LM-PPL's, of a sequence of tokens."""
    with torch.inference_mode():
        log_probabilities = model(torch.tensor([list(ids)])).logits[0, :-1].log_softmax(-1)
    return math.exp(-log_probabilities.gather(-1, torch.tensor(list(ids))[1:, None]).mean().item())


def test_every_kind_is_in_the_table() -> None:
    assert CASES.keys() == KINDS.keys()
    assert sum(case.scored is own for case in CASES.values()) >= 14


@pytest.mark.parametrize("kind", CASES)
def test_perplexities(kind: str, tmp_path: Path) -> None:
    case = CASES[kind]
    tiny.save_causal(tmp_path, KINDS[kind](tmp_path))
    found = evaluate(TASK, {"pretrained": str(tmp_path), **case.arguments})
    metadata = found["configs"][TASK]["metadata"]
    assert metadata["first_token_convention"] == case.convention
    assert metadata["unscorable_pairs"] == []
    assert ("after the text is not scored" in metadata["first_token_reason"]) == ("without_end" in case.scored.__name__)
    model, tokenizer = (auto.from_pretrained(tmp_path) for auto in (AutoModelForCausalLM, AutoTokenizer))
    differs = False
    for sample in samples(found):
        for side, (loglikelihood, _) in zip(("pro", "anti"), sample["filtered_resps"], strict=True):
            ids = tokenizer(sample["doc"][f"{side}_trope"])["input_ids"]
            expected = perplexity(model, case.scored(ids, metadata["first_token_prefix_id"]))
            measured = math.exp(-float(loglikelihood) / sample["doc"][f"{side}_n_tokens"])
            assert measured == pytest.approx(expected, rel=1e-4)
            differs |= measured != pytest.approx(perplexity(model, ids), rel=1e-2)
    assert differs == (case.scored is not own)
