"""Summary over prompts: each pair is asked under several wordings, and the paper reports mean ± standard deviation over them.

The rate of one wording is the share of pairs answered correctly, in [0, 1]: 1 is always correct, and a model that always
says yes gets the share of wordings for which yes is correct. The standard deviation is that of a sample (n − 1); it is None
for fewer than two wordings. It says how much the wording matters, and is not an error of the mean.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from lm_eval_tasks.metrics.outcomes.pairs import pooled_rate
from lm_eval_tasks.metrics.runs.results import EvidenceError, Run
from lm_eval_tasks.metrics.runs.summary import kind_of


class Answer(NamedTuple):
    """One answer: which wording asked it, the pair's domain and subdomain, and whether it was correct (0/1)."""

    wording: str
    domain: str
    subdomain: str
    correct: float


class Spread(NamedTuple):
    """Mean and standard deviation of the correct rate over wordings; `n_pairs` is that of one wording."""

    mean: float
    deviation: float | None
    n_wordings: int
    n_pairs: int


def families(run: Run) -> dict[str, dict[tuple[str, str], Spread]]:
    """`over_wordings` of each family of questions in a run (`rubia_prompted_en`, ...), by name. Raises EvidenceError."""
    answers: dict[str, list[Answer]] = defaultdict(list)
    for leaf in run.leaves.values():
        if kind_of(leaf) == "questions":
            family, _, wording = leaf.name.rpartition("_")
            answers[family] += [
                Answer(wording, d["doc"]["domain"], d["doc"]["subdomain"], d["correct_rate"]) for d in leaf.documents
            ]
    try:
        return {family: over_wordings(answers[family]) for family in sorted(answers)}
    except ValueError as error:
        raise EvidenceError(f"{run.folder}: {error}. Run all wordings with the same --limit, or none.") from error


def over_wordings(answers: Iterable[Answer]) -> dict[tuple[str, str], Spread]:
    """Spread by (domain, subdomain); ("all", "all") is over all pairs and (domain, "all") over a domain's.

    Raises ValueError where the wordings were not asked about the same number of pairs.
    """
    by_cell: Mapping[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for answer in answers:
        for cell in (("all", "all"), (answer.domain, "all"), (answer.domain, answer.subdomain)):
            by_cell[cell][answer.wording].append(answer.correct)
    return {cell: _spread(cell, wordings) for cell, wordings in by_cell.items()}


def _spread(cell: tuple[str, str], wordings: Mapping[str, list[float]]) -> Spread:
    sizes = {len(correct) for correct in wordings.values()}
    if len(sizes) != 1:
        counts = ", ".join(f"{name}: {len(correct)}" for name, correct in sorted(wordings.items()))
        raise ValueError(f"{'/'.join(cell)}: the wordings were asked about different numbers of pairs ({counts})")
    rates = [rate for correct in wordings.values() if (rate := pooled_rate(correct)) is not None]
    deviation = statistics.stdev(rates) if len(rates) > 1 else None
    return Spread(statistics.fmean(rates), deviation, len(rates), sizes.pop())
