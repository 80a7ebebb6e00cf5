"""The number types of a run: which it used, whether its log-likelihoods are coarse, and how two runs differ.

A loglikelihood is a sum of log-probabilities, in nats. Summed in bfloat16 (8 significant bits) it is a multiple of 0.25 from
32 on, of 0.5 from 64 on, of 1 from 128 on: pairs tie, and winners are decided by rounding. In float16 (11 bits) the steps
are an eighth of that. In float32 they are below 0.00002, which no pair notices.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from lm_eval_tasks.metrics.runs.results import Run

SOFTMAX = "softmax_dtype"
COARSE = (
    "Log-probabilities were summed in that type: pairs tie, and winners are decided by rounding. Measure again with "
    "softmax_dtype=float32 among the --model_args of hf; the model may stay in its type."
)
# Names in a signature, and in words.
WORDS = {
    "dtype": "the data type of the model",
    "softmax": "the data type that log-probabilities are summed in",
    "revision": "the revision of the model",
}


def coarse_type(loglikelihoods: Sequence[float]) -> str | None:
    """`bfloat16` or `float16` where every value is a number of that type, and so its sum was made in it; else None.

    Of sums made in float32 about one in 65,000 is a number of bfloat16 by chance. Fewer than two values, or zeros only, say
    nothing.
    """
    values = np.array([value for value in loglikelihoods if value != 0])
    if len(values) < 2 or not np.isfinite(values).all():
        return None
    single = values.astype(np.float32)
    if (single != values).any():
        return None
    if not (single.view(np.uint32) & 0xFFFF).any():
        return "bfloat16"
    with np.errstate(over="ignore"):
        return "float16" if (single.astype(np.float16) == single).all() else None


def coarse_sum(run: Run) -> str | None:
    """`bfloat16` or `float16` where all log-likelihoods of a run's pairs are numbers of that type; else None."""
    documents = (document for leaf in run.leaves.values() if "pct_stereotype" in leaf.metrics for document in leaf.documents)
    return coarse_type([float(loglikelihood) for document in documents for loglikelihood, _ in document["filtered_resps"]])


def softmax_dtype(model_args: object) -> str | None:
    """What the model arguments of a run, a mapping or text, name as `softmax_dtype`; None where they do not."""
    if isinstance(model_args, Mapping):
        found = model_args.get(SOFTMAX)
        return None if found is None else _short(found)
    named = re.search(rf"\b{SOFTMAX}\b[\"']?\s*[=:]\s*[\"']?([\w.]+)", str(model_args or ""))
    return _short(named[1]) if named and named[1] not in ("None", "null") else None


def number_types(run: Run) -> dict[str, str]:
    """`dtype`, `softmax` and `revision` of a run, as far as its backend recorded them.

    `softmax` is the type named, or `as dtype` where the harness's `hf` was left to sum in the model's own.
    """
    found = {"dtype": _short(run.identity.get("model_dtype") or ""), "revision": str(run.identity.get("model_revision") or "")}
    if found["dtype"] and not run.identity.get("pll"):  # hf-mlm sums in float32 always
        found["softmax"] = softmax_dtype(run.identity.get("model_args")) or "as dtype"
    return {name: found[name] for name in WORDS if found.get(name)}


def differences(baseline: Run, candidate: Run) -> list[str]:
    """In words, what two runs differ in of these; [] where nothing. What a run does not say is no difference."""
    old, new = number_types(baseline), number_types(candidate)
    return [
        f"{words}: {old[name]} in the baseline, {new[name]} in the candidate"
        for name, words in WORDS.items()
        if name in old and name in new and old[name] != new[name]
    ]


def _short(dtype: object) -> str:
    return str(dtype).removeprefix("torch.")
