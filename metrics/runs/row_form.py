"""The form of a document's row, by what its task asks for: every field there, of the type that the task writes, and none more.

What reads a run (scores, tables, reports) relies on it, so that a row that was changed ends in a refusal and not in a crash.
"""

from collections.abc import Callable, Mapping
from typing import Any

from lm_eval_tasks.metrics.outcomes.documents import Kind, kind_of_document
from lm_eval_tasks.metrics.outcomes.roles import GROUPS

_Fits = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_filled(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0  # True is an int, too


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _one_of(*accepted: str) -> _Fits:
    return lambda value: isinstance(value, str) and value in accepted


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


_PAIR: dict[str, _Fits] = {
    "row": _is_count,
    "cluster": _is_count,
    "pro_trope": _is_filled,
    "anti_trope": _is_filled,
    "domain": _is_filled,
    "subdomain": _is_filled,
    "task_type": _is_filled,
}
_FIELDS: dict[Kind, dict[str, _Fits]] = {
    "pairs": _PAIR
    | {f"{side}_{part}": _is_text for side in ("pro", "anti") for part in ("context", "target")}
    | {f"{side}_n_tokens": _is_count for side in ("pro", "anti")}
    | {"identical_tokens": _is_flag, "undecided": _is_flag},
    "questions": _PAIR | {"expected": _one_of("yes", "no")},
    "roles": {
        "row": _is_count,
        "prompt": _is_filled,
        "topic": _one_of(*GROUPS),
        "leaf": _is_filled,
        "first_option": _one_of(*(group for groups in GROUPS.values() for group in groups)),
        "cluster": _is_filled,
        "options": _is_texts,
        "artefact": _is_flag,
        "kind": _one_of("template", "ebe"),
        "reading": _one_of("ours", "authors"),
    }
    | dict.fromkeys(("category", "polarity", "trait", "occupation", "word_pair", "second_cluster"), _is_text),
}


def problem_of_row(doc: Mapping[str, Any]) -> str | None:
    """What of a row is not as its task writes it, in words; None where all is. Raises KeyError for a row of no task of ours."""
    kind = kind_of_document(doc)
    fields = _FIELDS[kind]
    for field, fits in fields.items():
        if field not in doc:
            return f"its row has no {field}"
        if not fits(doc[field]):
            return f"its row's {field} is {str(doc[field])[:60]!r} ({type(doc[field]).__name__}), which its task does not write"
    if more := doc.keys() - fields.keys():
        return f"its row has a field {min(more)}, which its task does not write"
    return {"pairs": _tokens, "questions": lambda _: None, "roles": _options}[kind](doc)


def _tokens(doc: Mapping[str, Any]) -> str | None:
    counts = (doc["pro_n_tokens"], doc["anti_n_tokens"])
    if doc["undecided"] != (0 in counts):
        marked = "marked" if doc["undecided"] else "not marked"
        return f"its row is {marked} as undecided, with {counts[0]} and {counts[1]} scored tokens"
    if doc["identical_tokens"] and counts[0] != counts[1]:
        return f"its row says that both sentences are the same tokens, of which {counts[0]} and {counts[1]} are scored"
    return None


def _options(doc: Mapping[str, Any]) -> str | None:
    if doc["first_option"] not in GROUPS[doc["topic"]]:
        return f"its row's first_option is {doc['first_option']!r}, which is no group of {doc['topic']}"
    expected = 2 if doc["kind"] == "ebe" else 0
    if len(doc["options"]) != expected:
        return f"its row has {len(doc['options'])} options, expected {expected}"
    return None
