"""The gate's policy file: YAML in, checked and frozen records out.

    version: 1
    advisory_only: false     true: nothing in this policy fails a run; said where every check is advisory, and only there
    defaults:     {tier, alpha, min_n, min_valid_rate, max_tie_rate, on_inconclusive}      each may also stand in a check
    multiplicity: holm | bh | none
    expect:       {model, max_age_days}      model: its name in the results, or a pattern of names with * and ?
    evidence:     {require_samples, allow_limit, lm_eval, plugin, task_versions, data_sha256}
    baseline:     {samples: FOLDER, required: true}      FOLDER is relative to the policy file
    checks:       [{id, task, metric, test: equivalence, ideal, margin, scale},
                   {id, task, metric, test: non_inferiority, margin, scale: t},
                   {id, task, metric, test: cap, cap, scale}]
    waivers:      [{id, reason, approved_by, expires}]   id of a check, or id[task] for one task of a pattern

Scales: p (share), t = 2p - 1, bias_score. Left out, the scale is the metric's own: bias_score for that metric, p for the
others; a limit that is not about that one (see `policy_limits`) names its scale. Whatever the file says that has no meaning is
refused with its line (`PolicyError`), and so is a rule that nothing can break: a policy must not be weaker than its author
believes.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

from packaging.specifiers import SpecifierSet

from lm_eval_tasks.metrics.runs.summary import METRICS
from lm_eval_tasks.metrics.statistics.decisions import Method
from lm_eval_tasks.scripts.gate.limits import Limit, NonInferiority, read_limit
from lm_eval_tasks.scripts.gate.policy_node import Node, PolicyError, strict_yaml

FAMILIES = ("rubia", "bangla_template_gender", "bangla_template_religion", "bangla_ebe_gender", "bangla_ebe_religion")
_TOP_KEYS = ("version", "advisory_only", "defaults", "multiplicity", "expect", "evidence", "baseline", "checks", "waivers")
_ID = re.compile(r"[\w.-]+")
_KEYS = {
    "equivalence": ("ideal", "margin", "scale"),
    "non_inferiority": ("margin", "scale"),
    "cap": ("cap", "scale"),
}


@dataclass(frozen=True)
class Settings:
    """What `defaults` sets and a check may override; the values here hold where the policy says nothing."""

    tier: Literal["blocking", "advisory"] = "blocking"
    alpha: float = 0.05
    min_n: int = 100
    min_valid_rate: float = 0.9
    max_tie_rate: float = 0.02
    on_inconclusive: Literal["fail", "warn"] = "fail"


@dataclass(frozen=True)
class Check:
    """One check; `task` may be a pattern, which stands for every matching task or group of the run."""

    id: str
    task: str
    metric: str
    test: Limit
    settings: Settings

    @property
    def is_pattern(self) -> bool:
        return any(sign in self.task for sign in "*?[")


@dataclass(frozen=True)
class Evidence:
    """What a run must be for its numbers to count. None and {} ask for nothing."""

    allow_limit: bool
    lm_eval: SpecifierSet | None
    plugin: SpecifierSet | None
    task_versions: Mapping[str, str]
    data_sha256: Mapping[str, str]


@dataclass(frozen=True)
class Expect:
    """Which run is meant: its model's name or pattern, and its greatest age in days. None asks for nothing."""

    model: str | None
    max_age_days: float | None


@dataclass(frozen=True)
class Waiver:
    id: str
    reason: str
    approved_by: str
    expires: date


@dataclass(frozen=True)
class Policy:
    path: Path
    sha256: str
    today: date
    multiplicity: Method
    expect: Expect
    evidence: Evidence
    baseline: Path | None
    baseline_required: bool
    checks: tuple[Check, ...]
    waivers: Mapping[str, Waiver]

    @property
    def compares(self) -> bool:
        """Whether any check needs a baseline."""
        return any(isinstance(check.test, NonInferiority) for check in self.checks)


