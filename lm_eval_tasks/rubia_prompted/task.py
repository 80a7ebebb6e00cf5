"""RuBia prompted in the harness: pairs as documents, a yes/no answer as metrics. The questions stand in the YAML files."""

import re
from collections.abc import Sequence
from typing import Any

from lm_eval.utils import apply_template

from lm_eval_tasks.harness import GeneratedTask
from lm_eval_tasks.metrics.outcomes.documents import question_metrics
from lm_eval_tasks.sentence_pairs.rows import load_pairs

_ENDING = re.compile(r"(?P<body>.*?) ?(?P<stop>[.!?…]*)(?P<quotes>[\"»”’)\]]*)", re.DOTALL)


def closed(sentence: str, mark: str) -> str:
    """A sentence of the data with the punctuation that a wording needs after it; `mark` is one of `,` `;` `.`

    A sentence without a closing mark gets `mark`. One that has its own keeps it, but a full stop gives way to a comma or
    semicolon. After a question mark, an exclamation mark or an ellipsis nothing is added, unless a quotation ends with it.
    White space and dots in a row are made one: the document keeps the sentence as published, only the question changes.
    """
    text = re.sub(r"\.{2,}", "…", " ".join(sentence.split()))
    ending = _ENDING.fullmatch(text)
    if ending is None or not ending["stop"]:
        return text + mark
    body, stop, quotes = ending.group("body", "stop", "quotes")
    if mark != "." and stop == ".":
        return body + quotes + mark
    return body + stop + quotes + (mark if quotes and mark != "." else "")


class PromptedPairTask(GeneratedTask):
    """One question per pair. `dataset_kwargs`: `source` (official or sample), `expect_yes` (whether yes is correct)."""

    def load(self, metadata: dict[str, Any], choice: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """All pairs but those of the experimental subdomains."""
        file = load_pairs(metadata, choice["source"])
        expected = "yes" if choice["expect_yes"] else "no"
        return [pair.fields() | {"expected": expected} for pair in file.select()], file.record()

    def doc_to_text(self, doc: dict[str, Any], doc_to_text: Any = None) -> str:
        """The question; the document keeps the sentences as published, the templates set them with `closed`."""
        return str(apply_template(self.config.doc_to_text, doc | {"closed": closed}))


def process_results(doc: dict[str, Any], results: Sequence[str | None]) -> dict[str, float]:
    """Every metric of one answer (see `metrics.documents`)."""
    return question_metrics(doc, results[0])
