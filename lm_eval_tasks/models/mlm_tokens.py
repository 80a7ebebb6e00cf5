"""From text to token ids for a masked language model: special tokens, word boundaries, and what is refused.

Words are the tokenizer's own (`word_ids`). Where it has none (slow tokenizers), they are read from how its pieces are
written: `##` continues a word, `▁` starts one, `@@` says that the word goes on, `</w>` that it ends.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lm_eval_tasks.models.pll import Sentence, pack

_CHUNK = 1024
_PROBE = "ab ab, ab"


class SentenceEncoder:
    """Encodes sentences for one model; refuses, by sentence, whatever could not be scored exactly."""

    def __init__(self, tokenizer: Any, *, limit: int, vocab_size: int, words: bool) -> None:
        self.tokenizer, self.limit, self.vocab_size = tokenizer, limit, vocab_size
        name = getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__
        if getattr(tokenizer, "mask_token_id", None) is None:
            raise ValueError(
                f"the tokenizer {name} has no mask token, and a pseudo-log-likelihood masks each token in turn. "
                "Give the masked model's own tokenizer (tokenizer=...), or score a causal model with --model hf."
            )
        self.mask_id = int(tokenizer.mask_token_id)
        self.special_ids = frozenset(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
        self._check_vocabulary([self.mask_id], "the mask token")
        self.prefix, self.suffix = special_tokens(tokenizer)
        self._word_starts = word_reader(tokenizer, name) if words else None

    def encode(self, texts: Sequence[str]) -> Iterator[Sentence]:
        """The sentences in order; ValueError names the first that is empty, too long or holds a special token."""
        for start in range(0, len(texts), _CHUNK):
            chunk = list(texts[start : start + _CHUNK])
            encoded = self.tokenizer(chunk, return_attention_mask=False, return_token_type_ids=False, verbose=False)
            for row, (text, ids) in enumerate(zip(chunk, encoded["input_ids"], strict=True)):
                self._check(text, ids)
                yield pack(ids, self._word_starts(encoded, row, self._span(ids)) if self._word_starts else ())

    def n_text_tokens(self, sentence: Sentence) -> int:
        """How many tokens of the sentence are text, and so how many masked copies it needs."""
        return len(sentence) - len(self.prefix) - len(self.suffix)

    def _span(self, ids: Sequence[int]) -> range:
        return range(len(self.prefix), len(ids) - len(self.suffix))

    def _check(self, text: str, ids: list[int]) -> None:
        span = self._span(ids)
        if ids[: span.start] != self.prefix or ids[span.stop :] != self.suffix:
            raise ValueError(f"the tokenizer does not put its special tokens around {text!r} as it does elsewhere")
        if not span:
            raise ValueError(f"the tokenizer makes no token of the sentence {text!r}, so there is nothing to score")
        if len(ids) > self.limit:
            raise ValueError(
                f"the sentence {text!r} has {len(ids)} tokens with special tokens, the model takes {self.limit}. "
                "It is not cut: leave the sentence out, or use a model that takes longer ones."
            )
        if found := self.special_ids.intersection(ids[span.start : span.stop]):
            shown = ", ".join(self.tokenizer.convert_ids_to_tokens(sorted(found)))
            raise ValueError(f"the sentence {text!r} contains special tokens of the model ({shown}): it is not plain text")
        self._check_vocabulary(ids, f"the sentence {text!r}")

    def _check_vocabulary(self, ids: Sequence[int], where: str) -> None:
        if max(ids) >= self.vocab_size:
            raise ValueError(
                f"{where} has token id {max(ids)}, but the model knows {self.vocab_size} tokens: "
                "the tokenizer belongs to another model"
            )


def special_tokens(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The special tokens that the tokenizer puts before and after a single sentence."""
    plain = tokenizer(_PROBE, add_special_tokens=False)["input_ids"]
    ids = tokenizer(_PROBE)["input_ids"]
    for start in range(len(ids) - len(plain) + 1):
        if plain and ids[start : start + len(plain)] == plain:
            return ids[:start], ids[start + len(plain) :]
    raise ValueError(f"cannot tell text from special tokens: the tokenizer makes {ids} of {_PROBE!r}, or {plain} without them")


def word_reader(tokenizer: Any, name: str) -> Callable[[Any, int, range], list[bool]]:
    """A function from (encoding, row, text positions) to whether each text token starts a word."""
    if tokenizer.is_fast and len({word for word in tokenizer(_PROBE).word_ids() if word is not None}) > 1:
        return _starts_by_word_id
    pieces = tokenizer.get_vocab()
    # In this order: a vocabulary with `##` may hold a lone `▁`, but not the other way round.
    if any(piece.startswith("##") and len(piece) > 2 for piece in pieces):
        return _reader_of_pieces(tokenizer, lambda piece, _: not piece.startswith("##"))
    if any(piece.startswith("▁") and len(piece) > 1 for piece in pieces):
        return _reader_of_pieces(tokenizer, lambda piece, _: piece.startswith("▁"))
    if any(piece.endswith("</w>") for piece in pieces):
        return _reader_of_pieces(tokenizer, lambda _, before: before.endswith("</w>"))
    if any(piece.endswith("@@") for piece in pieces):
        return _reader_of_pieces(tokenizer, lambda _, before: not before.endswith("@@"))
    raise ValueError(
        f"pll=within_word_l2r needs word boundaries, and the tokenizer {name} shows none. "
        "Use a fast tokenizer (use_fast_tokenizer=True), or pll=original."
    )


def _starts_by_word_id(encoded: Any, row: int, span: range) -> list[bool]:
    words = encoded.word_ids(row)
    return [i == span.start or words[i] is None or words[i] != words[i - 1] for i in span]


def _reader_of_pieces(tokenizer: Any, starts: Callable[[str, str], bool]) -> Callable[[Any, int, range], list[bool]]:
    def read(encoded: Any, row: int, span: range) -> list[bool]:
        pieces = tokenizer.convert_ids_to_tokens(encoded["input_ids"][row][span.start : span.stop])
        pairs = zip(pieces, ["", *pieces[:-1]], strict=True)
        return [i == 0 or starts(piece, before) for i, (piece, before) in enumerate(pairs)]

    return read
