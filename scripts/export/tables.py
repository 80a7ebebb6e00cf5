"""Scores of runs as JSON, CSV and Markdown: the same numbers in three forms.

`summary(run)` is the form of the JSON; its fields are:

    schema_version, model, backend, date, lm_eval_version, plugin_versions, chat_template_sha, system_instruction_sha,
    seeds, first_token_conventions, limited
    data        the files of rows: sha256, origin, revision, rows
    scores      one per task or group and metric, in order of task name: the fields of metrics.summary.Score. `value` and
                `interval` (95%) are on `scale`, `share` and `share_interval` are the same as p; `noise_floor` is that of |t|;
                `n_tied` counts ties of perplexity (`tie_rate` is their share of the documents), `n_both` answers of roles that
                name both groups; a tie is no stereotypical choice
    wordings    questions only: mean and standard deviation (sd) of the correct rate over the wordings of a family,
                by domain and subdomain

A number that does not exist is null in JSON, an empty cell in CSV and "–" in Markdown; `status` says whether the value is
"defined" or "undefined". Numbers are rounded to nine places and runs sorted by model and date: equal runs give equal bytes.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from lm_eval_tasks.metrics.runs.prompted import families
from lm_eval_tasks.metrics.runs.results import Run
from lm_eval_tasks.metrics.runs.summary import METRICS, Score, score
from lm_eval_tasks.metrics.statistics.intervals import Interval
from lm_eval_tasks.scripts.shared.safe_text import in_json, one_line

SCHEMA_VERSION = "1.1"
_PLACES = 9
_MISSING = "–"
_COLUMNS = (
    *("model", "date", "task", "is_group", "metric", "kind", "status", "scale", "value", "interval_low", "interval_high"),
    *("share", "share_interval_low", "share_interval_high", "n_documents", "n_valid", "n_clusters", "n_tied", "n_both"),
    *(
        "n_invalid",
        "valid_rate",
        "tie_rate",
        "first_option_share",
        "noise_floor",
        "worst_case_low",
        "worst_case_high",
        "limited",
        "signature",
    ),
)


def summary(run: Run) -> dict[str, Any]:
    """All scores of a run and what they were made from; see the module's docstring."""
    metadata = [leaf.metadata for leaf in run.leaves.values()]
    return {
        "schema_version": SCHEMA_VERSION,
        "model": run.model,
        "backend": run.backend,
        "date": iso_date(run),
        "lm_eval_version": run.identity["lm_eval_version"],
        "plugin_versions": _distinct(metadata, "plugin_version"),
        "chat_template_sha": run.identity["chat_template_sha"],
        "system_instruction_sha": run.identity["system_instruction_sha"],
        "seeds": dict(run.seeds),
        "first_token_conventions": _distinct(metadata, "first_token_convention"),
        "limited": any(leaf.limited for leaf in run.leaves.values()),
        "data": _data(metadata),
        "scores": [_entry(run, one) for one in all_scores(run)],
        "wordings": _wordings(run),
    }


@lru_cache(maxsize=32)  # a report makes four files of the same scores
def all_scores(run: Run) -> tuple[Score, ...]:
    """Every score of a run, in order of task name: leaves, groups that can be pooled, and all normalisers of pairs."""
    return tuple(_scores(run))


def _scores(run: Run) -> Iterator[Score]:
    for task in sorted({*run.groups, *run.leaves}):
        if (main := score(run, task)) is not None:
            yield main
            for metric in METRICS[main.kind][1:]:
                if (other := score(run, task, metric)) is not None:
                    yield other


def in_order(runs: Sequence[Run]) -> list[Run]:
    """Runs by model, then date."""
    return sorted(runs, key=lambda run: (run.model, run.date))


def iso_date(run: Run) -> str:
    """When the run's last go was started, in UTC."""
    return datetime.fromtimestamp(run.date, tz=UTC).isoformat(timespec="seconds")


def to_json(runs: Sequence[Run]) -> str:
    """Summaries of runs as strict JSON."""
    found = {"runs": [summary(run) for run in in_order(runs)]}
    return in_json(json.dumps(found, ensure_ascii=False, indent=2, allow_nan=False)) + "\n"


