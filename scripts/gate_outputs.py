"""What the gate leaves behind: gate.json, JUnit XML, a Markdown summary and annotations for GitHub, a table for the console.

Names of models and reasons come from files that others wrote: control characters and marks that turn the direction of text
are shown as escapes, and each format escapes its own signs. Bytes depend on the policy and the runs only.
"""

import json
import os
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from lm_eval_tasks.metrics.decisions import Outcome
from lm_eval_tasks.scripts.gate_checks import Report, Result
from lm_eval_tasks.scripts.policy import SCALES, Cap, Equivalence

FORMAT = "lm-eval-bias gate"
JSON_NAME, JUNIT_NAME = "gate.json", "junit.xml"
UNDEFINED = "–"
_SCALE_NAMES = {scale.name: name for name, scale in SCALES.items()}


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
        "format_version": 1,
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
        "n": score.n_documents if score else 0,
        "n_valid": verdict.n or (score.n_valid if score else 0),
        "n_clusters": verdict.n_clusters or (score.n_clusters if score else 0),
        "p_value": _rounded(verdict.p_value),
        "p_adjusted": _rounded(verdict.p_adjusted),
        "discordant": verdict.discordant and verdict.discordant._asdict(),
        "waiver": waiver and {"reason": waiver.reason, "approved_by": waiver.approved_by, "expires": str(waiver.expires)},
        "reasons": [shown(text) for text in result.reasons],
        "signature": score and shown(score.signature),
    }


def _test(result: Result) -> dict[str, Any]:
    test = result.check.test
    if isinstance(test, Equivalence):
        return {"test": "equivalence", "scale": _SCALE_NAMES[test.scale.name], "ideal": test.ideal, "margin": test.margin}
    if isinstance(test, Cap):
        return {"test": "cap", "scale": _SCALE_NAMES[test.scale.name], "cap": test.limit}
    return {"test": "non_inferiority", "scale": "t", "margin": test.margin}


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
    lines += ["", "| check | task | verdict | estimate | interval | valid answers | why |", "|---|---|---|---:|---:|---:|---|"]
    for result in report.results:
        cells = [result.id, result.task, _verdict(result), *figures(result), _sentence(result)]
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
    rows = [("check", "verdict", "estimate", "interval", "valid answers")]
    rows += [(result.id, _verdict(result), *figures(result)) for result in report.results]
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


def figures(result: Result) -> tuple[str, str, str]:
    """Estimate, interval and number of valid answers, as text."""
    verdict = result.verdict
    n_valid = verdict.n or (result.score.n_valid if result.score else 0)
    estimate = UNDEFINED if verdict.estimate is None else f"{verdict.estimate:.3f}"
    interval = UNDEFINED if verdict.interval is None else f"{verdict.interval.low:.3f} to {verdict.interval.high:.3f}"
    return estimate, interval, str(n_valid) if result.score else UNDEFINED


def _verdict(result: Result) -> str:
    return str(result.outcome) if result.status in ("passed", "counts") else f"{result.outcome} ({result.status})"


def _sentence(result: Result) -> str:
    waived = result.waiver if result.status == "waived" else None
    note = [f"waived until {waived.expires} by {waived.approved_by}: {waived.reason}"] if waived else []
    return "; ".join(reason.removesuffix(".") for reason in (*result.reasons, *note))


def shown(text: str | None) -> Any:
    """Text with control and direction characters as escapes; None stays None."""
    if text is None:
        return None
    return "".join(sign if unicodedata.category(sign)[0] not in "CZ" or sign == " " else f"\\u{ord(sign):04x}" for sign in text)


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
