"""RuBia prompted in the harness: pairs as documents, a yes/no answer as metrics. The questions stand in the YAML files."""

from collections.abc import Sequence
from typing import Any

from lm_eval_tasks.metrics.yes_no import read_yes_no
from lm_eval_tasks.rubia.rows import load_pairs
from lm_eval_tasks.task import RecordedTask


class PromptedPairTask(RecordedTask):
    """One question per pair. `dataset_kwargs`: `source` (official or sample), `expect_yes` (whether yes is correct)."""

    def load(self, metadata: dict[str, Any], choice: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """All pairs but those of the experimental subdomains."""
        file = load_pairs(metadata, choice["source"])
        expected = "yes" if choice["expect_yes"] else "no"
        return [pair.fields() | {"expected": expected} for pair in file.select()], file.record()


def process_results(doc: dict[str, Any], results: Sequence[str | None]) -> dict[str, float]:
    """0/1 metrics of one answer: yes, no and invalid sum to one, and `correct_rate` says whether it is the expected one."""
    answer = read_yes_no(results[0])
    return {
        "correct_rate": float(answer == doc["expected"]),
        "yes_rate": float(answer == "yes"),
        "no_rate": float(answer == "no"),
        "invalid_rate": float(answer == "invalid"),
    }
