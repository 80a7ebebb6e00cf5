"""Which tokens of a sentence are scored: one convention per run, chosen from the model's tokenizer.

The paper measured with LM-PPL: the tokenizer's own special tokens, no extra BOS, the loss averaged over all but the first
token of the sequence. In the harness that is

- `scored`, where the tokenizer starts a sequence with a special token: every text token is scored after it (empty context;
  the harness puts its prefix token there, which must be that same special token);
- `context`, where it adds none: the first text token is context and the rest is scored. That needs a first token that is
  whole characters and that the tokenizer gives back when it reads its text alone. Where one sentence of the file fails
  this (byte-level pieces), the whole run is `scored` after the harness's prefix token: one convention per run, never per
  sentence;
- `masked`, for masked language models: every text token is scored in turn, special tokens kept.

Requests are decided over the whole file, so that a subdomain run alone equals its part of a full run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lm_eval_tasks.data import DataError
from lm_eval_tasks.rubia.rows import Pair

Convention = Literal["context", "scored", "masked"]
KEY = "first_token"
CHOICES = ("auto", "context", "scored")


@dataclass(frozen=True)
class Request:
    """One sentence as the harness scores it: `target` after `context`, `n_tokens` scored."""

    context: str
    target: str
    n_tokens: int
    token_ids: tuple[int, ...]


@dataclass(frozen=True)
class Requests:
    """Requests of a run by sentence, under one convention; `reason` says in words why that one."""

    by_sentence: dict[str, Request]
    convention: Convention
    reason: str
    prefix_token_id: int | None

    def identical(self, pair: Pair) -> bool:
        """Whether the tokenizer makes the same tokens of both sentences (it may fold case, ё or й)."""
        return self.by_sentence[pair.pro_trope].token_ids == self.by_sentence[pair.anti_trope].token_ids


def build_requests(
    pairs: Sequence[Pair],
    tokenizer: Any,
    *,
    choice: str,
    masked: bool,
    prefix_token_id: int | None,
    prefix_key: str,
    add_bos: bool | None,
) -> Requests:
    """Requests for every sentence of `pairs`; raises DataError where the choice cannot be carried out.

    `choice` is auto, context or scored; `prefix_token_id` (called `prefix_key` by the backend) and `add_bos` are the harness's
    model arguments of that meaning.
    """
    if choice not in CHOICES:
        raise DataError(f"metadata key '{KEY}' is {choice!r}, expected one of {', '.join(CHOICES)}.")
    sentences = list(dict.fromkeys(text for pair in pairs for text in (pair.pro_trope, pair.anti_trope)))
    plain = _encode(tokenizer, sentences, add_special_tokens=False)
    for sentence, ids in zip(sentences, plain, strict=True):
        if not ids:
            raise DataError(f"the tokenizer makes no token of the sentence {sentence!r}; is it the model's own?")
    if masked:
        return _whole(sentences, plain, "masked", "masked language model: every text token is scored", None)

    prefix = _prefix(tokenizer, prefix_token_id)
    special = leading_special(tokenizer, sentences[0], plain[0], add_bos)
    if choice == "scored" or (choice == "auto" and special):
        if special != (prefix,) and choice == "auto":
            raise DataError(_other_prefix(tokenizer, special, prefix, prefix_key))
        reason = "asked for" if choice == "scored" else "the tokenizer starts a sequence with a special token"
        return _scored(sentences, plain, reason, prefix, prefix_key)
    contexts = first_token_texts(tokenizer, sentences, plain, add_bos)
    failing = [sentence for sentence in sentences if sentence not in contexts]
    if not failing:
        reason = "asked for" if choice == "context" else "the tokenizer adds no special token"
        return Requests(_split(sentences, plain, contexts), "context", reason, None)
    example = f"the first token of {failing[0]!r} cannot stand alone ({len(failing)} of {len(sentences)} sentences)"
    if choice == "context":
        raise DataError(f"'{KEY}' is 'context', but {example}. Use --metadata '{{\"{KEY}\": \"scored\"}}'.")
    return _scored(sentences, plain, f"the tokenizer adds no special token, but {example}", prefix, prefix_key)


def leading_special(tokenizer: Any, sentence: str, plain: Sequence[int], add_bos: bool | None) -> tuple[int, ...]:
    """Special tokens that the tokenizer puts before the text, as the harness would call it; () where it adds none."""
    (ids,) = _encode(tokenizer, [sentence], **_harness_options(add_bos))
    for start in range(len(ids) - len(plain) + 1):
        if list(ids[start : start + len(plain)]) == list(plain):
            return tuple(ids[:start])
    return ()


def first_token_texts(
    tokenizer: Any, sentences: Sequence[str], plain: Sequence[Sequence[int]], add_bos: bool | None
) -> dict[str, str]:
    """Text of the first token for each sentence that can be split there; a sentence that cannot is absent."""
    # Token by token, not by character offsets: slow tokenizers have none.
    decoded = {ids[0]: tokenizer.decode([ids[0]], clean_up_tokenization_spaces=False) for ids in plain}
    candidates = {}
    for sentence, ids in zip(sentences, plain, strict=True):
        text = decoded[ids[0]].strip()
        text = sentence[: len(text)]
        # The harness moves trailing spaces of a context into the continuation, which would undo the split.
        if text and text == text.rstrip() and len(ids) > 1 and "\ufffd" not in decoded[ids[0]]:
            candidates[sentence] = (text, ids[0])
    texts = list(dict.fromkeys(text for text, _ in candidates.values()))
    alone = dict(zip(texts, _encode(tokenizer, texts, **_harness_options(add_bos)), strict=True))
    return {sentence: text for sentence, (text, first) in candidates.items() if list(alone[text]) == [first]}


def _encode(tokenizer: Any, texts: list[str], **options: Any) -> list[list[int]]:
    return tokenizer(texts, **options)["input_ids"] if texts else []


def _harness_options(add_bos: bool | None) -> dict[str, bool]:
    return {} if add_bos is None else {"add_special_tokens": add_bos}


def _prefix(tokenizer: Any, chosen: int | None) -> int | None:
    """The token that the harness puts before a sentence with empty context."""
    if chosen is not None:
        return int(chosen)
    own: int | None = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    return own


def _scored(sentences: list[str], plain: list[list[int]], reason: str, prefix: int | None, prefix_key: str) -> Requests:
    if prefix is None:
        raise DataError(
            "the tokenizer has neither a BOS nor an EOS token, so the harness has nothing to put before a sentence. "
            f"Name one, --model_args {prefix_key}=ID, or score from the second token on, "
            f'--metadata \'{{"{KEY}": "context"}}\'.'
        )
    return _whole(sentences, plain, "scored", reason, prefix)


def _whole(sentences: list[str], plain: list[list[int]], convention: Convention, reason: str, prefix: int | None) -> Requests:
    made = {s: Request("", s, len(ids), tuple(ids)) for s, ids in zip(sentences, plain, strict=True)}
    return Requests(made, convention, reason, prefix)


def _split(sentences: list[str], plain: list[list[int]], contexts: dict[str, str]) -> dict[str, Request]:
    return {
        s: Request(contexts[s], s[len(contexts[s]) :], len(ids) - 1, tuple(ids))
        for s, ids in zip(sentences, plain, strict=True)
    }


def _other_prefix(tokenizer: Any, special: tuple[int, ...], prefix: int | None, prefix_key: str) -> str:
    own = tokenizer.convert_ids_to_tokens(list(special))
    harness = None if prefix is None else tokenizer.convert_ids_to_tokens(prefix)
    way = f"add {prefix_key}={special[0]} to --model_args, or " if len(special) == 1 else ""
    return (
        f"the tokenizer starts a sequence with {own} (id {list(special)}), but the harness would put {harness!r} "
        f"(id {prefix}) before a sentence, and the perplexities would not be the paper's. To go on, {way}accept the "
        f'harness\'s token with --metadata \'{{"{KEY}": "scored"}}\'.'
    )
