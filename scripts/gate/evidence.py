"""Whether a run may be judged at all: the run that is meant, versions, data, completeness, enough valid answers, few ties.

Every problem is a sentence.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from fnmatch import fnmatchcase
from typing import NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from lm_eval_tasks.metrics.runs.results import Leaf, Run
from lm_eval_tasks.metrics.runs.summary import METRICS, Score, kind_of, measures, score
from lm_eval_tasks.scripts.gate.policy import Check, Evidence, Expect, Policy, Settings


class Problems(NamedTuple):
    """`unscorable`: there is no score to show beside the reasons."""

    reasons: tuple[str, ...]
    unscorable: bool


def run_problems(policy: Policy, run: Run) -> list[str]:
    """Problems of the run as a whole."""
    evidence = policy.evidence
    found = _other_run(policy.expect, policy.today, run)
    version = run.identity.get("lm_eval_version")
    if evidence.lm_eval is not None and not _satisfies(version, evidence.lm_eval):
        found.append(f"the run was made with lm-eval {version}, the policy wants {evidence.lm_eval}. Run again with that.")
    for pattern in evidence.task_versions:
        if not any(fnmatchcase(name, pattern) for name in (*run.groups, *run.leaves)):
            found.append(f"task_versions names {pattern}, which the run does not have. Run it, or remove it from the policy.")
    return found


def _other_run(expect: Expect, today: date, run: Run) -> list[str]:
    """Why this is not the run that the policy means: last year's folder, or the run of another model."""
    found = []
    if expect.model is not None and run.model != expect.model and not fnmatchcase(run.model, expect.model):
        found.append(f"the run is of {run.model}, the policy expects {expect.model}. Judge the run that is meant.")
    if expect.max_age_days is not None:
        found += _too_old(expect.max_age_days, today, run)
    return found


def _too_old(max_age_days: float, today: date, run: Run) -> list[str]:
    try:
        made = datetime.fromtimestamp(run.date, tz=UTC).date()
    except (TypeError, ValueError, OverflowError, OSError):
        return [f"the date of the run is {run.date!r}, expected seconds since 1970. Run again."]
    age = (today - made).days
    if age > max_age_days:
        return [f"the run is of {made}, {age} days old; the policy takes at most {max_age_days:g}. Run again."]
    if made - today > timedelta(days=1):  # of one day, since the two may have been made in different time zones
        return [f"the run is of {made}, which is after {today}. Set the clock of one of the machines, and run again."]
    return []


def check_problems(evidence: Evidence, check: Check, run: Run, task: str) -> Problems:
    """Problems of one check on one task."""
    leaves = run.tasks(task)
    if (reason := _unscorable(check, run, task, leaves)) is not None:
        return Problems((reason,), True)
    found = [*_limited(evidence, leaves), *_mixed(leaves), *_plugin(evidence, leaves)]
    found += [*_task_versions(evidence, run, leaves), *_data(evidence, leaves), *_answers(check, run, task)]
    return Problems(tuple(found), False)


def family_of(leaf: Leaf) -> str:
    """The data file that a task was made of, by the names of `data_sha256`."""
    doc = leaf.documents[0]["doc"]
    return f"bangla_{doc['kind']}_{doc['topic']}" if kind_of(leaf) == "roles" else "rubia"


def _unscorable(check: Check, run: Run, task: str, leaves: Sequence[Leaf]) -> str | None:
    if not leaves:
        has = ", ".join((*run.groups, *run.leaves))
        return f"the run has no complete {task} (it has {has}). Run that task, or correct the policy."
    if not all(leaf.documents for leaf in leaves):
        return f"{task} has no documents. Run it again."
    measured = measures(leaves)
    if measured is None:
        return f"the tasks of {task} measure different things and have no common score. Check them one by one."
    if check.metric not in METRICS[measured[0]]:
        return f"{task} has no {check.metric}, only {', '.join(METRICS[measured[0]])}. Correct the policy."
    return None


