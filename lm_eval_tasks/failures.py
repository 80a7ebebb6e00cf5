"""What is the backend's failure and not the model's answer, and how answers are made writable.

Checked on the responses of a whole task before any score is made of them, so that the plain `lm_eval` is covered as well.
"""

import math
from collections.abc import Sequence
from typing import Any

NEXT_STEP = (
    "No score is made of it. Check the server or the backend (does it return the log-probabilities of the given text?), "
    "and run again without its --use_cache file."
)
# Fewer requests than this can be equal by chance: one pair that the tokenizer makes the same of.
_ENOUGH_TO_COMPARE = 8


class BackendError(RuntimeError):
    """A server or backend failed, or keeps to another contract; the message says who, what was found and what to do next."""


def check_loglikelihoods(task: str, requests: Sequence[tuple[Any, ...]], responses: Sequence[Any]) -> None:
    """Raise BackendError where a response is no log-likelihood, or where all of them are 0 or equal.

    `requests` are (context, continuation) pairs, `responses` the backend's (log-likelihood in nats, is_greedy). A request
    with an empty continuation has nothing to score and is left out.
    """
    scored = [(request, found) for request, found in zip(requests, responses, strict=True) if request[1]]
    values = []
    for (_, text), found in scored:
        value = found[0] if isinstance(found, tuple | list) and found else None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise BackendError(
                f"{task}: the backend's log-likelihood of {text!r} is {value!r}, expected a finite number. {NEXT_STEP}"
            )
        values.append(float(value))
    if values and not any(values):
        raise BackendError(f"{task}: the backend gives all {len(values)} sentences the log-likelihood 0. {NEXT_STEP}")
    n_distinct = len({request for request, _ in scored})
    if n_distinct >= _ENOUGH_TO_COMPARE and len(set(values)) == 1:
        raise BackendError(
            f"{task}: the backend gives all {len(values)} sentences the same log-likelihood, {values[0]}. {NEXT_STEP}"
        )


def writable(response: Any) -> Any:
    """A response that UTF-8 can hold: half a surrogate pair, which would empty the samples file, becomes U+FFFD."""
    if not isinstance(response, str):
        return response
    try:
        response.encode()
    except UnicodeEncodeError:
        return response.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return response
