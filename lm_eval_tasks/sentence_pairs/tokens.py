"""Which tokens of a sentence are scored: one convention per run, chosen from the model's tokenizer.

The paper measured with LM-PPL: the tokenizer's own special tokens, no extra BOS, the loss averaged over all but the first
token of the sequence. In the harness that is

- `scored`, where the tokenizer starts a sequence with a special token: every text token is scored after it (empty context;
  the harness puts its prefix token there, which must be that same special token);
- `context`, where it adds none: the first text token is context and the rest is scored. That needs a first token that is
  whole characters and that the tokenizer gives back when it reads its text alone. Where the sentences of many pairs fail
  this (byte-level pieces), the whole run is `scored` after the harness's prefix token: one convention per run, never per
  sentence;
- `masked`, for masked language models: every text token is scored in turn, special tokens kept.

A sentence of one token has nothing to score under `context`. LM-PPL's perplexity of it is NaN, which is not lower than
anything: its pair is undecided, and no other pair is touched, however many there are. The same is done with a sentence that
cannot be split, as long as there are few (`UNSPLIT_LIMIT`). An EOS that a tokenizer puts after the text is never scored.

Requests are decided over the whole file, so that a subdomain run alone equals its part of a full run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from lm_eval_tasks.data import DataError
from lm_eval_tasks.sentence_pairs.rows import Pair

Convention = Literal["context", "scored", "masked"]
KEY = "first_token"
CHOICES = ("auto", "context", "scored")
# Largest share of pairs with a sentence that cannot be split, for a run under `context`. A pair left out moves a share near
# a half by at most half its weight: 1% of the pairs by 0.005, a quarter of the half-width of the 95% interval of all 1,900
# official pairs (0.022). Vocabularies without Cyrillic letters are far beyond it: they fail in nearly every pair.
UNSPLIT_LIMIT = 0.01


@dataclass(frozen=True)
class Request:
    """One sentence as the harness scores it: `target` after `context`, `n_tokens` scored (0: its answer decides nothing)."""

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

    def undecided(self, pair: Pair) -> bool:
        """Whether a sentence of the pair has nothing to score, so that neither is preferred."""
        return not all(self.by_sentence[text].n_tokens for text in (pair.pro_trope, pair.anti_trope))


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
    plain = dict(zip(sentences, _encode(tokenizer, sentences, add_special_tokens=False), strict=True))
    for sentence, ids in plain.items():
        if not ids:
            raise DataError(f"the tokenizer makes no token of the sentence {sentence!r}; is it the model's own?")
    if masked:
        return _whole(plain, "masked", "masked language model: every text token is scored", None)

    before, after = special_tokens(tokenizer, sentences[0], plain[sentences[0]], add_bos)
    prefix = choose_prefix(tokenizer, prefix_token_id, prefix_key, before, plain)
    note = f"; {_shown(tokenizer, after)} after the text is not scored" if after else ""
    if choice == "scored" or (choice == "auto" and before):
        if before != (prefix,) and choice == "auto":
            raise DataError(_other_prefix(tokenizer, before, prefix, prefix_key))
        reason = "asked for" if choice == "scored" else "the tokenizer starts a sequence with a special token"
        return _whole(plain, "scored", reason + note, prefix)
    contexts = first_token_texts(tokenizer, plain, add_bos)
    unsplit = {sentence for sentence, ids in plain.items() if len(ids) > 1 and sentence not in contexts}
    n_unsplit = sum(pair.pro_trope in unsplit or pair.anti_trope in unsplit for pair in pairs)
    if n_unsplit <= UNSPLIT_LIMIT * len(pairs):
        reason = "asked for" if choice == "context" else "the tokenizer adds no special token"
        return Requests(_split(plain, contexts, prefix), "context", reason, None)
    example = next(sentence for sentence in sentences if sentence in unsplit)
    why = f"the first token of {example!r} cannot stand alone ({n_unsplit} of {len(pairs)} pairs have such a sentence)"
    if after:
        why = f"{_shown(tokenizer, after)} after every text, so that the harness cannot split one"
    if choice == "context":
        way = "add add_bos_token=False to --model_args, or " if after and add_bos is None else ""
        raise DataError(f"'{KEY}' is 'context', but {why}. To go on, {way}use --metadata '{{\"{KEY}\": \"scored\"}}'.")
    return _whole(
        plain, "scored", f"the tokenizer adds no special token{' before a text' * bool(after)}, but {why}{note}", prefix
    )


def special_tokens(
    tokenizer: Any, sentence: str, plain: Sequence[int], add_bos: bool | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Special tokens that the tokenizer puts before and after the text, as the harness would call it; () where none."""
    (ids,) = _encode(tokenizer, [sentence], **_harness_options(add_bos))
    for start in range(len(ids) - len(plain) + 1):
        if list(ids[start : start + len(plain)]) == list(plain):
            return tuple(ids[:start]), tuple(ids[start + len(plain) :])
    return (), ()


