"""What `hf-mlm` refuses, and with which words."""

import math

import pytest
from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    AutoTokenizer,
    BartConfig,
    BertModel,
    GPT2Config,
    T5Config,
)

from lm_eval_tasks.models.masked_lm import HFMaskedLM
from tests.support import mlm_models
from tests.support.mlm_models import requests, scores

SENTENCES = mlm_models.sentences()


@pytest.mark.parametrize(("family", "limit"), [("bert", 90), ("roberta", 88), ("xlm-roberta", 88), ("modernbert", 90)])
def test_long_sentences_are_refused_and_never_cut(saved, family, limit):
    lm = HFMaskedLM(saved(family))
    assert lm.max_length == limit
    fits = text_of_length(lm, limit)
    assert math.isfinite(scores(lm, [fits])[0])
    too_long = text_of_length(lm, limit + 1)
    with pytest.raises(ValueError, match=rf"has {limit + 1} tokens with special tokens, the model takes {limit}") as caught:
        scores(lm, [fits, too_long])
    assert too_long in str(caught.value)


def text_of_length(lm: HFMaskedLM, n_tokens: int) -> str:
    """A text that becomes exactly that many tokens, special tokens included."""
    text = "ка"
    while len(lm.tokenizer(text)["input_ids"]) < n_tokens:
        text += ","
    assert len(lm.tokenizer(text)["input_ids"]) == n_tokens
    return text


def test_max_length_lowers_the_limit_only(saved):
    assert HFMaskedLM(saved("bert"), max_length=10).max_length == 10
    with pytest.raises(ValueError, match="max_length=91 is more than the 90 tokens"):
        HFMaskedLM(saved("bert"), max_length=91)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "makes no token of the sentence ''"),
        ("Каро [MASK] ми", r"contains special tokens of the model \(\[MASK\]\)"),
        ("Каро [SEP] ми", r"contains special tokens of the model \(\[SEP\]\)"),
    ],
)
def test_sentences_that_cannot_be_scored(saved, text, message):
    with pytest.raises(ValueError, match=message):
        scores(HFMaskedLM(saved("bert")), ["Каро", text])


def test_a_context_is_refused(saved):
    with pytest.raises(ValueError, match=r"context 'Каро' before ' ми'.*empty contexts"):
        HFMaskedLM(saved("bert")).loglikelihood(requests([" ми"], context="Каро"))


def test_other_request_types_are_refused(saved):
    lm = HFMaskedLM(saved("bert"))
    with pytest.raises(NotImplementedError, match=r"cannot generate text.*--model hf or vllm"):
        lm.generate_until([])
    with pytest.raises(NotImplementedError, match="no rolling log-likelihood"):
        lm.loglikelihood_rolling([])
    with pytest.raises(NotImplementedError, match="without --apply_chat_template"):
        lm.apply_chat_template([])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pll": "salazar"}, "pll is 'salazar', expected one of original, within_word_l2r"),
        ({"batch_size": 0}, "batch_size is 0, expected a positive number"),
        ({"batch_size": "many"}, "batch_size is 'many'"),
    ],
)
def test_wrong_arguments(saved, changes, message):
    with pytest.raises(ValueError, match=message):
        HFMaskedLM(saved("bert"), **changes)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=40),
            r"not a masked language model \(model type gpt2.*--model hf",
        ),
        (T5Config(num_layers=1, d_model=8, vocab_size=40), r"encoder-decoder \(seq2seq\) model \(t5\)"),
        (
            BartConfig(encoder_layers=1, decoder_layers=1, d_model=16, vocab_size=40),
            r"encoder-decoder \(seq2seq\) model",
        ),
    ],
)
def test_other_kinds_of_model(tmp_path, config, message):
    AutoModel.from_config(config).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=message):
        HFMaskedLM(str(tmp_path))


def test_a_masked_model_turned_causal(tmp_path):
    folder = mlm_models.save_model(tmp_path, "bert", is_decoder=True)
    with pytest.raises(ValueError, match="not a masked language model"):
        HFMaskedLM(folder)


def test_a_checkpoint_without_trained_head(saved, tmp_path):
    BertModel.from_pretrained(saved("bert")).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(saved("bert")).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"no complete masked-LM head.*cls\.predictions"):
        HFMaskedLM(str(tmp_path))
    with pytest.raises(ValueError, match="BertModel has no masked-LM head"):
        HFMaskedLM(BertModel.from_pretrained(saved("bert")))


def test_tokenizers_that_do_not_fit(saved, tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(saved("bert"))
    tokenizer.mask_token = None
    with pytest.raises(ValueError, match="has no mask token"):
        HFMaskedLM(saved("bert"), tokenizer=tokenizer)
    with pytest.raises(ValueError, match=r"the model knows .* tokens: the tokenizer belongs to another model"):
        scores(HFMaskedLM(saved("bert"), tokenizer=saved("roberta")), SENTENCES)


def test_non_finite_scores_are_refused(saved):
    model = AutoModelForMaskedLM.from_pretrained(saved("bert"))
    model.base_model.embeddings.word_embeddings.weight.data[:] = float("nan")
    lm = HFMaskedLM(model)
    with pytest.raises(ValueError, match=r"the model gives nan as log-probability of"):
        scores(lm, SENTENCES[:2])
