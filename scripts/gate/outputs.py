"""What the gate leaves behind: gate.json, JUnit XML, a Markdown summary and annotations for GitHub, a table for the console.

Names of models and reasons come from files that others wrote: what acts without being seen is written out (`safe_text`), and
each format escapes its own signs. Limits are shown with their scale and as p. Bytes depend on the policy and the runs only.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from lm_eval_tasks.metrics.runs.summary import Score
from lm_eval_tasks.metrics.statistics.decisions import Outcome
from lm_eval_tasks.scripts.gate.checks import Report, Result
from lm_eval_tasks.scripts.gate.limits import Cap, Equivalence, NonInferiority, scale_name
from lm_eval_tasks.scripts.shared.safe_text import one_line

FORMAT = "lm-eval-bias gate"
JSON_NAME, JUNIT_NAME = "gate.json", "junit.xml"
UNDEFINED = "–"
_COUNTS = ("n_documents", "n_valid", "n_tied", "n_both", "n_invalid")  # of the candidate; `n` is what the interval rests on


class OutputError(ValueError):
    """A folder that the outputs cannot go to."""


def prepare(folder: Path) -> None:
    """Make the folder for the outputs; refuses to overwrite what another program left there. Raises OutputError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be made ({error.strerror}). Name another folder with --output.") from error
    for name in (JSON_NAME, JUNIT_NAME):
        path = folder / name
        if path.exists() and FORMAT not in path.read_text(encoding="utf-8", errors="replace")[:300]:
            raise OutputError(f"{path} exists and is not of this gate. Move it, or name another folder with --output.")


