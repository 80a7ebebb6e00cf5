"""Tiny models with random weights, and tokenizers of the kinds that differ in how a sequence begins."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from lm_eval_tasks.data import rubia_sample
from lm_eval_tasks.sentence_pairs.rows import read_pairs

CHAT_TEMPLATE = "{% for m in messages %}[{{ m['role'] }}] {{ m['content'] }}\n{% endfor %}[assistant] "


def sentences() -> list[str]:
    """Sentences of the shipped sample, for training tokenizers."""
    return [text for pair in read_pairs(rubia_sample()).pairs for text in (pair.pro_trope, pair.anti_trope)]


def alphabet() -> list[str]:
    letters = "абвгдежзийклмнопрстуфхцчшщъыьэюяё"
    return sorted({*letters, *letters.upper(), *map(chr, range(32, 127)), *"—–«»…№%"})


def _bpe(texts: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="never")
    special = ["<unk>", "<s>", "</s>", "<pad>"]
    letters = [*alphabet(), "▁"]
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=special, initial_alphabet=letters, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _start_with(tokenizer: Tokenizer, token: str) -> None:
    pair = [(token, tokenizer.token_to_id(token))]
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{token} $A", special_tokens=pair)


def _fast(tokenizer: Tokenizer, **special: str) -> PreTrainedTokenizerFast:
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
    made.chat_template = CHAT_TEMPLATE
    return made


def bpe_without_bos() -> PreTrainedTokenizerFast:
    return _fast(_bpe(sentences()), bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<pad>")


def bpe_with_bos() -> PreTrainedTokenizerFast:
    tokenizer = _bpe(sentences())
    _start_with(tokenizer, "<s>")
    return _fast(tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<pad>")


def unigram_with_leading_special() -> PreTrainedTokenizerFast:
    """SentencePiece-like: unigram pieces with a space mark, and `</s>` before every sequence."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=700,
        special_tokens=["<unk>", "</s>", "<pad>"],
        unk_token="<unk>",
        initial_alphabet=alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(sentences(), trainer)
    _start_with(tokenizer, "</s>")
    return _fast(tokenizer, eos_token="</s>", unk_token="<unk>", pad_token="<pad>")


def byte_level() -> PreTrainedTokenizerFast:
    """GPT-2-like, trained on no Cyrillic: a Russian first token is half a character."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["a plain English text without other letters"], trainer)
    return _fast(tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>")


TOKENIZERS = {
    "bpe_without_bos": bpe_without_bos,
    "bpe_with_bos": bpe_with_bos,
    "unigram_with_leading_special": unigram_with_leading_special,
    "byte_level": byte_level,
}


def save_causal(folder: Path, tokenizer: PreTrainedTokenizerFast, max_tokens: int = 512) -> Path:
    torch.manual_seed(0)
    # Weights larger than the default: at 0.02 all sentences of one length look nearly alike.
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=max_tokens,
        n_embd=32,
        n_layer=2,
        n_head=2,
        initializer_range=0.4,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    GPT2LMHeadModel(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_masked(folder: Path) -> Path:
    torch.manual_seed(0)
    plain = _bpe(sentences())
    plain.add_special_tokens(["<mask>"])
    both = [(token, plain.token_to_id(token)) for token in ("<s>", "</s>")]
    plain.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=both)
    names = {"cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, **names)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        initializer_range=0.4,
    )
    BertForMaskedLM(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
