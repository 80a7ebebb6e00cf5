"""The tasks of this package as classes of the harness: rows of our own, a record of them, and a look at what came back."""

import json
import logging
from typing import Any, ClassVar

import datasets
from lm_eval.api.task import ConfigurableTask

from lm_eval_tasks import __version__
from lm_eval_tasks.data import DataError
from lm_eval_tasks.failures import check_loglikelihoods, writable
from lm_eval_tasks.metrics.outcomes.answer_text import answer_part
from lm_eval_tasks.model_args import load_tokenizer
from lm_eval_tasks.redaction import without_secrets

log = logging.getLogger(__name__)

# More than this share of answers cut off is no accident of single answers, but a limit that is too low for the model.
MOST = 0.5
_LIMIT_KEYS = ("max_gen_toks", "max_tokens", "max_new_tokens", "max_completion_tokens")
# A text may come out one or two tokens shorter than it was written: a piece of a letter at its end is lost.
_LOST = 2
# Keys of the metadata that only text can be the value of; the command line makes numbers and booleans of what looks like one.
_TEXT_KEYS = ("data", "first_token", "answer_reading", "bangla_source")


class RecordedTask(ConfigurableTask):  # type: ignore[misc]
    """A task whose documents come from `load`, and whose metadata in the results file says what was measured.

    A task may have no documents: it then makes no requests and has no scores, and the rest of its group is measured.
    """

    PLACEHOLDER: ClassVar[dict[str, Any]] = {}  # a document that can be rendered, for a task that may have none

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config={key: value for key, value in config.items() if key != "class"})
        if self._is_empty:
            self.dataset["test"] = self.dataset["test"].select([])

    def load(self, metadata: dict[str, Any], choice: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Documents and their record, from the run's metadata and the `dataset_kwargs` of the YAML."""
        raise NotImplementedError

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **_: Any) -> None:
        """Called by the harness when it builds the task."""
        metadata = self.config.metadata
        _refuse_other_than_text(metadata)
        docs, record = self.load(metadata, dict(dataset_kwargs or {}))
        # The harness looks at a first document while it builds a task: one that has none gets it for as long.
        self.dataset = datasets.DatasetDict({"test": datasets.Dataset.from_list(docs or [self.PLACEHOLDER])})
        self._is_empty = not docs
        self.config.metadata = _plain(metadata) | {"plugin_version": __version__} | record

    def build_all_requests(self, **options: Any) -> None:
        """As the harness does, with two changes.

        Every process must get a document, since the harness cannot gather from one without. And its request cache is not
        used: it is keyed by task name, and not by the tokenizer, the data or the instruction that the requests depend on.
        """
        if self._is_empty:
            self._instances = _NoRequests()
            return
        n_docs = len(self.eval_docs)
        n_used = len(options["samples"]) if options.get("samples") else min(options.get("limit") or n_docs, n_docs)
        if (n_processes := options.get("world_size", 1)) > n_used:
            raise ValueError(
                f"{self.config.task}: {n_used} documents cannot be spread over {n_processes} processes; "
                "use fewer processes or a larger --limit."
            )
        super().build_all_requests(**(options | {"cache_requests": False, "rewrite_requests_cache": False}))

    def apply_filters(self) -> Any:
        """As the harness does, after a look at the responses as they came: failures end the run, text is made writable."""
        if self._is_empty:
            return self._instances
        if self.OUTPUT_TYPE == "loglikelihood":
            requests = [instance.args for instance in self.instances for _ in instance.resps]
            responses = [response for instance in self.instances for response in instance.resps]
            check_loglikelihoods(str(self.config.task), requests, responses)
        for instance in self.instances:
            instance.resps = [writable(response) for response in instance.resps]
        return super().apply_filters()


class GeneratedTask(RecordedTask):
    """A task of generate_until, which looks at its answers once before they are scored."""

    def apply_filters(self) -> Any:
        """As the harness does, after a look at the answers as they came."""
        if answers := [instance.resps[0] for instance in self.instances if instance.resps]:
            self._warn_of_cut_off(answers)
        return super().apply_filters()

    def _warn_of_cut_off(self, answers: list[str | None]) -> None:
        limit = next((int(given[key]) for key in _LIMIT_KEYS if (given := self.config.generation_kwargs).get(key)), None)
        tokenizer = self._tokenizer() if limit else None
        n_cut = sum(_is_cut_off(answer, limit, tokenizer) for answer in answers)
        if n_cut > MOST * len(answers):
            log.warning(
                f"{self.config.task}: {n_cut:,} of {len(answers):,} answers ended at the limit of {limit} new tokens or inside "
                "unclosed thinking, and most of these cannot be read. A reasoning model needs room to think: "
                "--gen_kwargs max_gen_toks=4096; or turn its thinking off, with enable_thinking=False among the model "
                "arguments of hf and vllm."
            )

    def _tokenizer(self) -> Any | None:
        """The tokenizer that counts the answers; None where the run names none that is at hand (an API's model)."""
        metadata = self.config.metadata
        if not (metadata.get("tokenizer") or metadata.get("pretrained")):
            return None
        try:
            return load_tokenizer(metadata)
        except DataError:
            return None


def _is_cut_off(answer: str | None, limit: int | None, tokenizer: Any | None) -> bool:
    if not answer:
        return False
    if answer_part(answer) is None:
        return True
    if limit is None or tokenizer is None or len(answer.encode(errors="surrogatepass")) < limit - _LOST:
        return False  # a token holds a byte or more
    return len(tokenizer.encode(answer, add_special_tokens=False)) >= limit - _LOST


def _refuse_other_than_text(metadata: dict[str, Any]) -> None:
    for key in _TEXT_KEYS:
        if (value := metadata.get(key)) is not None and not isinstance(value, str):
            raise DataError(
                f"metadata key '{key}' is {value!r} ({type(value).__name__}), expected text: the command line makes a number "
                f'or a boolean of what looks like one. Write it as JSON, --metadata \'{{"{key}": "{value}"}}\'.'
            )


class _NoRequests(list[Any]):
    """No requests. The harness asks the first request of a task for its filters even where there is none."""

    class _First:
        resps: ClassVar[list[Any]] = []
        doc: ClassVar[dict[str, Any]] = {}
        filtered_resps: ClassVar[dict[str, Any]] = {}

    def __getitem__(self, index: Any) -> Any:
        return self._First()


def _plain(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata that a results file may hold: models and tokenizers passed as objects become their names, secrets go."""

    def plain(value: Any) -> Any:
        try:
            json.dumps(value)
        except TypeError:
            return str(getattr(value, "name_or_path", None) or type(value).__name__)
        return value

    return {key: without_secrets(plain(value), key) for key, value in metadata.items()}
