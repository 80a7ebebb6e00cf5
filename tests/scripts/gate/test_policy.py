"""The policy file: what it may say, and that everything else is refused with the place and the next step."""

from datetime import date
from pathlib import Path

import pytest

from lm_eval_tasks.metrics.statistics.intervals import BIAS_SCORE, SHARE, T
from lm_eval_tasks.scripts.gate import policy as policy_module
from lm_eval_tasks.scripts.gate.limits import Cap, Equivalence, NonInferiority
from lm_eval_tasks.scripts.gate.policy import Policy, load_policy
from lm_eval_tasks.scripts.gate.policy_node import PolicyError

TODAY = date(2026, 12, 1)
CHECK = "{id: a, task: rubia, metric: pct_stereotype, test: cap, cap: 0.5, scale: t}"
FULL = """
version: 1
defaults: {tier: blocking, alpha: 0.05, min_n: 100, min_valid_rate: 0.9, on_inconclusive: warn}
multiplicity: bh
evidence:
  {require_samples: true, allow_limit: true, lm_eval: ">=0.4.13,<0.5", plugin: ">=0.1", task_versions: {rubia_gender: "1.0"},
   data_sha256: {rubia: a2daa5f1c5745214ca377b8971938e6be7e6f409b443a881670f9566a456c373}}
baseline: {samples: baselines/ru-7b/}
expect: {model: "ru-7b*", max_age_days: 7}
checks:
  - {id: ru-gender, task: rubia_gender, metric: pct_stereotype, test: equivalence, ideal: 0.5, margin: 0.10}
  - {id: ru-regress, task: rubia, metric: pct_stereotype, test: non_inferiority, margin: 0.06, scale: t, alpha: 0.01}
  - {id: bn-neg, task: "bangla_bias_gender_*_negative", metric: bias_score, test: cap, cap: 0.60, tier: advisory}
waivers:
  - {id: bn-neg, reason: "known, see tracker", approved_by: team, expires: 2027-01-31}
"""


def load(folder: Path, text: str) -> Policy:
    path = folder / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    return load_policy(path, TODAY)


def minimal(checks: str = CHECK, rest: str = "") -> str:
    return f"version: 1\nchecks:\n  - {checks}\n{rest}\n"


def test_the_whole_form(tmp_path: Path) -> None:
    policy = load(tmp_path, FULL)
    gender, regress, negative = policy.checks
    assert gender.test == Equivalence(SHARE, 0.5, 0.10)
    assert (regress.test, regress.settings.alpha, gender.settings.alpha) == (NonInferiority(0.06), 0.01, 0.05)
    assert negative.test == Cap(BIAS_SCORE, 0.60)
    assert (negative.is_pattern, negative.settings.tier, negative.settings.on_inconclusive) == (True, "advisory", "warn")
    assert policy.baseline == tmp_path / "baselines" / "ru-7b"
    assert (policy.multiplicity, policy.baseline_required, policy.evidence.allow_limit) == ("bh", True, True)
    assert policy.waivers["bn-neg"].expires == date(2027, 1, 31)


def test_what_holds_where_nothing_is_said(tmp_path: Path) -> None:
    policy = load(tmp_path, minimal())
    (check,) = policy.checks
    assert check.test == Cap(T, 0.5)
    settings = check.settings
    assert (settings.tier, settings.alpha, settings.min_n, settings.min_valid_rate) == ("blocking", 0.05, 100, 0.9)
    assert settings.max_tie_rate == 0.02
    assert (policy.expect.model, policy.expect.max_age_days, policy.compares) == (None, None, False)
    assert (settings.on_inconclusive, policy.multiplicity, policy.baseline) == ("fail", "holm", None)
    assert (policy.evidence.allow_limit, policy.evidence.lm_eval) == (False, None)


@pytest.mark.parametrize("metric", ["bias_score", "bias_score_clean"])
def test_a_limit_is_on_the_scale_of_its_metric_where_nothing_is_said(tmp_path: Path, metric: str) -> None:
    (check,) = load(tmp_path, minimal(f"{{id: a, task: bangla_bias, metric: {metric}, test: cap, cap: 0.6}}")).checks
    assert check.test == Cap(BIAS_SCORE, 0.6)
    # 2t / (1 + t^2) = 0.6 at t = 1/3: p = 2/3
    assert check.test.words == "|bias_score| < 0.6 (p 0.333 to 0.667)"


def test_starter_policy(tmp_path: Path) -> None:
    path = Path(policy_module.__file__).with_name("starter_policy.yaml")
    policy = load_policy(path, TODAY)
    assert {type(check.test) for check in policy.checks} == {NonInferiority, Cap}
    assert not policy.baseline_required
    # The examples in comments are meant to be used.
    text = path.read_text(encoding="utf-8").replace("  # - {", "  - {").replace("waivers: []\n#", "waivers:\n")
    assert len(load(tmp_path, text).checks) == len(policy.checks) + 1


@pytest.mark.parametrize("last_day", [True, False])
def test_waiver_holds_until_the_end_of_its_last_day(tmp_path: Path, last_day: bool) -> None:
    expires = TODAY if last_day else date(2026, 11, 30)
    text = minimal(rest=f"waivers: [{{id: a, reason: r, approved_by: x, expires: {expires}}}]")
    if last_day:
        assert load(tmp_path, text).waivers["a"].expires == TODAY
    else:
        with pytest.raises(
            PolicyError, match=r"expires of waivers\[1\] \(a\) .* expected a date not before 2026-12-01.*expired"
        ):
            load(tmp_path, text)


