"""What the gate decides: evidence first, then the test of each check, then the verdict of the gate.

A check whose evidence does not hold is INVALID, whatever its numbers say. How a result counts:

    passed     PASS
    waived     BREACH or INCONCLUSIVE under a waiver
    advisory   anything but PASS, the check is advisory
    warned     INCONCLUSIVE, and on_inconclusive is warn; never where the check is a BREACH before the correction
    counts     the rest: the gate does not pass

Breach claims are corrected for their number, over the blocking checks that do not pass, waived ones included: an advisory
check, a waiver or a check that holds must not move the verdict of another check. What passes is left out because its opposite
was shown: harmless limits could otherwise make any breach undecided by their number. (Conservative nulls may be discarded,
Zhao, Small & Su 2019. The price: with every check exactly at its limit, the chance of a false breach is alpha / (1 - alpha)
and not alpha, 5.3% for 5%; the tests show it.)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal

import numpy as np

from lm_eval_tasks.metrics.runs.precision import differences
from lm_eval_tasks.metrics.runs.results import Run
from lm_eval_tasks.metrics.runs.summary import METRICS, Score, answers, measures, score
from lm_eval_tasks.metrics.statistics.decisions import Method, Outcome, Verdict, adjust, non_inferiority
from lm_eval_tasks.metrics.statistics.intervals import ShareCounts
from lm_eval_tasks.scripts.compare.pairing import Pairs, obstacles, pair, shared_tasks, suspicion
from lm_eval_tasks.scripts.gate.evidence import answer_problems, check_problems, run_problems
from lm_eval_tasks.scripts.gate.limits import NonInferiority, judge_share
from lm_eval_tasks.scripts.gate.policy import Check, Policy, Waiver

Status = Literal["passed", "waived", "advisory", "warned", "counts"]
_SEVERITY = (Outcome.INVALID, Outcome.BREACH, Outcome.INCONCLUSIVE)
_EXIT_CODES = {Outcome.INVALID: 5, Outcome.BREACH: 3, Outcome.INCONCLUSIVE: 4}


@dataclass(frozen=True)
class Baseline:
    """The run to compare with, or why there is none; neither where the policy can do without one."""

    run: Run | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Result:
    """One check on one task; `score` and its `counts` are None where the run has none to give."""

    id: str
    check: Check
    task: str
    verdict: Verdict
    reasons: tuple[str, ...]
    score: Score | None = None
    counts: ShareCounts | None = None
    waiver: Waiver | None = None
    breached: bool = False  # before the correction for several checks

    @property
    def outcome(self) -> Outcome:
        return self.verdict.outcome

    @property
    def status(self) -> Status:
        if self.outcome is Outcome.PASS:
            return "passed"
        if self.waiver and self.outcome is not Outcome.INVALID:
            return "waived"
        if self.check.settings.tier == "advisory":
            return "advisory"
        is_warned = self.outcome is Outcome.INCONCLUSIVE and self.check.settings.on_inconclusive == "warn" and not self.breached
        return "warned" if is_warned else "counts"


@dataclass(frozen=True)
class Report:
    """Everything the outputs show. `problems` concern the run as a whole and make the gate INVALID."""

    policy: Policy
    seed: int
    results: tuple[Result, ...]
    model: str | None = None
    baseline_model: str | None = None
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        if self.problems:
            return Outcome.INVALID
        found = {result.outcome for result in self.results if result.status in ("counts", "warned")}
        return next((outcome for outcome in _SEVERITY if outcome in found), Outcome.PASS)

    @property
    def exit_code(self) -> int:
        if self.problems:
            return _EXIT_CODES[Outcome.INVALID]
        found = {result.outcome for result in self.results if result.status == "counts"}
        return next((_EXIT_CODES[outcome] for outcome in _SEVERITY if outcome in found), 0)


def judge(policy: Policy, run: Run, baseline: Baseline, seed: int) -> Report:
    """All checks of the policy on a run."""
    problems = run_problems(policy, run)
    if problems:
        return unusable(policy, seed, problems, run.model)
    single = [_judge_task(policy, check, run, baseline, task, seed) for check in policy.checks for task in _tasks(check, run)]
    return Report(
        policy=policy,
        seed=seed,
        results=tuple(_corrected(single, policy.multiplicity)),
        model=run.model,
        baseline_model=baseline.run.model if baseline.run else None,
        warnings=tuple(_warnings(policy, run, baseline)),
    )


def unusable(policy: Policy, seed: int, problems: Sequence[str], model: str | None = None) -> Report:
    """The report on a run that cannot be judged at all."""
    results = tuple(_invalid(check, check.task, problems) for check in policy.checks)
    return Report(policy, seed, results, model, problems=tuple(problems))


def _tasks(check: Check, run: Run) -> list[str]:
    """Tasks a check stands for; the pattern itself where it matches none, to be refused as a task the run lacks."""
    if not check.is_pattern:
        return [check.task]
    names = (*run.groups, *run.leaves)
    return [name for name in names if fnmatchcase(name, check.task) and _has(run, name, check.metric)] or [check.task]


def _has(run: Run, task: str, metric: str) -> bool:
    """A pattern passes over what another metric measures and what cannot be pooled, never over what lacks documents."""
    leaves = run.tasks(task)
    if not leaves or not all(leaf.documents for leaf in leaves):
        return True
    measured = measures(leaves)
    return measured is not None and metric in METRICS[measured[0]]


def _judge_task(policy: Policy, check: Check, run: Run, baseline: Baseline, task: str, seed: int) -> Result:
    problems = check_problems(policy.evidence, check, run, task)
    scored = None if problems.unscorable else score(run, task, check.metric)
    counts = answers(run.tasks(task), check.metric).counts if scored else None
    if problems.reasons or scored is None or counts is None:
        result = _invalid(check, task, problems.reasons, scored)
    elif isinstance(check.test, NonInferiority):
        result = _compare(check, check.test, run, baseline, scored, seed)
    else:
        verdict = judge_share(check.test, counts, check.settings.alpha)
        result = Result(check.id, check, task, verdict, (verdict.reason,), scored)
    name = f"{check.id}[{task}]" if check.is_pattern and task != check.task else check.id
    return replace(result, id=name, counts=counts, waiver=policy.waivers.get(name, policy.waivers.get(check.id)))


def _compare(check: Check, test: NonInferiority, run: Run, baseline: Baseline, scored: Score, seed: int) -> Result:
    task = scored.task
    if baseline.problem is not None:
        return _invalid(check, task, [baseline.problem], scored)
    if baseline.run is None:
        return _without_baseline(check, scored)
    if found := obstacles(baseline.run, run, task, check.metric):
        return _invalid(check, task, [f"not comparable with the baseline: {reason}" for reason in found], scored)
    pairs = pair(baseline.run, run, task, check.metric)
    if same := suspicion(baseline.run, run, [task]):
        return _invalid(check, task, [same], scored)
    old = score(baseline.run, task, check.metric)
    if old is not None and (found := answer_problems(check.settings, old)):
        return _invalid(check, task, [f"in the baseline, {reason}" for reason in found], scored)
    if len(pairs.candidate) < check.settings.min_n:
        few = f"{len(pairs.candidate)} documents have a valid answer in both runs, fewer than min_n {check.settings.min_n}"
        return _invalid(check, task, [few], scored)
    verdict = _non_inferiority(pairs, test, check.settings.alpha, seed)
    return Result(check.id, check, task, verdict, (verdict.reason,), scored)


def _non_inferiority(pairs: Pairs, test: NonInferiority, alpha: float, seed: int) -> Verdict:
    # A generator of its own for every check: adding a check must not move the numbers of another.
    rng = np.random.default_rng(seed)
    return non_inferiority(pairs.candidate, pairs.baseline, pairs.clusters, test.margin, alpha, rng, second=pairs.second)


def _without_baseline(check: Check, scored: Score) -> Result:
    reason = "no baseline yet, and the policy does not require one: nothing was compared"
    verdict = Verdict(Outcome.INCONCLUSIVE, reason, check.settings.alpha)
    lenient = replace(check, settings=replace(check.settings, on_inconclusive="warn"))
    return Result(check.id, lenient, scored.task, verdict, (reason,), scored)


def _invalid(check: Check, task: str, reasons: Sequence[str], scored: Score | None = None) -> Result:
    verdict = Verdict(Outcome.INVALID, "; ".join(reasons), check.settings.alpha)
    return Result(check.id, check, task, verdict, tuple(reasons), scored)


def _corrected(results: Sequence[Result], method: Method) -> list[Result]:
    """Results after the correction of breach claims, in the given order."""
    claims = [result.verdict for result in results if _makes_a_claim(result)]
    corrected = iter(adjust(claims, method))
    return [_with(result, next(corrected)) if _makes_a_claim(result) else result for result in results]


def _makes_a_claim(result: Result) -> bool:
    return result.check.settings.tier == "blocking" and result.outcome in (Outcome.BREACH, Outcome.INCONCLUSIVE)


def _with(result: Result, verdict: Verdict) -> Result:
    breached = result.outcome is Outcome.BREACH
    if verdict.reason == result.verdict.reason:
        return replace(result, verdict=verdict, breached=breached)
    kept = ", and not let through: it is a breach before that" if breached else ""
    return replace(result, verdict=verdict, reasons=(verdict.reason + kept, *result.reasons[1:]), breached=breached)


def _warnings(policy: Policy, run: Run, baseline: Baseline) -> list[str]:
    if baseline.run is None:
        return [baseline.problem] if baseline.problem else []
    found = [] if policy.compares else ["The baseline is not used: no check of test non_inferiority compares with it."]
    same = suspicion(baseline.run, run, shared_tasks(baseline.run, run))
    found += [f"The runs differ in {difference}." for difference in differences(baseline.run, run)]
    return [*found, f"On the tasks that both runs have, {same}."] if same else found