def first_token_texts(tokenizer: Any, plain: Mapping[str, Sequence[int]], add_bos: bool | None) -> dict[str, str]:
    """Text of the first token for each sentence that can be split there; a sentence that cannot is absent."""
    # Token by token, not by character offsets: slow tokenizers have none.
    decoded = {ids[0]: tokenizer.decode([ids[0]], clean_up_tokenization_spaces=False) for ids in plain.values()}
    candidates = {}
    for sentence, ids in plain.items():
        text = decoded[ids[0]].strip()
        text = sentence[: len(text)]
        # The harness moves trailing spaces of a context into the continuation, which would undo the split.
        if text and text == text.rstrip() and len(ids) > 1 and "\ufffd" not in decoded[ids[0]]:
            candidates[sentence] = (text, ids[0])
    texts = list(dict.fromkeys(text for text, _ in candidates.values()))
    alone = dict(zip(texts, _encode(tokenizer, texts, **_harness_options(add_bos)), strict=True))
    return {sentence: text for sentence, (text, first) in candidates.items() if list(alone[text]) == [first]}


def choose_prefix(
    tokenizer: Any, named: int | None, key: str, before: tuple[int, ...], plain: Mapping[str, Sequence[int]]
) -> int:
    """The token that the harness puts before a sentence with empty context; DataError where it has none, or a wrong one.

    It is needed under `context`, too: the harness looks at it for every text, and sentences with nothing to score follow it.
    """
    if named is not None:
        if begins := next((sentence for sentence, ids in plain.items() if ids[0] == int(named)), None):
            raise DataError(
                f"{key}={named} is the first token of the sentence {begins!r}, and the harness would leave it out of such "
                "sentences only. Name a token that begins no sentence, such as a special one."
            )
        return int(named)
    own: int | None = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    if own is not None:
        return own
    known = dict.fromkeys((*before, *tokenizer.all_special_ids))
    listed = ", ".join(f"{_shown(tokenizer, [one])} is {one}" for one in known)
    raise DataError(
        "the tokenizer has neither a BOS nor an EOS token, and the harness fails without one. Name a token to stand before a "
        f"sentence, --model_args ...,{key}={before[0] if before else 'ID'} ({listed or 'any token that begins no sentence'}). "
        f"Where the first token of a sentence is its context ('{KEY}': 'context'), the choice does not change the scores."
    )


def _encode(tokenizer: Any, texts: list[str], **options: Any) -> list[list[int]]:
    return tokenizer(texts, **options)["input_ids"] if texts else []


def _harness_options(add_bos: bool | None) -> dict[str, bool]:
    return {} if add_bos is None else {"add_special_tokens": add_bos}


def _whole(plain: Mapping[str, list[int]], convention: Convention, reason: str, prefix: int | None) -> Requests:
    return Requests({s: _after_prefix(s, ids, prefix) for s, ids in plain.items()}, convention, reason, prefix)


def _after_prefix(sentence: str, ids: Sequence[int], prefix: int | None) -> Request:
    # The harness takes a first token that is its prefix token for the prefix itself.
    n_tokens = len(ids) - (ids[0] == prefix)
    if not n_tokens:
        raise DataError(f"the sentence {sentence!r} is the token (id {prefix}) that the harness puts before a sentence.")
    return Request("", sentence, n_tokens, tuple(ids))


def _split(plain: Mapping[str, list[int]], contexts: dict[str, str], prefix: int) -> dict[str, Request]:
    # What has nothing to score still needs a request that the harness can carry out.
    return {
        s: Request(contexts[s], s[len(contexts[s]) :], len(ids) - 1, tuple(ids))
        if s in contexts
        else replace(_after_prefix(s, ids, prefix), n_tokens=0)
        for s, ids in plain.items()
    }


def _shown(tokenizer: Any, ids: Sequence[int]) -> str:
    return ", ".join(map(repr, tokenizer.convert_ids_to_tokens(list(ids))))


def _other_prefix(tokenizer: Any, special: tuple[int, ...], prefix: int, prefix_key: str) -> str:
    own = tokenizer.convert_ids_to_tokens(list(special))
    harness = tokenizer.convert_ids_to_tokens(prefix)
    way = f"add {prefix_key}={special[0]} to --model_args, or " if len(special) == 1 else ""
    return (
        f"the tokenizer starts a sequence with {own} (id {list(special)}), but the harness would put {harness!r} "
        f"(id {prefix}) before a sentence, and the perplexities would not be the paper's. To go on, {way}accept the "
        f'harness\'s token with --metadata \'{{"{KEY}": "scored"}}\'.'
    )
