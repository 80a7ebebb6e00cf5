"""The first-token convention: chosen once, recorded, overridable, and equal to the paper's scoring."""

import math
import re
from collections.abc import Iterator
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, BertTokenizer

from lm_eval_tasks.data import DataError, locate_rubia, rubia_sample
from lm_eval_tasks.sentence_pairs import tokens
from lm_eval_tasks.sentence_pairs.rows import Pair, read_pairs
from tests.support import tiny, tokenizer_kinds
from tests.support.harness import METRICS, evaluate, samples

PAIRS = read_pairs(rubia_sample()).pairs
# What each kind needs to be scored as the paper did, and the convention that it then has.
KINDS = {
    "bpe_without_bos": ({}, "context"),
    "bpe_with_bos": ({}, "scored"),
    "unigram_with_leading_special": ({}, "scored"),
}


def numbered(pro: str, anti: str, n: int, *, of: int) -> tuple[Pair, ...]:
    """`n` pairs of these sentences among `of` that any tokenizer here can split; all but one-token ones are numbered."""
    kind = ("gender", "freeform_generic", "freeform_generic")
    failing = [(pro if pro == "Он" else f"{pro} {row}", f"{anti} {row}") for row in range(n)]
    others = [(f"Он поёт {row}", f"Она поёт {row}") for row in range(n, of)]
    return tuple(Pair(row, *texts, *kind, row) for row, texts in enumerate(failing + others))


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
    assert unlike_lmppl(found, models[kind], official_folder) == []
    assert {c["metadata"]["unscorable_pairs"] == [] for c in found["configs"].values()} == {True}


def test_winners_with_a_sentence_of_one_token(official_folder: str, tmp_path: Path) -> None:
    """One official sentence is the word "Русские": LM-PPL's perplexity of one token is NaN, and no other pair knows of it."""
    folder = tiny.save_causal(tmp_path / "model", tokenizer_kinds.whole_word())
    (one,) = [p for p in read_pairs(locate_rubia(official_folder)).pairs if "Русские" in (p.pro_trope, p.anti_trope)]
    found = evaluate("rubia,rubia_experimental", {"pretrained": str(folder)}, {"data": official_folder})
    assert unlike_lmppl(found, folder, official_folder) == []
    for config in found["configs"].values():
        assert config["metadata"]["first_token_convention"] == "context"
        assert config["metadata"]["unscorable_pairs"] == [one.row]
    logged = {sample["doc"]["row"]: sample for sample in samples(found)}
    assert [row for row, sample in logged.items() if sample["doc"]["undecided"]] == [one.row]
    assert [logged[one.row][metric] for metric in METRICS] == [0.0, 0.0, 0.0, 1.0]


