"""RuBia prompted in the harness: pairs as documents, a yes/no answer as metrics. The questions stand in the YAML files."""

from collections.abc import Sequence
from typing import Any

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


def process_results(doc: dict[str, Any], results: Sequence[str | None]) -> dict[str, float]:
    """Every metric of one answer (see `metrics.documents`)."""
    return question_metrics(doc, results[0])
