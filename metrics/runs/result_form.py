"""What a results file says, apart from its samples: of the right form, and the same wherever it says a thing twice.

The harness writes many things in two places: a task's version, the backend, the model's name, the words of a chat template and
their hash, the limit and the counts that follow from it, the time of the run and the times of its files, the scores of a group.
A file that was changed in one of them is told by the other. What stands in one place only (a seed, the harness's version)
cannot be told, and a results file that was made up whole, with its samples, cannot either: it carries no signature.
"""

import hashlib
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

OWN = re.compile(r"rubia|bangla_bias")
# Sections that a results file always has.
SECTIONS = ("results", "configs", "config", "n-samples", "versions", "task_hashes")
# The model arguments that the harness takes the model's name from, in its order.
_NAMED_BY = ("peft", "delta", "pretrained", "model", "path", "engine")
# Names of files carry the local time without its zone, and a machine may sleep in the middle of a run.
_HOURS_OF_ZONES = 15
_HOURS_OF_SLEEP = 48
_LAST_SECOND = 253_402_300_799  # of the year 9999


def problem_of_results(content: Mapping[str, Any], time: str) -> str | None:
    """What of a results file does not agree, in words; None where all does. `time` is the one in the file's name."""
    return (
        _sections(content) or _facts(content) or _tasks(content) or _groups(content) or _twice(content) or _date(content, time)
    )


def _sections(content: Mapping[str, Any]) -> str | None:
    for name in (*SECTIONS, "group_subtasks"):
        if not isinstance(found := content.get(name, {}), dict):
            return f"{name} is {_short(found)}, expected an object"
    return None


def _facts(content: Mapping[str, Any]) -> str | None:
    config = content["config"]
    for name, found in (
        ("model_name", content.get("model_name")),
        ("lm_eval_version", content.get("lm_eval_version")),
        ("config.model", config.get("model")),
    ):
        if not isinstance(found, str) or not found:
            return f"{name} is {_short(found)}, expected a name"
    date = content.get("date")
    if not _is_number(date) or not 0 < float(date or 0) < _LAST_SECOND:
        return f"date is {_short(date)}, expected seconds since 1970"
    if not isinstance(config.get("model_args"), dict | str | None):
        return f"config.model_args is {_short(config['model_args'])}, expected arguments"
    return None


def _tasks(content: Mapping[str, Any]) -> str | None:
    for task in filter(OWN.match, content["configs"]):
        config, counts = content["configs"][task], content["n-samples"].get(task)
        metadata = config.get("metadata") if isinstance(config, dict) else None
        if not isinstance(metadata, dict):
            return f"the configuration of {task} has no metadata"
        for key in ("plugin_version", "data_file_sha256"):
            if not isinstance(metadata.get(key), str):
                return f"the metadata of {task} has no {key}: it was not written by a task of this package"
        if not isinstance(counts, dict) or not all(_is_count(counts.get(key)) for key in ("original", "effective")):
            return f"n-samples of {task} is {_short(counts)}, expected two counts"
        if counts["effective"] > counts["original"]:
            return f"{task} has {counts['original']} documents, of which {counts['effective']} are said to have been measured"
        if (expected := _limited(content["config"].get("limit"), counts["original"])) not in (None, counts["effective"]):
            return f"{counts['effective']} documents of {task} are said to have been measured, and the limit gives {expected}"
        if task not in content["versions"] or str(content["versions"][task]) != str(metadata.get("version")):
            found = content["versions"].get(task)
            return f"{task} is said to be of version {found} in one place and {metadata.get('version')} in another"
    return None


def _limited(limit: Any, n_original: int) -> int | None:
    """How many documents a limit leaves, as the harness counts; None where there is none."""
    if not _is_number(limit):
        return None
    return min(n_original, math.ceil(n_original * limit) if limit < 1 else int(limit))


def _groups(content: Mapping[str, Any]) -> str | None:
    children = content.get("group_subtasks", {})
    for group, members in children.items():
        if not isinstance(members, list) or not all(isinstance(member, str) for member in members):
            return f"group_subtasks of {group} is {_short(members)}, expected names"
        if _is_below(group, group, children, set()):
            return f"the group {group} is said to be below itself"
    for name in filter(OWN.match, content["results"]):
        if name not in children and name not in content["configs"]:
            return f"{name} has scores, and is neither a task nor a group of the file"
    for group, scores in content.get("groups", {}).items():
        if scores != content["results"].get(group):
            return f"the scores of the group {group} are said twice, and differ"
    return None


def _is_below(wanted: str, group: str, children: Mapping[str, list[str]], seen: set[str]) -> bool:
    if group in seen:
        return False
    seen.add(group)
    return any(child == wanted or _is_below(wanted, child, children, seen) for child in children.get(group, ()))


def _twice(content: Mapping[str, Any]) -> str | None:
    """Things that a results file says in two places."""
    config, model = content["config"], content["config"]["model"]
    if content.get("model_source", model) not in (model, "CUSTOM"):
        return f"the backend is said to be {model!r} and {content['model_source']!r}"
    arguments = config.get("model_args")
    named = next((str(arguments[key]) for key in _NAMED_BY if key in arguments), None) if isinstance(arguments, dict) else None
    if named is not None and "[removed" not in named and named != content["model_name"]:
        return f"the model is said to be {content['model_name']!r} and {named!r}"
    for field in ("chat_template", "system_instruction"):
        text, written = content.get(field), content.get(f"{field}_sha")
        if isinstance(text, str | None) and written != (hashlib.sha256(text.encode()).hexdigest() if text else None):
            return f"{field}_sha is not that of the {field.replace('_', ' ')} that the file holds"
    return None


def _date(content: Mapping[str, Any], time: str) -> str | None:
    """The run cannot have begun after its files were written, nor long before."""
    day, _, clock = time.partition("T")
    try:
        written = datetime.fromisoformat(f"{day}T{clock.replace('-', ':')}").replace(tzinfo=UTC).timestamp()
        took = float(content.get("total_evaluation_time_seconds") or 0)
    except ValueError:
        return f"its time {time} is none, or how long it took is {_short(content.get('total_evaluation_time_seconds'))}"
    hours = (written - content["date"]) / 3600
    if not -_HOURS_OF_ZONES <= hours <= took / 3600 + _HOURS_OF_ZONES + _HOURS_OF_SLEEP:
        begun = datetime.fromtimestamp(content["date"], tz=UTC).isoformat(timespec="seconds")
        return f"the run is said to have begun at {begun}, and its files to have been written at {time}"
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
