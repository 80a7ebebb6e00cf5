"""API backends of the harness, with what they take on trust looked at: the server's answers, and what is sent to it.

The harness's own classes score whatever a server returns. A server that ignores `echo`, leaves a log-probability out or
answers an error with status 200 gives numbers or empty answers that look like the model's. `checked` makes a subclass that

- scores one known sentence before the run, whole and in parts that must add up (`probe`);
- refuses every answer without the fields that it would be read from, before it is scored or cached, so that the harness
  asks again and ends if that does not help;
- compares what would be sent with what the task asks for and the results record: temperature, number of tokens, stop strings.

Of the harness it uses what is not documented: the methods `model_call`, `amodel_call`, `parse_logprobs`,
`parse_generations`, `create_message` and `_create_payload`, the attributes `_seed`, `tokenized_requests` and `max_length` of
`TemplateAPI`, and that the answers of one request are read by `parse_*` in the class (0.4.13).
"""

import asyncio
import copy
import json
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import aiohttp
import requests as http
from lm_eval.models.api_models import TemplateAPI
from lm_eval.models.openai_completions import LocalChatCompletion, LocalCompletionsAPI
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from lm_eval_tasks.failures import BackendError
from lm_eval_tasks.models.server_answers import check_generations, check_logprobs, said

log = logging.getLogger(__name__)

SENTENCE = "Сегодня утром в парке было тихо, и дети до самого обеда кормили птиц у пруда."
# Parts of a sentence may be computed in other batches and at half precision: relative, and absolute in nats.
RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = 0.005, 0.2

OTHER_WAYS = (
    "Nothing was scored. Serve the model with an engine whose completions endpoint echoes the prompt with one log-probability "
    "per token of it (`vllm serve` does), load it with --model hf or vllm, or ask the pairs as questions: "
    "--tasks rubia_prompted_en,rubia_prompted_ru on a chat API."
)
_HARNESS_FAILURES = (
    http.RequestException,
    aiohttp.ClientError,
    asyncio.TimeoutError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)


def checked(plain: Any, *, scores_text: bool, own_task: Callable[[str], bool]) -> Any:
    """`plain`, or where it is an API backend, a subclass of it that checks what the server does.

    `scores_text` says whether the run needs log-probabilities of given text, `own_task` whether a task name is this package's.
    """
    if not issubclass(plain, TemplateAPI):
        return plain
    completions = plain.parse_logprobs is LocalCompletionsAPI.parse_logprobs
    chat = issubclass(plain, LocalChatCompletion)
    openai_like = plain.parse_generations in (LocalCompletionsAPI.parse_generations, LocalChatCompletion.parse_generations)

    class Checked(plain):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            if scores_text and not chat and self.tokenizer is not None:
                probe(self)

        def model_call(self, messages: Any, *, generate: bool = True, **options: Any) -> Any:
            # Here and not only where it is read: what is raised here is asked again.
            outputs = super().model_call(messages, generate=generate, **options)
            if generate and openai_like:
                check_generations(outputs, chat=chat, n_expected=len(messages))
            elif completions and not generate:
                check_logprobs(outputs, messages)
            return outputs

        async def amodel_call(self, session: Any, sem: Any, messages: Any, **options: Any) -> Any:
            answers = await super().amodel_call(session, sem, messages, **options)
            if answers is not None and len(answers) != len(messages):
                raise BackendError(f"the server gives {len(answers)} answers to {len(messages)} prompts of one request")
            return answers

        @staticmethod
        def parse_logprobs(outputs: Any, tokens: Any = None, ctxlens: Any = None, **options: Any) -> Any:
            if completions and not isinstance(outputs, list):
                check_logprobs(outputs, tokens)
            return plain.parse_logprobs(outputs=outputs, tokens=tokens, ctxlens=ctxlens, **options)

        def parse_generations(self, outputs: Any, **options: Any) -> Any:
            if openai_like and not isinstance(outputs, list):
                check_generations(outputs, chat=chat)
            return super().parse_generations(outputs=outputs, **options)

        def loglikelihood(self, requests: Sequence[Any], **options: Any) -> Any:
            with _reasons(self):
                return super().loglikelihood(requests, **options)

        def generate_until(self, requests: Sequence[Any], **options: Any) -> Any:
            own = [request for request in requests if own_task(str(request.task_name))]
            refuse_other_settings(self, own)
            with _reasons(self):
                return super().generate_until(requests, **options)

    Checked.__name__ = Checked.__qualname__ = plain.__name__
    return Checked