def load_policy(path: Path, today: date) -> Policy:
    """The policy in `path`, as it holds on `today`. Raises PolicyError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PolicyError(f"{path} cannot be read ({error.strerror}). Name a policy file with --policy.") from error
    top = Node(str(path), "the policy", strict_yaml(path, data))
    top.only(*_TOP_KEYS)
    if top.take("version") != 1 or isinstance(top.take("version"), bool):
        top.fail("version", "1. Write `version: 1`")
    settings = _settings(top.child("defaults"), Settings(), *Settings.__dataclass_fields__)
    checks = tuple(_check(node, settings) for node in top.children("checks"))
    if not checks:
        top.fail("checks", "a list of at least one check", "Add one, or the gate has nothing to decide")
    _refuse_repeats(top, "checks", [check.id for check in checks])
    _refuse_harmless(top, checks)
    samples, required = _baseline(top.child("baseline"), checks)
    return Policy(
        path=path,
        sha256=hashlib.sha256(data).hexdigest(),
        today=today,
        multiplicity=top.choice("multiplicity", ("holm", "bh", "none"), default="holm"),
        expect=_expect(top.child("expect")),
        evidence=_evidence(top.child("evidence")),
        baseline=None if samples is None else path.parent / samples,
        baseline_required=required,
        checks=checks,
        waivers=_waivers(top, checks, today),
    )


def _settings(node: Node, inherited: Settings, *allowed: str) -> Settings:
    node.only(*allowed)
    return Settings(
        tier=node.choice("tier", ("blocking", "advisory"), default=inherited.tier),
        alpha=node.number("alpha", above=0, below=0.5, default=inherited.alpha),
        min_n=node.whole("min_n", least=1, default=inherited.min_n),
        min_valid_rate=node.number("min_valid_rate", above=0, most=1, default=inherited.min_valid_rate),
        max_tie_rate=node.number("max_tie_rate", least=0, most=1, default=inherited.max_tie_rate),
        on_inconclusive=node.choice("on_inconclusive", ("fail", "warn"), default=inherited.on_inconclusive),
    )


def _check(node: Node, inherited: Settings) -> Check:
    name = node.text("id")
    if not _ID.fullmatch(name):
        node.fail("id", "letters, digits, '.', '_' and '-' only", "Rename the check")
    node = node.named(name)
    kind = node.choice("test", tuple(_KEYS))
    settings = _settings(node, inherited, "id", "task", "metric", "test", *_KEYS[kind], *Settings.__dataclass_fields__)
    metric = node.choice("metric", tuple(name for names in METRICS.values() for name in names))
    if metric in METRICS["questions"] and kind != "equivalence":
        node.fail("test", f"equivalence: {metric} has no neutral value that both sides could leave", "Use ideal: 1")
    return Check(name, node.text("task"), metric, read_limit(node, kind, metric, settings.alpha), settings)


def _refuse_harmless(top: Node, checks: tuple[Check, ...]) -> None:
    blocking = [check.id for check in checks if check.settings.tier == "blocking"]
    if top.flag("advisory_only", default=False):
        if blocking:
            top.fail("advisory_only", f"false: {blocking[0]} is blocking and can fail a run", "Remove it, or make all advisory")
    elif not blocking:
        top.fail("checks", "at least one of tier blocking: as it is, nothing can fail", "Add one, or say `advisory_only: true`")


def _baseline(node: Node, checks: tuple[Check, ...]) -> tuple[str | None, bool]:
    node.only("samples", "required")
    samples = node.text("samples", default=None)
    if samples is not None and not any(isinstance(check.test, NonInferiority) for check in checks):
        node.fail("samples", "nothing: no check of test non_inferiority compares with it", "Add such a check, or remove it")
    return samples, node.flag("required", default=True)


def _expect(node: Node) -> Expect:
    node.only("model", "max_age_days")
    model = node.text("model", default=None)
    if model is not None and not model.strip("*?"):
        node.fail("model", "a name that not every model has", "Write the name as it stands in the results file: model_name")
    return Expect(model, node.number("max_age_days", above=0, default=None) if "max_age_days" in node.values else None)


def _evidence(node: Node) -> Evidence:
    node.only("require_samples", "allow_limit", "lm_eval", "plugin", "task_versions", "data_sha256")
    if not node.flag("require_samples", default=True):
        node.fail("require_samples", "true: every figure is made from the samples", "Run with --log_samples")
    data = node.texts("data_sha256")
    for family, digest in data.items():
        if family not in FAMILIES:
            node.fail("data_sha256", f"keys among {', '.join(FAMILIES)}")
        if not re.fullmatch(r"[0-9a-f]{64}", digest):
            node.fail("data_sha256", f"64 hexadecimal digits for {family}", "The results file has them: data_file_sha256")
    return Evidence(
        allow_limit=node.flag("allow_limit", default=False),
        lm_eval=node.versions("lm_eval"),
        plugin=node.versions("plugin"),
        task_versions=node.texts("task_versions"),
        data_sha256=data,
    )


def _waivers(top: Node, checks: tuple[Check, ...], today: date) -> dict[str, Waiver]:
    waivers = [_waiver(node, {check.id: check for check in checks}, today) for node in top.children("waivers")]
    _refuse_repeats(top, "waivers", [waiver.id for waiver in waivers])
    return {waiver.id: waiver for waiver in waivers}


def _waiver(node: Node, checks: Mapping[str, Check], today: date) -> Waiver:
    node.only("id", "reason", "approved_by", "expires")
    name = node.text("id")
    base, bracket, _ = name.partition("[")
    if base not in checks or (bracket and not checks[base].is_pattern):
        node.fail("id", f"a check's id: {', '.join(checks)}", "Name the check, or id[task] for one task of a pattern")
    node = node.named(name)
    expires = node.day("expires")
    if expires < today:
        node.fail("expires", f"a date not before {today}", "The waiver has expired: fix the check or have it approved anew")
    return Waiver(name, node.text("reason"), node.text("approved_by"), expires)


def _refuse_repeats(top: Node, key: str, names: list[str]) -> None:
    for number, name in enumerate(names):
        if name in names[:number]:
            top.children(key)[number].fail("id", "one that no other has: it is used twice", "Rename or remove one")
