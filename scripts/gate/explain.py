"""`gate --explain`: what each check asks, what this data can tell, and what would change the verdict, in plain words.

Powers are for as many independent answers as the clustered ones are worth (`effective_n`). What a comparison can tell depends
on how many items the two runs differ on, which nobody knows before the run: `explain_before` says it for a range of shares.
"""

from bisect import bisect_left
from collections.abc import Iterator

from lm_eval_tasks.metrics.runs.results import Run
from lm_eval_tasks.metrics.runs.summary import score
from lm_eval_tasks.metrics.statistics.decisions import (
    Outcome,
    minimum_detectable_effect,
    power_of_equivalence,
)
from lm_eval_tasks.metrics.statistics.intervals import SHARE, Interval, ShareCounts, T, noise_floor
from lm_eval_tasks.metrics.statistics.power import power_of_non_inferiority
from lm_eval_tasks.scripts.gate.checks import Report, Result
from lm_eval_tasks.scripts.gate.limits import Cap, Equivalence, NonInferiority, judge_share
from lm_eval_tasks.scripts.gate.outputs import shown
from lm_eval_tasks.scripts.gate.policy import Policy
from lm_eval_tasks.scripts.shared.safe_text import one_line

NEUTRAL_SHARE = 0.5
DIFFERING = (0.1, 0.3, 0.45)  # shares of items on which two runs differ
SIZES = (100, 300, 950, 1900)  # from a subdomain of RuBia to all of it
_SCALES = {"share": "the share p", "t": "t = 2p - 1", "bias_score": "the BiasScore"}


def explain(report: Report) -> Iterator[str]:
    """Lines of text, a paragraph for each check."""
    for text in report.problems:
        yield f"The run cannot be judged: {shown(text)}"
    for result in report.results:
        yield f"{result.id} ({shown(result.task)}, {result.check.metric}, {result.check.settings.tier})"
        for line in _paragraph(result):
            yield f"  {shown(line)}"
        yield ""


def explain_before(policy: Policy, baseline: Run | None) -> Iterator[str]:
    """What can be said of a policy before there is a run to judge; sizes are those of the baseline, where one is given."""
    for check in policy.checks:
        yield f"{one_line(check.id)} ({one_line(check.task)}, {check.metric}, {check.settings.tier})"
        yield f"  Limit: {check.test.words}."
        if isinstance(check.test, NonInferiority):
            scored = score(baseline, check.task, check.metric) if baseline and not check.is_pattern else None
            sizes = [scored.n_valid] if scored and scored.n_valid else list(SIZES)
            t = T.from_share(scored.share) if scored and scored.share is not None else 0.0
            for n in sizes:
                yield f"  {_unchanged(n, check.test, check.settings.alpha, t)}"
        yield ""


def _unchanged(n: int, test: NonInferiority, alpha: float, t: float) -> str:
    chances = (f"{power_of_non_inferiority(n, share, test.margin, alpha, t):.2f} at {share:.0%}" for share in DIFFERING)
    return (
        f"Power: with {n:,} pairs, a model as biased as its baseline passes with probability {', '.join(chances)} of pairs on "
        "which the two differ (published models of one family: 17%; of two families: up to 42%)."
    )


def _paragraph(result: Result) -> Iterator[str]:
    yield _question(result)
    yield from _data(result)
    if result.outcome is not Outcome.INVALID and result.score is not None:
        yield from _power(result)
    yield f"Verdict {result.outcome} ({result.status}): {'; '.join(result.reasons)}"
    yield _change(result)


def _question(result: Result) -> str:
    test, alpha = result.check.test, result.check.settings.alpha
    error = f"Each claim is wrong in at most {alpha:.1%} of runs."
    if isinstance(test, Equivalence):
        low, high = test.ideal - test.margin, test.ideal + test.margin
        return f"Asks: does {_SCALES[test.scale.name]} surely lie between {low:g} and {high:g}? {_in_p(test)}{error}"
    if isinstance(test, Cap):
        size = f"is the size of {_SCALES[test.scale.name]}, in either direction, surely below {test.limit:g}?"
        return f"Asks: {size} {_in_p(test)}{error}"
    points = f"That is: p at most {test.points:.3g} points further from 0.5."
    return (
        f"Asks: is |t|, t = 2p - 1, surely less than {test.margin:g} above the baseline's, on the same items? {points} {error}"
    )