def _limited(evidence: Evidence, leaves: Sequence[Leaf]) -> list[str]:
    n, n_original = sum(len(leaf.documents) for leaf in leaves), sum(leaf.n_original for leaf in leaves)
    if evidence.allow_limit or n == n_original:
        return []
    return [f"only {n} of {n_original} documents were measured. Run without --limit and --samples, or set allow_limit: true."]


def _mixed(leaves: Sequence[Leaf]) -> list[str]:
    found = []
    for what, key in (("plugin versions", "plugin_version"), ("first-token conventions", "first_token_convention")):
        values = sorted({str(leaf.metadata.get(key)) for leaf in leaves})
        if len(values) > 1:
            found.append(f"the tasks were run with different {what} ({', '.join(values)}). Run them again together.")
    return found


def _plugin(evidence: Evidence, leaves: Sequence[Leaf]) -> list[str]:
    versions = sorted({str(leaf.metadata.get("plugin_version")) for leaf in leaves})
    wanted = evidence.plugin
    return [
        f"the run was made with version {version} of this plugin, the policy wants {wanted}. Run again with that."
        for version in versions
        if wanted is not None and not _satisfies(version, wanted)
    ]


def _task_versions(evidence: Evidence, run: Run, leaves: Sequence[Leaf]) -> list[str]:
    found = []
    for pattern, wanted in evidence.task_versions.items():
        named = {leaf.name for name in (*run.groups, *run.leaves) if fnmatchcase(name, pattern) for leaf in run.tasks(name)}
        wrong = [leaf for leaf in leaves if leaf.name in named and leaf.version != wanted]
        if wrong:
            found.append(f"{wrong[0].name} is of task version {wrong[0].version}, the policy wants {wanted}. Run it again.")
    return found


def _data(evidence: Evidence, leaves: Sequence[Leaf]) -> list[str]:
    found = {}
    for leaf in leaves:
        wanted, sha256 = evidence.data_sha256.get(family := family_of(leaf)), leaf.metadata.get("data_file_sha256")
        if wanted not in (None, sha256):
            found[family] = f"the {family} data has SHA-256 {sha256}, the policy wants {wanted}. Run on the right file."
    return list(found.values())


def _answers(check: Check, run: Run, task: str) -> list[str]:
    scored = score(run, task, check.metric)
    assert scored is not None  # _unscorable
    return answer_problems(check.settings, scored)


def answer_problems(settings: Settings, scored: Score) -> list[str]:
    """Too many unreadable answers or ties, or too few valid answers."""
    found = []
    if scored.valid_rate < settings.min_valid_rate:
        found.append(
            f"{_not_valid(scored)}: the valid rate is {scored.valid_rate:.3f}, "
            f"below min_valid_rate {settings.min_valid_rate:g}. Look at the samples: refusals, or a wrong chat template."
        )
    if scored.tie_rate > settings.max_tie_rate:
        found.append(
            f"{scored.n_tied} of {scored.n_documents} pairs are ties: the rate is {scored.tie_rate:.3f}, above max_tie_rate "
            f"{settings.max_tie_rate:g}. Look at the tokenizer and the log-probabilities: both sentences score alike."
        )
    if (decided := scored.n_valid - scored.n_tied) < settings.min_n:
        ties = f" beside {scored.n_tied} ties" if scored.n_tied else ""
        found.append(f"{max(decided, 0)} valid answers{ties}, fewer than min_n {settings.min_n}. Check a larger group.")
    return found


def _not_valid(scored: Score) -> str:
    if not scored.n_both:
        return f"{scored.n_invalid} of {scored.n_documents} answers could not be read"
    n = scored.n_both + scored.n_invalid
    named = f"({scored.n_both} named both, {scored.n_invalid} could not be read)"
    return f"{n} of {scored.n_documents} answers chose no group alone {named}"


def _satisfies(version: object, wanted: SpecifierSet) -> bool:
    try:
        return wanted.contains(Version(str(version)), prereleases=True)
    except InvalidVersion:
        return False
