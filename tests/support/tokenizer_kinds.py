"""Tokenizers of many kinds, trained on the shipped sample: how a text begins and ends, what its pieces are, slow or fast."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sentencepiece
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import ByT5Tokenizer, CTRLTokenizer, GPTSw3Tokenizer, PreTrainedTokenizerFast

from tests.support.tiny import alphabet, sentences

ENDS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
SPECIAL = ["<unk>", "<s>", "</s>", "<pad>"]
LETTERS = sorted({*alphabet(), *(character for text in sentences() for character in text)})


def pieces(
    *,
    kind: str = "bpe",
    dummy_prefix: bool = False,
    n_pieces: int = 900,
    letters: list[str] = LETTERS,
    fallback: bool = False,
    words: str = "",
) -> Tokenizer:
    """Pieces with a space mark, as SentencePiece makes them; `words` become one piece each."""
    if fallback:
        letters = [*letters, *(f"<0x{byte:02X}>" for byte in range(256))]
    bpe = models.BPE(unk_token=None if fallback else "<unk>", byte_fallback=fallback)
    tokenizer = Tokenizer(bpe if kind == "bpe" else models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always" if dummy_prefix else "never")
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", int(dummy_prefix), 0)]
    tokenizer.decoder = decoders.Sequence(steps)
    special = [*SPECIAL, *letters[-256:]] if fallback else SPECIAL
    options: dict[str, Any] = {"special_tokens": special, "show_progress": False}
    if kind == "bpe":
        trainer: Any = trainers.BpeTrainer(
            vocab_size=n_pieces, initial_alphabet=["▁", *(one for one in letters if len(one) == 1)], **options
        )
    else:
        trainer = trainers.UnigramTrainer(vocab_size=700, unk_token="<unk>", initial_alphabet=LETTERS, **options)
    known = [text for text in sentences() if not fallback or set(text) <= {*letters, " "}]
    tokenizer.train_from_iterator([*known, *([words] * 50 if words else [])], trainer)
    return tokenizer


def byte_level(texts: list[str], n_pieces: int) -> Tokenizer:
    """GPT-2's kind: pieces of bytes."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=n_pieces, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def fast(tokenizer: Tokenizer, template: str = "$A", **names: str | None) -> PreTrainedTokenizerFast:
    """With what `template` puts around a text, such as `<s> $A </s>`."""
    around = [token for token in template.split() if token != "$A"]
    if around:
        pairs = [(token, tokenizer.token_to_id(token)) for token in around]
        tokenizer.post_processor = processors.TemplateProcessing(single=template, special_tokens=pairs)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **(ENDS | names))


def whole_word() -> PreTrainedTokenizerFast:
    """The one-word sentence of the official file is one piece."""
    return fast(pieces(words="Русские"))


def byte_level_with_cyrillic() -> PreTrainedTokenizerFast:
    """As the GPT-2 kinds trained on Russian: every letter is a piece."""
    return fast(byte_level([*sentences(), *(f"{letter} {letter}" for letter in LETTERS * 9)], 700))


def wordpiece(template: str) -> PreTrainedTokenizerFast:
    """BERT's kind: neither a BOS nor an EOS token."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[UNK]", "[CLS]", "[SEP]", "[PAD]"]
    tokenizer.train_from_iterator(
        sentences(), trainers.WordPieceTrainer(vocab_size=700, special_tokens=special, show_progress=False)
    )
    names = {"bos_token": None, "eos_token": None, "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return fast(tokenizer, template, **names, unk_token="[UNK]", pad_token="[PAD]")


def without_ends() -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(tokenizer_object=pieces(), unk_token="<unk>", pad_token="<pad>")


def uncased() -> PreTrainedTokenizerFast:
    tokenizer = pieces()
    tokenizer.normalizer = normalizers.Lowercase()
    return fast(tokenizer)


def characters() -> PreTrainedTokenizerFast:
    vocabulary = {token: number for number, token in enumerate([*SPECIAL, *LETTERS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.decoder = decoders.Fuse()
    return fast(tokenizer)


def whole_words() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(sentences(), trainers.WordLevelTrainer(special_tokens=SPECIAL, show_progress=False))
    return fast(tokenizer)


def slow_sentencepiece(folder: Path) -> GPTSw3Tokenizer:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences()),
        model_writer=model,
        model_type="char",
        vocab_size=200,
        hard_vocab_limit=False,
        character_coverage=1.0,
        pad_id=3,
        add_dummy_prefix=False,
        minloglevel=2,
    )
    (folder / "spiece.model").write_bytes(model.getvalue())
    return GPTSw3Tokenizer(str(folder / "spiece.model"), **ENDS)


def slow_words(folder: Path) -> CTRLTokenizer:
    """Letters, marked where the word goes on; no special token but the unknown one."""
    letters = [one for one in LETTERS if one != " "]
    vocabulary = {token: number for number, token in enumerate(["<unk>", *letters, *(f"{one}@@" for one in letters)])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    (folder / "merges.txt").write_text("#version\n", encoding="utf-8")
    return CTRLTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))


# A function of the folder that holds the model.
KINDS: dict[str, Callable[[Path], Any]] = {
    "bpe": lambda _: fast(pieces()),
    "bpe_bos": lambda _: fast(pieces(), "<s> $A"),
    "bpe_bos_eos": lambda _: fast(pieces(), "<s> $A </s>"),
    "bpe_eos": lambda _: fast(pieces(), "$A </s>"),
    "bpe_whole_word": lambda _: whole_word(),
    "dummy_prefix": lambda _: fast(pieces(dummy_prefix=True, n_pieces=3000)),
    "dummy_prefix_small": lambda _: fast(pieces(dummy_prefix=True)),
    "dummy_prefix_bos": lambda _: fast(pieces(dummy_prefix=True), "<s> $A"),
    "unigram": lambda _: fast(pieces(kind="unigram", dummy_prefix=True)),
    "unigram_leading_eos": lambda _: fast(pieces(kind="unigram", dummy_prefix=True), "</s> $A", bos_token=None),
    "byte_fallback": lambda _: fast(pieces(dummy_prefix=True, letters=LETTERS[:-60], fallback=True)),
    "byte_fallback_bos": lambda _: fast(pieces(dummy_prefix=True, letters=LETTERS[:-60], fallback=True), "<s> $A"),
    "byte_level": lambda _: fast(byte_level(["plain English text"], 300)),
    "byte_level_cyrillic": lambda _: byte_level_with_cyrillic(),
    "byte_level_bos": lambda _: fast(byte_level(sentences(), 700), "<s> $A"),
    "wordpiece_cls_sep": lambda _: wordpiece("[CLS] $A [SEP]"),
    "wordpiece": lambda _: wordpiece("$A"),
    "without_ends": lambda _: without_ends(),
    "uncased": lambda _: uncased(),
    "characters": lambda _: characters(),
    "whole_words": lambda _: whole_words(),
    "slow_bytes_eos": lambda _: ByT5Tokenizer(),
    "slow_sentencepiece": slow_sentencepiece,
    "slow_words": slow_words,
}