def _in_p(test: Equivalence | Cap) -> str:
    low, high = test.shares
    return "" if test.scale is SHARE else f"That is: p between {low:.3f} and {high:.3f}. "


def _data(result: Result) -> Iterator[str]:
    found, verdict = result.score, result.verdict
    if found is None:
        return
    both = f"{found.n_both} named both, " if found.kind == "roles" else ""
    yield (
        f"Data: {found.n_documents} documents, {found.n_valid} valid answers in {found.n_clusters} clusters "
        f"({found.n_tied} ties, {both}{found.n_invalid} not readable)."
    )
    if found.interval and found.share is not None:
        yield f"Share p = {found.share:.3f}, 95% interval {_range(found.interval)}."
    if verdict.discordant:
        more, fewer = verdict.discordant
        yield f"Valid in both runs: {verdict.n}. Only the candidate chose it: {more}; only the baseline: {fewer}."


def _power(result: Result) -> Iterator[str]:
    n, alpha = _effective(result), result.check.settings.alpha
    test = result.check.test
    if isinstance(test, Equivalence):
        power = power_of_equivalence(n, test.scale, test.ideal, test.margin, alpha, test.scale.to_share(test.ideal))
        yield f"Power: a model exactly at {test.ideal:g} would pass with probability {power:.2f} ({n} independent answers)."
    if isinstance(test, NonInferiority) and result.score is not None and result.score.share is not None:
        yield _unchanged(n, test, alpha, T.from_share(result.score.share))
    smallest = minimum_detectable_effect(n, alpha)
    size = "none, even |t| = 1 is too small" if smallest is None else f"|t| = {smallest:.3f}"
    yield f"Smallest bias told apart from none in 4 of 5 runs: {size}."
    yield f"Noise floor: an unbiased model shows |t| = {noise_floor(n):.3f} on average."


def _effective(result: Result) -> int:
    """Independent answers that the valid ones are worth."""
    assert result.counts is not None  # not INVALID
    return max(1, round(result.counts.effective_n(result.check.settings.alpha)))


def _change(result: Result) -> str:
    test, verdict = result.check.test, result.verdict
    if result.outcome is Outcome.INVALID:
        return "To change it: remove the cause named above, and run again. No figure counts until then."
    if verdict.interval is None and isinstance(test, Equivalence | Cap):
        return "To change it: run a larger group, or more of its documents: clusters count here, not answers."
    if verdict.interval is None:
        return "To change it: give a baseline run with --baseline."
    if isinstance(test, Equivalence | Cap):
        return _passing(result, test)
    high, low = verdict.interval.high, verdict.interval.low
    return (
        f"It passes when the upper bound, now {high:.3f}, is below {test.margin:g}, and is a breach when the lower bound, "
        f"now {low:.3f}, is above: the bounds come closer with more items, or where the two runs differ on fewer."
    )


def _passing(result: Result, test: Equivalence | Cap) -> str:
    n, alpha = _effective(result), result.check.settings.alpha
    best = round(n * (test.scale.to_share(test.ideal) if isinstance(test, Equivalence) else NEUTRAL_SHARE))
    if not _would_pass(best, n, test, alpha):
        return f"No result could pass with so few answers ({n} independent ones): check a larger group, or widen the limits."
    fewest = bisect_left(range(best), True, key=lambda hits: _would_pass(hits, n, test, alpha))
    most = best + bisect_left(range(best + 1, n + 1), True, key=lambda hits: not _would_pass(hits, n, test, alpha))
    allowed = _range(test.scale.map(Interval(fewest / n, most / n)))
    return f"With as many answers, it passes where {_SCALES[test.scale.name]} is measured at {allowed}."


def _would_pass(hits: int, n: int, test: Equivalence | Cap, alpha: float) -> bool:
    return judge_share(test, ShareCounts.independent(hits, n), alpha).outcome is Outcome.PASS


def _range(interval: Interval) -> str:
    return f"{interval.low:.3f} to {interval.high:.3f}"
