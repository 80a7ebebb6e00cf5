"""RuBia prompted in the harness: pairs as documents, a yes/no answer as metrics. The questions stand in the YAML files."""

import re
from collections.abc import Sequence
from typing import Any

from lm_eval.utils import apply_template

from lm_eval_tasks.generation import GeneratedTask
from lm_eval_tasks.metrics.documents import question_metrics
from lm_eval_tasks.rubia.rows import load_pairs


class PromptedPairTask(GeneratedTask):
    """One question per pair. `dataset_kwargs`: `source` (official or sample), `expect_yes` (whether yes is correct)."""

    def load(self, metadata: dict[str, Any], choice: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """All pairs but those of the experimental subdomains."""
        file = load_pairs(metadata, choice["source"])
        expected = "yes" if choice["expect_yes"] else "no"
        return [pair.fields() | {"expected": expected} for pair in file.select()], file.record()

    def doc_to_text(self, doc: dict[str, Any], doc_to_text: Any = None) -> str:
        """The question of the YAML about the sentences in the forms that it names (`forms`)."""
        return str(apply_template(self.config.doc_to_text, forms(doc)))


_CLOSED = re.compile(r"[.?!…][»”\"')\]]*$")


def forms(doc: dict[str, Any]) -> dict[str, str]:
    """The sentences of a pair as a question prints them, whatever they end in; the document keeps them as published.

    `<side>_within`: inside a sentence of ours, without a full stop of its own (a question mark, an exclamation mark and an
    ellipsis stay). `<side>_ended`: at the end of one, with a full stop where it has no closing mark.
    """
    found = {}
    for side in ("pro", "anti"):
        sentence = doc[f"{side}_trope"].strip()
        has_full_stop = sentence.endswith(".") and not sentence.endswith("..")
        found[f"{side}_within"] = sentence[:-1] if has_full_stop else sentence
        found[f"{side}_ended"] = sentence if _CLOSED.search(sentence) else f"{sentence}."
    return found


def process_results(doc: dict[str, Any], results: Sequence[str | None]) -> dict[str, float]:
    """Every metric of one answer (see `metrics.documents`)."""
    return question_metrics(doc, results[0])