def to_csv(runs: Sequence[Run]) -> str:
    """One line per score of each run."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for run in in_order(runs):
        found = summary(run)
        for entry in found["scores"]:
            writer.writerow({"model": one_line(found["model"]), "date": found["date"]} | _flat(entry))
    return text.getvalue()


def to_markdown(runs: Sequence[Run]) -> str:
    """One section per run: what was measured, its scores, and the spread over wordings where there are any."""
    return "\n".join("\n".join(_section(summary(run))) + "\n" for run in in_order(runs))


def _distinct(metadata: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    return sorted({str(one[key]) for one in metadata if one.get(key) is not None})


def _data(metadata: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    files = {
        str(one.get("data_file_sha256")): {
            "sha256": one.get("data_file_sha256"),
            "origin": one.get("data_origin"),
            "revision": one.get("data_revision"),
            "rows": one.get("data_rows"),
        }
        for one in metadata
    }
    return [files[sha256] for sha256 in sorted(files)]


def _entry(run: Run, found: Score) -> dict[str, Any]:
    return {
        "task": found.task,
        "is_group": found.task in run.groups,
        "metric": found.metric,
        "kind": found.kind,
        "status": "undefined" if found.value is None else "defined",
        "scale": found.scale.name,
        "value": _rounded(found.value),
        "interval": _ends(found.value_interval),
        "share": _rounded(found.share),
        "share_interval": _ends(found.interval),
        "n_documents": found.n_documents,
        "n_valid": found.n_valid,
        "n_clusters": found.n_clusters,
        "n_tied": found.n_tied,
        "n_both": found.n_both,
        "n_invalid": found.n_invalid,
        "valid_rate": _rounded(found.valid_rate),
        "tie_rate": _rounded(found.tie_rate),
        "first_option_share": _rounded(found.first_option_share),
        "noise_floor": _rounded(found.noise_floor),
        "worst_case": _ends(found.worst_case),
        "limited": found.limited,
        "signature": found.signature,
    }


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, _PLACES)


def _ends(interval: Interval | None) -> dict[str, float | None] | None:
    return None if interval is None else {"low": _rounded(interval.low), "high": _rounded(interval.high)}


def _wordings(run: Run) -> list[dict[str, Any]]:
    return [
        {
            "family": family,
            "domain": domain,
            "subdomain": subdomain,
            "mean": _rounded(spread.mean),
            "sd": _rounded(spread.deviation),
            "n_wordings": spread.n_wordings,
            "n_pairs": spread.n_pairs,
        }
        for family, cells in families(run).items()
        for (domain, subdomain), spread in sorted(cells.items())
    ]


def _flat(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Intervals as two columns."""
    flat = {key: value for key, value in entry.items() if key not in ("interval", "share_interval", "worst_case")}
    for key in ("interval", "share_interval", "worst_case"):
        ends = entry[key] or {"low": None, "high": None}
        flat |= {f"{key}_low": ends["low"], f"{key}_high": ends["high"]}
    return flat


def _section(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {_plain(found['model'])}"
    yield ""
    conventions = ", ".join(found["first_token_conventions"]) or "not used"
    yield (
        f"Backend {_plain(found['backend'])}, {found['date']}, lm-eval {found['lm_eval_version']}, "
        f"plugin {', '.join(found['plugin_versions'])}, first token: {conventions}."
    )
    if found["limited"]:
        yield "**Limited: a part of the documents only, no result to cite.**"
    yield ""
    yield "| task | metric | value | 95% interval | noise floor | valid | documents | clusters | ties | both | invalid |"
    yield "|---|---|---:|---|---:|---:|---:|---:|---:|---:|---:|"
    for one in found["scores"]:
        value = "undefined" if one["value"] is None else f"{one['value']:.3f}"
        floor = _MISSING if one["noise_floor"] is None else f"{one['noise_floor']:.3f}"
        yield _row(one["task"], one["metric"], value, _span(one["interval"]), floor, *_counts(one))
    yield ""
    yield "Noise floor: |t| = |2p - 1| that a fair model shows on average over as many answers."
    if found["wordings"]:
        yield ""
        yield "| questions | domain | subdomain | correct, mean | sd | wordings | pairs |"
        yield "|---|---|---|---:|---:|---:|---:|"
        for one in found["wordings"]:
            deviation = _MISSING if one["sd"] is None else f"{one['sd']:.3f}"
            counts = (one["n_wordings"], one["n_pairs"])
            yield _row(one["family"], one["domain"], one["subdomain"], f"{one['mean']:.3f}", deviation, *counts)


def _counts(one: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(one[key] for key in ("n_valid", "n_documents", "n_clusters", "n_tied", "n_both", "n_invalid"))


def _span(ends: Mapping[str, float] | None) -> str:
    return _MISSING if ends is None else f"{ends['low']:.3f} to {ends['high']:.3f}"


def _row(*cells: Any) -> str:
    return f"| {' | '.join(_plain(str(cell)) for cell in cells)} |"


def _plain(text: str) -> str:
    """Text that Markdown shows as it stands, on one line."""
    return "".join(f"\\{letter}" if letter in r"\|<>&`*[]" else letter for letter in one_line(text))
