"""What a server of the OpenAI kind must return for an answer to be the model's: checked field by field, before it is read."""

import json
import math
from collections.abc import Sequence
from typing import Any

from lm_eval_tasks.failures import BackendError
from lm_eval_tasks.redaction import without_secrets

# Log-probabilities of rounded arithmetic may lie a little above 0, in nats.
_ROUNDING = 1e-3


def said(value: Any, length: int = 300) -> str:
    """What a server said, short enough for a message, on one line and without secrets."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=True, default=str)
    text = " ".join(str(without_secrets(text)).split())
    return text if len(text) <= length else f"{text[:length]}..."


def check_generations(output: Any, *, chat: bool, n_expected: int | None = None) -> None:
    """Raise BackendError where `output` is not one text per prompt; a text of null stands for none (a content filter)."""
    for choice in _choices(output, n_expected):
        if choice.get("error") or choice.get("finish_reason") == "error":
            raise BackendError(f"the server answers a failure with status 200: {said(choice)}")
        holder, key = (choice.get("message"), "content") if chat else (choice, "text")
        if not isinstance(holder, dict):
            raise BackendError(f"the answer has no message: {said(choice)}")
        if key not in holder and choice.get("finish_reason") != "content_filter" and not holder.get("refusal"):
            raise BackendError(f"the answer has no {key}: {said(choice)}")
        text = holder.setdefault(key, None)
        if not isinstance(text, str | None):
            raise BackendError(f"{key} is of type {type(text).__name__}, expected text or null: {said(text)}")


def check_logprobs(output: Any, prompts: Sequence[Sequence[int]]) -> None:
    """Raise BackendError where `output` lacks a log-probability for a token of `prompts` (sent with echo, one token more)."""
    choices = sorted(_choices(output, len(prompts)), key=lambda choice: choice["index"])
    for choice, prompt in zip(choices, prompts, strict=True):
        logprobs = choice.get("logprobs")
        if not isinstance(logprobs, dict):
            raise BackendError(f"`logprobs` is {said(logprobs, 80)}, expected log-probabilities of the echoed prompt")
        values = _entries(logprobs, "token_logprobs", len(prompt) + 1)
        tops = _entries(logprobs, "top_logprobs", len(prompt) + 1)
        for place in range(1, len(prompt)):
            _check_value(values[place], f"token_logprobs[{place}]")
            if not isinstance(tops[place], dict) or not tops[place]:
                raise BackendError(f"top_logprobs[{place}] is {said(tops[place], 80)}, expected a table of tokens")
            for token, value in tops[place].items():
                _check_value(value, f"top_logprobs[{place}][{token!r}]")
        if len(prompt) > 2 and not any(values[1 : len(prompt)]):
            raise BackendError(f"all {len(prompt) - 1} log-probabilities of the prompt are 0")


def _choices(output: Any, n_expected: int | None) -> list[dict[str, Any]]:
    if not isinstance(output, dict):
        raise BackendError(f"the server answers {type(output).__name__} in place of a JSON object: {said(output)}")
    if output.get("error"):
        raise BackendError(f"the server answers an error with status 200: {said(output['error'])}")
    choices = output.get("choices")
    if not isinstance(choices, list) or not choices or not all(isinstance(choice, dict) for choice in choices):
        raise BackendError(f"the answer has no `choices`: {said(output)}")
    indices = [choice.get("index") for choice in choices]
    if sorted(map(str, indices)) != sorted(map(str, range(len(choices)))) or not all(type(i) is int for i in indices):
        raise BackendError(f"the choices are numbered {indices}, expected 0 to {len(choices) - 1}")
    if n_expected is not None and len(choices) != n_expected:
        raise BackendError(f"the server gives {len(choices)} answers to {n_expected} prompts of one request")
    return choices


def _entries(logprobs: dict[str, Any], name: str, n_expected: int) -> list[Any]:
    entries = logprobs.get(name)
    if not isinstance(entries, list):
        raise BackendError(f"logprobs.{name} is {said(entries, 80)}, expected a list")
    if len(entries) != n_expected:
        hint = {1: " (does the server ignore `echo`?)", n_expected - 1: " (one is left out)"}.get(len(entries), "")
        raise BackendError(
            f"logprobs.{name} has {len(entries)} entries for {n_expected - 1} tokens sent and one generated, expected "
            f"{n_expected}{hint}"
        )
    return entries


def _check_value(value: Any, where: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value > _ROUNDING:
        raise BackendError(f"{where} is {said(value, 80)}, expected a finite number of nats, at most 0")