def write(report: Report, folder: Path) -> None:
    """gate.json and junit.xml, into a prepared folder."""
    (folder / JSON_NAME).write_text(json.dumps(as_json(report), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / JUNIT_NAME).write_bytes(junit(report))


def announce(report: Report, variables: Mapping[str, str] = os.environ) -> None:
    """Summary and annotations, where GitHub's variables ask for them."""
    if summary := variables.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(markdown(report))
    if variables.get("GITHUB_ACTIONS"):
        print(*annotations(report), sep="\n")


def as_json(report: Report) -> dict[str, Any]:
    """The content of gate.json; figures to six significant digits."""
    return {
        "format": FORMAT,
        "format_version": 2,
        "verdict": report.outcome,
        "exit_code": report.exit_code,
        "policy_sha256": report.policy.sha256,
        "model": shown(report.model),
        "baseline_model": shown(report.baseline_model),
        "multiplicity": report.policy.multiplicity,
        "seed": report.seed,
        "reasons": [shown(text) for text in report.problems],
        "warnings": [shown(text) for text in report.warnings],
        "checks": [_check(result) for result in report.results],
    }


def _check(result: Result) -> dict[str, Any]:
    verdict, settings, score = result.verdict, result.check.settings, result.score
    interval = verdict.interval
    waiver = result.waiver
    return {
        "id": result.id,
        "task": shown(result.task),
        "metric": result.check.metric,
        **_test(result),
        "tier": settings.tier,
        "alpha": settings.alpha,
        "verdict": result.outcome,
        "status": result.status,
        "estimate": _rounded(verdict.estimate),
        "interval": interval
        and {"low": _rounded(interval.low), "high": _rounded(interval.high), "level": _rounded(1 - 2 * verdict.alpha)},
        "share": score and _rounded(score.share),
        "n": verdict.n or (score.n_valid if score else 0),
        **{name: getattr(score, name) if score else 0 for name in _COUNTS},
        "n_clusters": verdict.n_clusters or (score.n_clusters if score else 0),
        "p_value": _rounded(verdict.p_value),
        "p_adjusted": _rounded(verdict.p_adjusted),
        "breach_before_correction": result.breached or result.outcome is Outcome.BREACH,
        "discordant": verdict.discordant and verdict.discordant._asdict(),
        "waiver": waiver and {"reason": waiver.reason, "approved_by": waiver.approved_by, "expires": str(waiver.expires)},
        "reasons": [shown(text) for text in result.reasons],
        "signature": score and shown(score.signature),
    }


def _test(result: Result) -> dict[str, Any]:
    test = result.check.test
    scale = {"scale": scale_name(test)}
    if isinstance(test, NonInferiority):
        return {"test": "non_inferiority", **scale, "margin": test.margin, "limit": test.words}
    shares = {"limit": test.words, "limit_p": {"low": _rounded(test.shares.low), "high": _rounded(test.shares.high)}}
    if isinstance(test, Equivalence):
        return {"test": "equivalence", **scale, "ideal": test.ideal, "margin": test.margin} | shares
    assert isinstance(test, Cap)
    return {"test": "cap", **scale, "cap": test.limit} | shares


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def junit(report: Report) -> bytes:
    """BREACH that counts: failure; INVALID that counts: error; advisory, waived or warned: skipped."""
    root = ElementTree.Element("testsuites", name=FORMAT)
    suite = ElementTree.SubElement(root, "testsuite", name=shown(report.model) or "unknown model")
    if report.problems:
        case = ElementTree.SubElement(suite, "testcase", classname="evidence", name="the run can be judged")
        _mark(case, "error", Outcome.INVALID, " ".join(report.problems))
    for result in report.results:
        case = ElementTree.SubElement(suite, "testcase", classname=shown(result.task), name=result.id)
        if result.status == "counts":
            _mark(case, "error" if result.outcome is Outcome.INVALID else "failure", result.outcome, _sentence(result))
        elif result.status != "passed":
            _mark(case, "skipped", result.outcome, f"{result.status}: {result.outcome}: {_sentence(result)}")
    counted = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for attribute, tag in counted.items():
        for element in (root, suite):
            element.set(attribute, str(len(list(suite.iter(tag)))))
    ElementTree.indent(root)
    return b"<?xml version='1.0' encoding='utf-8'?>\n%b\n" % ElementTree.tostring(root, encoding="utf-8")


def _mark(case: ElementTree.Element, tag: str, outcome: Outcome, text: str) -> None:
    attributes = {"message": shown(text)} if tag == "skipped" else {"message": shown(text), "type": str(outcome)}
    ElementTree.SubElement(case, tag, attributes)


def markdown(report: Report) -> str:
    """The summary that a CI page shows."""
    lines = [
        f"## Bias gate: {report.outcome}",
        "",
        f"Model {_cell(report.model)}, baseline {_cell(report.baseline_model)}.",
        "",
    ]
    lines += [f"- {_cell(text)}" for text in (*report.problems, *report.warnings)]
    heads = ("check", "task", "limit", "verdict", *_FIGURES, "why")
    lines += ["", f"| {' | '.join(heads)} |", f"|{'---|' * 4}{'---:|' * len(_FIGURES)}---|"]
    for result in report.results:
        cells = [result.id, result.task, result.check.test.words, _verdict(result), *figures(result), _sentence(result)]
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return "\n".join(lines) + "\n\n"


def annotations(report: Report) -> Iterator[str]:
    """`::error` for what counts against the run, `::warning` for what is said only."""
    for text in report.problems:
        yield annotation("error", "evidence", text)
    for text in report.warnings:
        yield annotation("warning", "bias gate", text)
    for result in report.results:
        if result.status != "passed":
            level = "error" if result.status == "counts" else "warning"
            yield annotation(level, f"{_verdict(result)} {result.id}", f"{result.task}: {_sentence(result)}")


def table(report: Report) -> Iterator[str]:
    """A short table for people, and the verdict line."""
    rows: list[tuple[str, ...]] = [("check", "limit", "verdict", *_FIGURES)]
    rows += [(result.id, result.check.test.words, _verdict(result), *figures(result)) for result in report.results]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    yield ""
    for result in report.results:
        if result.status != "passed":
            yield f"{result.id}: {shown(_sentence(result))}"
    for text in (*report.problems, *report.warnings):
        yield f"NOTE: {shown(text)}"
    yield f"{report.outcome} (exit code {report.exit_code}): {shown(report.model) or 'unknown model'}"


_FIGURES = ("estimate", "interval", "p", "answers", "ties", "invalid")


def figures(result: Result) -> tuple[str, ...]:
    """What `_FIGURES` names, as text; estimate and interval are on the scale of the limit, p is the share of the candidate."""
    verdict, score = result.verdict, result.score
    estimate = UNDEFINED if verdict.estimate is None else f"{verdict.estimate:.3f}"
    interval = UNDEFINED if verdict.interval is None else f"{verdict.interval.low:.3f} to {verdict.interval.high:.3f}"
    if score is None:
        return estimate, interval, *[UNDEFINED] * 4
    share = UNDEFINED if score.share is None else f"{score.share:.3f}"
    answers = f"{verdict.n or score.n_valid} of {score.n_documents}"
    return estimate, interval, share, answers, str(score.n_tied), _invalid(score)


def _invalid(score: Score) -> str:
    return f"{score.n_invalid}, {score.n_both} both" if score.kind == "roles" else str(score.n_invalid)


def _verdict(result: Result) -> str:
    return str(result.outcome) if result.status in ("passed", "counts") else f"{result.outcome} ({result.status})"


def _sentence(result: Result) -> str:
    waived = result.waiver if result.status == "waived" else None
    note = [f"waived until {waived.expires} by {waived.approved_by}: {waived.reason}"] if waived else []
    return "; ".join(reason.removesuffix(".") for reason in (*result.reasons, *note))


def shown(text: str | None) -> Any:
    """Text on one line with what acts unseen written out; None stays None."""
    return None if text is None else one_line(text)


def _cell(text: str | None) -> str:
    found: str = UNDEFINED if text is None else shown(text)
    for sign in "&\\`*_{}[]<>|":
        found = found.replace(sign, f"&#{ord(sign)};")
    return found


def annotation(level: str, title: str, text: str) -> str:
    """One workflow command of GitHub."""

    def escaped(value: str, signs: str) -> str:
        return "".join(f"%{ord(sign):02X}" if sign in signs else sign for sign in shown(value))

    return f"::{level} title={escaped(title, '%:,')}::{escaped(text, '%')}"
