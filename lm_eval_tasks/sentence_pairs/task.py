"""RuBia in the harness: the task class that the YAML files name.

It is a class and not a set of functions because of one thing that only a class can do: `--apply_chat_template`,
`--system_instruction` and few-shot flags rewrite the context of every loglikelihood task before any YAML function sees it,
and a minimal pair is a pair of raw sentences.
"""

import logging
from functools import lru_cache
from typing import Any

from lm_eval.api.instance import Instance

from lm_eval_tasks import model_args
from lm_eval_tasks.data import DataError
from lm_eval_tasks.harness import RecordedTask
from lm_eval_tasks.metrics.outcomes.documents import pair_metrics
from lm_eval_tasks.metrics.runs.precision import coarse_type
from lm_eval_tasks.sentence_pairs import tokens
from lm_eval_tasks.sentence_pairs.rows import PAIR_FIELDS, Pair, PairFile, load_pairs

log = logging.getLogger(__name__)


class MinimalPairTask(RecordedTask):
    """Two loglikelihood requests per pair, raw text in every mode; see `tokens` for what is scored.

    `dataset_kwargs` of the YAML: `source` (official or sample), `domain` as in the file, and `subdomain`, absent for all.
    """

    def load(self, metadata: dict[str, Any], choice: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Read, check and select the pairs, and choose the first-token convention."""
        file = load_pairs(metadata, choice["source"])
        requests = _requests(file, metadata)
        _warn_coarse.cache_clear()  # all tasks of a run are loaded before the first is scored
        docs = [_doc(pair, requests) for pair in file.select(choice["domain"], choice.get("subdomain"))]
        return docs, file.record() | _record(requests, file)

    def fewshot_context(self, *_: Any, **__: Any) -> str:
        """No context, chat template, system instruction or examples: the sentences are scored as they stand."""
        return ""

    def construct_requests(self, doc: dict[str, Any], ctx: str, **kwargs: Any) -> list[Instance]:
        """The pro-trope sentence, then the anti-trope one."""
        # What a document is apart from the model: its hash pairs documents of two runs, whatever their tokenizers.
        shown = {field: doc[field] for field in PAIR_FIELDS}
        return [
            Instance("loglikelihood", shown, (doc[f"{side}_context"], doc[f"{side}_target"]), index, kwargs["metadata"])
            for index, side in enumerate(("pro", "anti"))
        ]

    def apply_filters(self) -> Any:
        """As the harness does, once all requests of the task are answered; here it is seen how the backend sums."""
        filtered = super().apply_filters()
        answers = [float(resp[0]) for instance in self.instances for resp in instance.resps]
        if found := coarse_type(answers):
            _warn_coarse(found)
        return filtered


@lru_cache(maxsize=1)
def _warn_coarse(dtype: str) -> None:
    """Once per run and not once per subdomain."""
    log.warning(
        "RuBia: every log-likelihood is a number of %s, so the backend summed log-probabilities in that type: pairs tie, and "
        "winners are decided by rounding. Add softmax_dtype=float32 to --model_args of hf; the model may stay in its type.",
        dtype,
    )


def process_results(doc: dict[str, Any], results: list[tuple[float, bool]]) -> dict[str, float]:
    """The 0/1 metrics of one pair from the loglikelihoods of its two sentences."""
    try:
        return pair_metrics(doc, [float(loglikelihood) for loglikelihood, _ in results])
    except ValueError as error:
        raise ValueError(f"RuBia row {doc['row']}: {error}. The backend failed; no score is made of it.") from error


def _requests(file: PairFile, metadata: dict[str, Any]) -> tokens.Requests:
    model_args.check_api(metadata)
    tokenizer = model_args.load_tokenizer(metadata)
    config = model_args.load_config(metadata)
    requests = _cached_requests(
        file,
        tokenizer,
        metadata.get(tokens.KEY, "auto"),
        model_args.check_architecture(metadata, config),
        metadata.get(model_args.prefix_key(metadata)),
        model_args.prefix_key(metadata),
        metadata.get("add_bos_token"),
    )
    _check_lengths(requests, model_args.max_tokens(metadata, config))
    return requests


@lru_cache(maxsize=2)
def _cached_requests(
    file: PairFile, tokenizer: Any, choice: str, masked: bool, prefix: int | None, prefix_key: str, add_bos: bool | None
) -> tokens.Requests:
    """Once per run and not once per subdomain: the whole file is tokenized to choose the convention."""
    requests = tokens.build_requests(
        file.pairs, tokenizer, choice=choice, masked=masked, prefix_token_id=prefix, prefix_key=prefix_key, add_bos=add_bos
    )
    n_identical = sum(requests.identical(pair) for pair in file.pairs)
    log.info("RuBia: %d pairs from %s (%s)", len(file.pairs), file.source.path, file.source.origin)
    level = logging.WARNING if "adds no special token" in requests.reason and requests.convention == "scored" else logging.INFO
    log.log(level, "RuBia: first token is '%s': %s", requests.convention, requests.reason)
    if file.dropped_rows:
        log.info("RuBia: dropped row %s: its two sentences are identical", ", ".join(map(str, file.dropped_rows)))
    if n_identical:
        log.warning("RuBia: %d pairs are identical to this tokenizer and count as ties", n_identical)
    if unscorable := _unscorable(requests, file):
        shown = ", ".join(map(str, unscorable[:10])) + (", ..." if len(unscorable) > 10 else "")
        log.warning("RuBia: nothing to score in a sentence of %d pairs, which are undecided: row %s", len(unscorable), shown)
    return requests


def _check_lengths(requests: tokens.Requests, limit: int | None) -> None:
    longest = max(requests.by_sentence.items(), key=lambda item: len(item[1].token_ids))
    needed = len(longest[1].token_ids) + 1
    if limit is not None and needed > limit and requests.convention != "masked":
        raise DataError(
            f"the sentence {longest[0]!r} needs {needed} tokens, the model takes {limit}: the harness would cut it without "
            "an error. Give a larger max_length= where the model allows it; otherwise it cannot be measured on this file."
        )


def _doc(pair: Pair, requests: tokens.Requests) -> dict[str, Any]:
    doc = pair.fields()
    for side, sentence in (("pro", pair.pro_trope), ("anti", pair.anti_trope)):
        request = requests.by_sentence[sentence]
        doc |= {
            f"{side}_context": request.context,
            f"{side}_target": request.target,
            f"{side}_n_tokens": request.n_tokens,
        }
    return doc | {"identical_tokens": requests.identical(pair), "undecided": requests.undecided(pair)}


def _unscorable(requests: tokens.Requests, file: PairFile) -> list[int]:
    return [pair.row for pair in file.pairs if requests.undecided(pair)]


def _record(requests: tokens.Requests, file: PairFile) -> dict[str, Any]:
    return {
        "first_token_convention": requests.convention,
        "first_token_reason": requests.reason,
        "first_token_prefix_id": requests.prefix_token_id,
        "identical_token_pairs": sum(requests.identical(pair) for pair in file.pairs),
        "unscorable_pairs": _unscorable(requests, file),
    }