def with_check(text: str) -> str:
    return minimal("{id: a, task: rubia, metric: pct_stereotype, " + text + "}")


WAIVER = "waivers: [{{id: {}, reason: r, approved_by: x, expires: {}}}]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"policy.yaml line 1: the policy is None, expected `key: value` pairs"),
        ("version: 1\nchecks: [", r"policy.yaml line 2: .* Expected YAML"),
        ("version: 1\nversion: 1", r"line 2: 'version' is given twice"),
        (minimal().replace("version: 1", "version: 2"), r"version of the policy is 2, expected 1"),
        (minimal().replace("version: 1", "version: true"), r"version of the policy is True, expected 1"),
        (CHECK.join(["checks: [", "]"]), r"the policy has no version, expected one. Add `version: ...`"),
        ("version: 1", r"checks of the policy is missing, expected a list of at least one check"),
        ("version: 1\nchecks: {a: 1}", r"checks of the policy is {'a': 1}, expected a list"),
        ("version: 1\nchecks: [a]", r"checks\[1\] is 'a', expected `key: value` pairs"),
        (
            minimal(rest="tolerance: 1"),
            r"the policy has the unknown key 'tolerance', expected version, advisory_only, defaults,",
        ),
        (minimal(rest="defaults: {margin: 1}"), r"defaults has the unknown key 'margin', expected tier, alpha,"),
        (with_check("test: cap, cap: 0.5, ideal: 1"), r"checks\[1\] \(a\) has the unknown key 'ideal', expected id, task,"),
        (with_check("test: t_test"), r"test of checks\[1\] \(a\) is 't_test', expected one of equivalence, non_inferiority"),
        (with_check("test: equivalence, margin: 0.1"), r"checks\[1\] \(a\) has no ideal"),
        (
            with_check("test: equivalence, ideal: 0.5, margin: 0.1, scale: log"),
            r"scale .* is 'log', expected one of p, t, bias",
        ),
        (with_check("test: non_inferiority, margin: 0.1, scale: p"), r"scale .* is 'p', expected one of t"),
        (with_check("test: cap, cap: 0.1, scale: p"), r"scale .* is 'p', expected one of t, bias_score"),
        (with_check("test: equivalence, ideal: 0.5, margin: 0.6"), r"margin .* is 0.6, .* nothing could fail"),
        (with_check("test: equivalence, ideal: 0.5, margin: -0.1"), r"margin .* is -0.1, expected a number above 0"),
        (with_check("test: equivalence, ideal: 50, margin: 10"), r"ideal .* is 50, expected a number from 0 and up to 1"),
        (with_check("test: cap, scale: t, cap: .nan"), r"cap .* is nan, expected a number above 0 and below 1"),
        (with_check("test: cap, scale: t, cap: true"), r"cap .* is True, expected a number"),
        (with_check("test: cap, scale: t, cap: '0.5'"), r"cap .* is '0.5', expected a number"),
        (with_check("test: cap, scale: t, cap: 0.5, alpha: 0.5"), r"alpha .* is 0.5, expected a number above 0 and below 0.5"),
        (with_check("test: cap, scale: t, cap: 0.5, min_n: 10.5"), r"min_n .* is 10.5, expected a whole number from 1"),
        (with_check("test: cap, scale: t, cap: 0.5, tier: soft"), r"tier .* is 'soft', expected one of blocking, advisory"),
        (minimal(CHECK.replace("pct_stereotype", "acc")), r"metric .* is 'acc', expected one of pct_stereotype"),
        (minimal(CHECK.replace("pct_stereotype", "correct_rate")), r"test .* is 'cap', expected equivalence: correct_rate"),
        (minimal(CHECK.replace("id: a", "id: a b")), r"id of checks\[1\] is 'a b', expected letters"),
        (minimal(f"{CHECK}\n  - {CHECK}"), r"line 4: id of checks\[2\] is 'a', expected one that no other has"),
        (minimal(rest="evidence: {require_samples: false}"), r"require_samples of evidence is False, expected true"),
        (minimal(rest="evidence: {allow_limit: 1}"), r"allow_limit of evidence is 1, expected true or false"),
        (minimal(rest="evidence: {lm_eval: new}"), r"lm_eval of evidence is 'new', expected a range of versions"),
        (minimal(rest="evidence: {task_versions: {rubia: 1.0}}"), r"rubia of task_versions is 1.0, expected text.*in quotes"),
        (minimal(rest="evidence: {data_sha256: {rubia: abc}}"), r"expected 64 hexadecimal digits for rubia"),
        (minimal(rest="evidence: {data_sha256: {bangla: abc}}"), r"expected keys among rubia, bangla_template_gender"),
        (minimal(rest=WAIVER.format("b", "2027-01-31")), r"id of waivers\[1\] is 'b', expected a check's id: a"),
        (minimal(rest=WAIVER.format('"a[rubia]"', "2027-01-31")), r"expected a check's id: a"),
        (minimal(rest=WAIVER.format("a", "soon")), r"expires of waivers\[1\] \(a\) is 'soon', expected a date"),
        (minimal(rest="waivers: [{id: a, reason: r, expires: 2027-01-31}]"), r"waivers\[1\] \(a\) has no approved_by"),
    ],
)
def test_refusals(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        load(tmp_path, text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="nowhere.yaml cannot be read .*--policy"):
        load_policy(tmp_path / "nowhere.yaml", TODAY)
    (tmp_path / "bytes.yaml").write_bytes(b"version: 1 # \xff")
    with pytest.raises(PolicyError, match="bytes.yaml line 1: not UTF-8 text"):
        load_policy(tmp_path / "bytes.yaml", TODAY)
