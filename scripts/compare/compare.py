"""`lm-eval-bias compare`: how a candidate run differs from a baseline run, item by item.

    lm-eval-bias compare BASE CAND [--seed N]

For every task and group that both runs have, the score of each run by its metric (p, the share of stereotypical or correct
answers; under bias_score the BiasScore, with p, the share of female or Hindu, beside it), and of the items
with a valid answer in both:

    change of p    p of the candidate - p of the baseline, with its 95% interval
    change of |t|  |t| of the candidate - |t| of the baseline, t = 2p - 1, with its 95% interval; not for questions
    only one       McNemar's discordant counts: items chosen by the candidate only / by the baseline only
    ties           pairs of equal perplexities in the baseline / in the candidate, no stereotypical choice of either

Exit codes: 0 compared, 2 usage error, 5 a run cannot be used, or nothing in the two can be compared.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lm_eval_tasks.metrics.runs.precision import COARSE, coarse_sum, differences
from lm_eval_tasks.metrics.runs.results import Run
from lm_eval_tasks.metrics.runs.summary import METRICS, Score, measures, score
from lm_eval_tasks.metrics.statistics.bootstrap import bootstrap_mean
from lm_eval_tasks.metrics.statistics.decisions import Discordant, non_inferiority
from lm_eval_tasks.metrics.statistics.intervals import SHARE, Interval
from lm_eval_tasks.scripts.compare.pairing import Pairs, obstacles, pair, shared_tasks, suspicion
from lm_eval_tasks.scripts.gate.outputs import UNDEFINED, shown
from lm_eval_tasks.scripts.shared.evidence import read
from lm_eval_tasks.scripts.shared.folders import FolderError, existing_folder
from lm_eval_tasks.scripts.shared.streams import guarded

DEFAULT_SEED = 1234
TAIL = 0.025  # of a 95% interval, on each side
N_DRAWS = 10_000
ANY_MARGIN = 0.5  # the interval that is taken from the test does not depend on its margin


@dataclass(frozen=True)
class Change:
    """An estimate and its 95% interval."""

    estimate: float
    interval: Interval


@dataclass(frozen=True)
class Comparison:
    """One task of two runs; `obstacles` say why it was not compared, and then no figure is there."""

    task: str
    metric: str
    obstacles: tuple[str, ...] = ()
    suspicion: str | None = None
    scores: tuple[Score | None, Score | None] = (None, None)  # of each run on its own: baseline, candidate
    n_documents: int = 0
    n_paired: int = 0
    share_change: Change | None = None
    bias_change: Change | None = None
    discordant: Discordant | None = None


def compare(baseline: Run, candidate: Run, seed: int) -> Iterator[Comparison]:
    """Comparisons of all groups that have a score, then of all leaves, each by its main metric."""
    for task in shared_tasks(baseline, candidate):
        measured = measures(candidate.tasks(task))
        if measured is not None:
            yield _compare(baseline, candidate, task, METRICS[measured[0]][0], seed)


def _compare(baseline: Run, candidate: Run, task: str, metric: str, seed: int) -> Comparison:
    if found := obstacles(baseline, candidate, task, metric):
        return Comparison(task, metric, tuple(found))
    pairs = pair(baseline, candidate, task, metric)
    old, new = score(baseline, task, metric), score(candidate, task, metric)
    same = suspicion(baseline, candidate, [task])
    n_paired = len(pairs.candidate)
    if not n_paired:
        return Comparison(task, metric, (), same, (old, new), pairs.n_documents)
    bias, discordant = _bias_change(pairs, seed)
    return Comparison(
        task=task,
        metric=metric,
        suspicion=same,
        scores=(old, new),
        n_documents=pairs.n_documents,
        n_paired=n_paired,
        share_change=_share_change(pairs, seed),
        bias_change=None if metric in METRICS["questions"] else bias,
        discordant=discordant,
    )


def _share_change(pairs: Pairs, seed: int) -> Change:
    difference = pairs.candidate.astype(np.int64) - pairs.baseline.astype(np.int64)
    drawn = bootstrap_mean(difference, 1, pairs.clusters, np.random.default_rng(seed), N_DRAWS, pairs.second)
    return Change(drawn.mean, drawn.bounds(TAIL))


def _bias_change(pairs: Pairs, seed: int) -> tuple[Change, Discordant]:
    rng = np.random.default_rng(seed)
    judged = non_inferiority(pairs.candidate, pairs.baseline, pairs.clusters, ANY_MARGIN, TAIL, rng, N_DRAWS, pairs.second)
    # None only where there are no pairs
    assert judged.estimate is not None
    assert judged.interval is not None
    assert judged.discordant is not None
    return Change(judged.estimate, judged.interval), judged.discordant


def table(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """The compared tasks, one a line."""
    rows = [["task", "metric", "pairs", "baseline", "candidate", "change of p", "change of |t|", "only one", "ties"]]
    rows += [_row(comparison) for comparison in comparisons if not comparison.obstacles]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(comparison: Comparison) -> list[str]:
    counts = UNDEFINED if comparison.discordant is None else " / ".join(map(str, comparison.discordant))
    changes = [_change(comparison.share_change), _change(comparison.bias_change)]
    n_pairs = f"{comparison.n_paired} of {comparison.n_documents}"
    values = [_value(found) for found in comparison.scores]
    ties = " / ".join(UNDEFINED if found is None else str(found.n_tied) for found in comparison.scores)
    return [shown(comparison.task), comparison.metric, n_pairs, *values, *changes, counts, ties]


def _value(found: Score | None) -> str:
    """A score on its metric's own scale; p beside it where that is another."""
    if found is None or found.value is None:
        return UNDEFINED
    return f"{found.value:.3f}" if found.scale is SHARE else f"{found.value:+.3f} (p {found.share:.3f})"


