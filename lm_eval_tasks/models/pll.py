"""Pseudo-log-likelihood of a sentence under a masked language model, in nats.

`original` (Salazar et al. 2020): each text token is masked alone; the score is the sum over the text tokens of
log p(token | the sentence with that token masked). Special tokens are kept and never scored.
`within_word_l2r` (Kauf & Ivanova 2023): the later tokens of the same word are masked too, so that a word of many pieces
is not made likely by its own ending.

A sentence of n text tokens becomes n masked copies. Copies are batched over all sentences, longest first, and a batch
holds copies of one length only: nothing is ever padded. Sentences are put in an order of their own (length, then
tokens), so order and repeats of the input change nothing, to the last bit. The batch size changes rounding only.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

PLL = Literal["original", "within_word_l2r"]
PLL_CHOICES: tuple[str, ...] = get_args(PLL)

_PACKED = np.dtype(">i4")  # big-endian: packed ids sort as the ids themselves

# Tokens of one forward pass with batch_size=auto, and logits that it may hold. Measured on two cores with a model of
# XLM-R-base shape: the encoder's speed is flat from 256 tokens on, a vocabulary projection of 128 rows is faster than
# one of 64. A GPU takes more to be busy.
_AUTO_TOKENS = {"cpu": 2048, "other": 16384}
_AUTO_LOGITS = {"cpu": 2**25, "other": 2**28}


class Sentence(NamedTuple):
    """One tokenized sentence, packed so that 100,000 of them stay small; equal sentences are equal values.

    `ids` are the token ids, special tokens included. `word_starts` has one byte per text token, 1 where a word starts;
    it is empty where words do not matter.
    """

    ids: bytes
    word_starts: bytes

    def __len__(self) -> int:
        return len(self.ids) // _PACKED.itemsize

    def unpack(self) -> NDArray[np.int64]:
        """The token ids as an array."""
        return np.frombuffer(self.ids, dtype=_PACKED).astype(np.int64)


class Copy(NamedTuple):
    """One masked copy: positions `first` to `stop` of the sentence are masked and the token at `first` is scored."""

    sentence: int
    ids: NDArray[np.int64]
    first: int
    stop: int


class Batch(NamedTuple):
    """Copies of one length, as arrays for the model: `ids[i, positions[i]]` hides `targets[i]` of `sentences[i]`."""

    ids: NDArray[np.int64]
    positions: NDArray[np.int64]
    targets: NDArray[np.int64]
    sentences: list[int]


@dataclass
class BatchShape:
    """How many copies one forward pass takes: `copies` where the user says, else what fits in `tokens` and `rows`."""

    copies: int | None
    tokens: int
    rows: int

    def n_copies(self, length: int) -> int:
        """Copies of `length` tokens in one batch, at least one."""
        return max(1, self.copies if self.copies is not None else min(self.tokens // length, self.rows))

    def halve(self) -> None:
        """Ask for half as much from now on (the device ran out of memory)."""
        self.copies = None if self.copies is None else max(1, self.copies // 2)
        self.tokens, self.rows = max(1, self.tokens // 2), max(1, self.rows // 2)


def batch_shape(batch_size: int | str, max_batch_size: int | None, vocab_size: int, device_type: str) -> BatchShape:
    """From the harness's arguments; ValueError where the size is neither a positive number nor `auto`."""
    kind = device_type if device_type in _AUTO_TOKENS else "other"
    rows = max(1, _AUTO_LOGITS[kind] // vocab_size)
    automatic = str(batch_size).partition(":")[0] == "auto"
    if not automatic and (not str(batch_size).isdigit() or int(batch_size) < 1):
        raise ValueError(f"batch_size is {batch_size!r}, expected a positive number of masked copies or auto")
    return BatchShape(None if automatic else int(batch_size), _AUTO_TOKENS[kind], min(rows, max_batch_size or rows))


def pack(ids: Sequence[int], word_starts: Iterable[bool] = ()) -> Sentence:
    """A sentence from its token ids and, where words matter, whether each text token starts a word."""
    return Sentence(np.asarray(ids, dtype=_PACKED).tobytes(), bytes(word_starts))


def score_sentences(
    sentences: Sequence[Sentence],
    logprobs: Callable[[Batch], NDArray[np.float64]],
    shape: BatchShape,
    *,
    n_prefix: int,
    n_suffix: int,
    mask_id: int,
    advance: Callable[[int], object] = lambda _: None,
) -> Iterator[tuple[int, float]]:
    """Index and pseudo-log-likelihood of each sentence, as soon as its last copy is scored; keeps one batch in memory.

    `logprobs` gives the log-probability of each target of a batch; `advance` is told how many copies each batch held.
    """
    current, total = -1, 0.0
    for batch in batches(masked_copies(sentences, n_prefix, n_suffix), shape, mask_id):
        for index, value in zip(batch.sentences, logprobs(batch).tolist(), strict=True):
            if index != current:
                if current >= 0:
                    yield current, total
                current, total = index, 0.0
            total += value
        advance(len(batch.sentences))
    if current >= 0:
        yield current, total


def masked_copies(sentences: Sequence[Sentence], n_prefix: int, n_suffix: int) -> Iterator[Copy]:
    """Every masked copy of every sentence, longest sentences first, the copies of a sentence one after another."""
    for index in sorted(range(len(sentences)), key=lambda i: (-len(sentences[i]), sentences[i])):
        sentence = sentences[index]
        ids = sentence.unpack()
        end = len(ids) - n_suffix
        stops = _word_ends(sentence.word_starts, n_prefix) if sentence.word_starts else range(n_prefix + 1, end + 1)
        for first, stop in zip(range(n_prefix, end), stops, strict=True):
            yield Copy(index, ids, first, stop)


def batches(copies: Iterable[Copy], shape: BatchShape, mask_id: int) -> Iterator[Batch]:
    """Copies in batches of one length, in the order given; the size is asked anew for each batch."""
    waiting: list[Copy] = []
    for copy in copies:
        if waiting and (len(copy.ids) != len(waiting[0].ids) or len(waiting) >= shape.n_copies(len(copy.ids))):
            yield _batch(waiting, mask_id)
            waiting = []
        waiting.append(copy)
    if waiting:
        yield _batch(waiting, mask_id)


def _word_ends(word_starts: bytes, n_prefix: int) -> list[int]:
    """For each text token, the position after the last token of its word."""
    ends, end = [], n_prefix + len(word_starts)
    for offset in reversed(range(len(word_starts))):
        ends.append(end)
        if word_starts[offset]:
            end = n_prefix + offset
    return ends[::-1]


def _batch(copies: list[Copy], mask_id: int) -> Batch:
    ids = np.stack([copy.ids for copy in copies])
    rows, positions = np.arange(len(copies)), np.array([copy.first for copy in copies])
    targets = ids[rows, positions]
    for row, copy in enumerate(copies):
        ids[row, copy.first : copy.stop] = mask_id
    return Batch(ids, positions, targets, [copy.sentence for copy in copies])