def unlike_lmppl(found: dict[str, Any], folder: Path, official: str) -> list[dict[str, Any]]:
    """Logged official pairs, of all 2,220, whose winner is not LM-PPL's."""
    model, tokenizer = (auto.from_pretrained(folder) for auto in (AutoModelForCausalLM, AutoTokenizer))
    expected = {}
    for pair in read_pairs(locate_rubia(official)).pairs:
        pro, anti = (lmppl_perplexity(model, tokenizer, text) for text in (pair.pro_trope, pair.anti_trope))
        expected[pair.row] = None if math.isclose(pro, anti, rel_tol=1e-6) else float(pro < anti)
    logged = samples(found)
    assert [sample["doc"]["row"] for sample in logged] == sorted(expected)
    assert len(expected) == 2220
    # Equal to single precision: batching may decide either way.
    assert sum(winner is None for winner in expected.values()) < 5
    return [s["doc"] for s in logged if expected[s["doc"]["row"]] not in (None, s["pct_stereotype"])]


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

    def test_a_sentence_of_one_token_decides_nothing_and_turns_nothing(self) -> None:
        short = Pair(len(PAIRS), "Он", "Она поёт", "gender", "freeform_generic", "freeform_generic", 0)
        both = Pair(len(PAIRS) + 1, "Он", "Мы", "gender", "freeform_generic", "freeform_generic", 0)
        alone, requests = build(tiny.bpe_without_bos()), build(tiny.bpe_without_bos(), pairs=(*PAIRS, short, both))
        assert (requests.convention, requests.reason) == ("context", "the tokenizer adds no special token")
        assert [pair.row for pair in (*PAIRS, short, both) if requests.undecided(pair)] == [short.row, both.row]
        assert {text: requests.by_sentence[text] for text in alone.by_sentence} == alone.by_sentence
        assert astuple(requests.by_sentence["Он"])[:3] == ("", "Он", 0)  # a request that the harness can carry out

    @pytest.mark.parametrize("n_short", [1, 50, 100])
    def test_no_number_of_such_sentences_turns_the_run(self, n_short: int) -> None:
        requests = build(tiny.bpe_without_bos(), pairs=numbered("Он", "Она поёт", n_short, of=100))
        assert requests.convention == "context"

    @pytest.mark.parametrize(("n_failing", "convention"), [(2, "context"), (3, "scored")])
    def test_limit_of_sentences_that_cannot_be_split(self, n_failing: int, convention: str) -> None:
        assert tokens.UNSPLIT_LIMIT * 299 < 3 <= tokens.UNSPLIT_LIMIT * 300
        pairs = numbered("Ѣ", "Она поёт", n_failing, of=299)
        tokenizer = tokenizer_kinds.byte_level_with_cyrillic()  # an old letter is two bytes to it
        requests = build(tokenizer, pairs=pairs)
        assert requests.convention == convention
        assert sum(map(requests.undecided, pairs)) == (n_failing if convention == "context" else 0)
        if convention == "scored":
            message = r"the first token of 'Ѣ 0' cannot stand alone \(3 of 299 pairs have such a sentence\)"
            assert re.search(message, requests.reason)
            with pytest.raises(DataError, match=rf"'first_token' is 'context', but {message}\. To go on, use --metadata"):
                build(tokenizer, "context", pairs=pairs)

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
        # The harness decodes its prefix token for every text, so that `context` alone is no way out.
        tokenizer = tokenizer_kinds.without_ends()
        message = r"neither a BOS nor an EOS token.*--model_args \.\.\.,prefix_token_id=ID \('<unk>' is 0, '<pad>' is 3\)"
        for choice in ("auto", "context", "scored"):
            with pytest.raises(DataError, match=message):
                build(tokenizer, choice)
        assert build(tokenizer, prefix_token_id=3).convention == "context"
        scored = build(tokenizer, "scored", prefix_token_id=3)
        assert (scored.convention, scored.prefix_token_id) == ("scored", 3)

    def test_the_leading_special_token_is_offered(self) -> None:
        tokenizer = tokenizer_kinds.wordpiece("[CLS] $A [SEP]")
        with pytest.raises(DataError, match=r"--model_args \.\.\.,prefix_token_id=1 \('\[CLS\]' is 1, "):
            build(tokenizer)
        assert build(tokenizer, prefix_token_id=1).convention == "scored"

    def test_a_prefix_that_begins_a_sentence(self) -> None:
        tokenizer = tiny.bpe_without_bos()
        first = tokenizer.encode(PAIRS[0].pro_trope)[0]
        with pytest.raises(
            DataError, match=f"prefix_token_id={first} is the first token of the sentence '.*that begins no sent"
        ):
            build(tokenizer, prefix_token_id=first)

    def test_first_token_that_is_the_harness_own_prefix(self) -> None:
        """GPT-2's own tokenizer has one token for unknown, BOS and EOS; the harness takes it for its prefix."""
        tokenizer = tiny.bpe_without_bos()
        tokenizer.bos_token = tokenizer.eos_token = "<unk>"
        odd = Pair(0, "☂ дождь", "Он поёт", "gender", "freeform_full", "freeform_full", 0)
        request = build(tokenizer, "scored", pairs=(odd,)).by_sentence["☂ дождь"]
        assert (request.token_ids[0], request.n_tokens) == (tokenizer.unk_token_id, len(request.token_ids) - 1)
        with pytest.raises(DataError, match=r"the sentence '☂' is the token \(id 0\) that the harness puts before"):
            build(tokenizer, "scored", pairs=(replace(odd, pro_trope="☂"),))

    def test_appended_eos_is_named(self) -> None:
        tokenizer = tokenizer_kinds.KINDS["bpe_eos"](Path())
        requests = build(tokenizer)
        assert requests.convention == "scored"
        assert requests.reason == (
            "the tokenizer adds no special token before a text, but '</s>' after every text, so that the harness cannot split "
            "one; '</s>' after the text is not scored"
        )
        with pytest.raises(DataError, match="is 'context', but '</s>' after every.*go on, add add_bos_token=False to --model"):
            build(tokenizer, "context")
        assert build(tokenizer, "context", add_bos=False).convention == "context"

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