def _change(change: Change | None) -> str:
    if change is None:
        return UNDEFINED
    return f"{change.estimate:+.3f} ({change.interval.low:+.3f} to {change.interval.high:+.3f})"


def _notes(baseline: Run, candidate: Run, comparisons: Sequence[Comparison]) -> Iterator[str]:
    compared = [comparison for comparison in comparisons if not comparison.obstacles]
    if compared:
        yield f"{len(compared)} intervals of 95%: about one in twenty leaves out 0 by chance alone."
    for comparison in comparisons:
        for reason in comparison.obstacles:
            yield f"NOT COMPARABLE {comparison.task}: {reason}"
    shared = set(shared_tasks(baseline, candidate))
    for name, run in (("baseline", baseline), ("candidate", candidate)):
        if alone := [task for task in (*run.groups, *run.leaves) if task not in shared]:
            yield f"In the {name} only: {', '.join(alone)}"
    for difference in differences(baseline, candidate):
        yield f"The runs differ in {difference}. A change of a score may come from that alone."
    for name, run in (("baseline", baseline), ("candidate", candidate)):
        if dtype := coarse_sum(run):
            yield f"The {name}: every log-likelihood is a number of {dtype}. {COARSE}"
    if everywhere := suspicion(baseline, candidate, list(shared)):
        yield f"SUSPICIOUS: {everywhere}"
        return
    for comparison in comparisons:
        if comparison.suspicion:
            yield f"SUSPICIOUS {comparison.task}: {comparison.suspicion}"


def main(arguments: Sequence[str]) -> int:
    """Compare two runs; returns the exit code."""
    parser = argparse.ArgumentParser(prog="lm-eval-bias compare", description="Compare two runs item by item.")
    parser.add_argument("baseline", type=Path, metavar="BASE", help="results of the baseline")
    parser.add_argument("candidate", type=Path, metavar="CAND", help="results of the candidate")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="of the bootstrap (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        baseline, candidate = (read(existing_folder(folder)) for folder in (options.baseline, options.candidate))
    except FolderError as error:
        print(f"lm-eval-bias compare: {error}", file=sys.stderr)
        return 2
    except ValueError as error:
        print(f"lm-eval-bias compare: {error}", file=sys.stderr)
        return 5
    comparisons = list(compare(baseline, candidate, options.seed))
    print(f"baseline {shown(baseline.model)}, candidate {shown(candidate.model)}", "", *table(comparisons), "", sep="\n")
    for note in _notes(baseline, candidate, comparisons):
        print(shown(note))
    return 0 if any(not comparison.obstacles for comparison in comparisons) else 5


if __name__ == "__main__":
    sys.exit(guarded(main, sys.argv[1:]))