def probe(model: Any) -> None:
    """Score one known sentence, whole and in two parts, cut at three places; raises BackendError where that does not add up."""
    prefix = model.prefix_token_id
    ids = list(model.tok_encode(SENTENCE))
    tokens = ids if prefix is None or ids[:1] == [prefix] else [prefix, *ids]
    where = f"{model.base_url} was asked for the log-probabilities of one known sentence of {len(tokens)} tokens"
    outputs = _ask(model, tokens, where)
    whole = _value(model, outputs, tokens, 1, where)
    for cut in sorted({len(tokens) // 3, len(tokens) // 2, 2 * len(tokens) // 3}):
        first = _value(model, _ask(model, tokens[:cut], where), tokens[:cut], 1, where)
        second = _value(model, outputs, tokens, cut, where)
        if not math.isclose(first + second, whole, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE):
            raise BackendError(
                f"{where}, whole and in parts: its first {cut} tokens have {first:.4g} and the rest {second:.4g}, "
                f"but the whole has {whole:.4g} nats. They stand beside other tokens than their own. {OTHER_WAYS}"
            )
        if cut > 2 and math.isclose(first / (cut - 1), whole / (len(tokens) - 1), rel_tol=1e-9):
            raise BackendError(f"{where}: all log-probabilities are {whole / (len(tokens) - 1):.4g}. {OTHER_WAYS}")


def refuse_other_settings(model: Any, requests: Sequence[Any]) -> None:
    """Raise BackendError where the backend would send another temperature, length, stop string or prompt than is recorded."""
    seen = set()
    for context, asked, *_ in (request.args for request in requests):
        if (key := json.dumps(asked, sort_keys=True, default=str)) in seen:
            continue
        seen.add(key)
        message = model.create_message([context])
        payload = model._create_payload(
            message, generate=True, gen_kwargs=copy.deepcopy(asked), seed=model._seed, eos=model.eos_string
        )
        if differing := _differences(payload.get("sampling_params", payload), asked, model):
            raise BackendError(_other_settings(model, differing))
        if model.tokenized_requests and model.tokenizer is not None:
            _refuse_cut(model, [request.args[0] for request in requests], asked)


def _differences(sent: dict[str, Any], asked: dict[str, Any], model: Any) -> list[str]:
    lengths = ("max_tokens", "max_completion_tokens", "max_new_tokens")
    wanted = {
        "temperature": (asked.get("temperature", 0), sent.get("temperature")),
        "number of tokens": (
            asked.get("max_tokens", asked.get("max_gen_toks", model._max_gen_toks)),
            next((sent[name] for name in lengths if name in sent), None),
        ),
    }
    found = [f"{name} {actual} in place of {expected}" for name, (expected, actual) in wanted.items() if expected != actual]
    stops = [asked["until"]] if isinstance(asked.get("until"), str) else asked.get("until") or []
    going = sent.get("stop", sent.get("stop_sequences")) or []
    return found + [f"no stop string {stop!r}" for stop in stops if stop not in going]


def _other_settings(model: Any, differing: list[str]) -> str:
    temperature = next((item.split()[1] for item in differing if item.startswith("temperature")), None)
    ask = f", or ask for what is sent: --gen_kwargs temperature={temperature}" if temperature else ""
    return (
        f"the harness would send {'; '.join(differing)} to {model.model!r}, and the results would record what was asked for "
        "(its OpenAI chat backends ask every model whose name holds '5', 'o1', 'o3' or 'o4' at temperature 1, without stop "
        "strings; others send four stop strings at most). Nothing was sent. Use the backend that sends what it is told, "
        f"--model local-chat-completions --model_args model={model.model},base_url={model.base_url}{ask}."
    )


def _refuse_cut(model: Any, contexts: list[str], asked: dict[str, Any]) -> None:
    room = model.max_length - asked.get("max_gen_toks", model._max_gen_toks)
    for context, ids in zip(contexts, model.tok_encode(contexts, add_special_tokens=model.add_bos_token), strict=True):
        if len(ids) > room:
            raise BackendError(
                f"a prompt has {len(ids)} tokens and the backend leaves room for {room}, so its beginning, with the "
                f"instruction, would be cut: {context[:60]!r}. Give a larger max_length= among the model arguments."
            )


def _ask(model: Any, tokens: list[int], where: str) -> Any:
    again = Retrying(
        stop=stop_after_attempt(model.max_retries),
        wait=wait_exponential(multiplier=0.5, min=1, max=10),
        retry=retry_if_exception_type(http.RequestException),
        reraise=True,
    )
    try:
        return again(model.model_call, [tokens], generate=False)
    except BackendError as error:
        raise BackendError(f"{where}: {error}. {OTHER_WAYS}") from error
    except _HARNESS_FAILURES as error:
        raise BackendError(
            f"{where}: {_story(error)}. Nothing was scored. Is it the address of a completions endpoint?"
        ) from error


def _value(model: Any, outputs: Any, tokens: list[int], context_length: int, where: str) -> float:
    listed = outputs if isinstance(outputs, list) else [outputs]
    ((value, _),) = model.parse_logprobs(outputs=listed, tokens=[tokens], ctxlens=[context_length])
    if not math.isfinite(value) or value >= 0:
        raise BackendError(f"{where}: it has {value} nats, expected a finite number below 0. {OTHER_WAYS}")
    return float(value)


@contextmanager
def _reasons(model: Any) -> Iterator[None]:
    """What the harness raises of a server that fails, as one message that names the server."""
    again = "No failure was taken for an answer of the model. With --use_cache, a second run asks only for what is missing."
    try:
        yield
    except BackendError as error:
        raise BackendError(f"{model.base_url}: {error}. {again}") from error
    except _HARNESS_FAILURES as error:
        log.debug("the API backend failed", exc_info=True)
        raise BackendError(f"{model.base_url}: {_story(error)}. {again}") from error


def _story(error: BaseException) -> str:
    response = getattr(error, "response", None)
    body = f"; it said: {said(response.text)}" if response is not None else ""
    return f"no usable answer ({type(error).__name__}: {said(str(error))}{body})"
