"""What a samples file says is made again: hashes, requests and scores must be what its rows and responses give.

A file that was changed after the run says one thing in one place and another elsewhere. So every document is checked for:

    form        its fields, those of its row (`row_form`), and one response per request, the same before and after the filter
    hashes      `doc_hash`, `prompt_hash` and `target_hash` as the harness makes them, and the hash of all of a task's documents
    requests    a pair's sentences, and a prompt, stand in what was sent
    scores      every metric, by the functions that scored the run (`documents`)

Whatever does not agree is refused (EvidenceError) with the file, the document and what differs.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lm_eval_tasks.metrics.outcomes.documents import hashed_part, kind_of_document, metrics_of
from lm_eval_tasks.metrics.runs.row_form import problem_of_row

Document = dict[str, Any]
FILTER = "none"
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "doc_id": int,
    "doc": dict,
    "arguments": dict,
    "resps": list,
    "filtered_resps": list,
    "filter": str,
    "metrics": list,
    "doc_hash": str,
    "prompt_hash": str,
    "target_hash": str,
    "target": (str, int),
}
_TOLERANCE = 1e-9


def problem_of(document: Any) -> str | None:
    """What of a logged document does not agree, in words; None where all does."""
    return _form(document) or _hashes(document) or _requests(document) or _scores(document)


def hash_of_documents(documents: Sequence[Document]) -> str:
    """The harness's hash of a task, from its documents in the order of the file."""
    return _sha256("".join(d["doc_hash"] + d["prompt_hash"] + d["target_hash"] for d in documents))


def _form(document: Any) -> str | None:
    if not isinstance(document, dict):
        return f"it is {type(document).__name__}, expected an object"
    for field, expected in _FIELDS.items():
        if field not in document:
            return f"it has no {field}"
        if not isinstance(found := document[field], expected) or isinstance(found, bool):
            return f"{field} is {_short(found)}, which is of another type than the harness writes"
    if not all(isinstance(metric, str) for metric in document["metrics"]) or not document["metrics"]:
        return f"metrics is {_short(document['metrics'])}, expected names"
    if lacking := [metric for metric in document["metrics"] if metric not in document]:
        return f"it has no {', '.join(lacking)}"
    if document["filter"] != FILTER:
        return f"filter is {_short(document['filter'])}, expected {FILTER!r}"
    firsts = [given[0] if isinstance(given, list) and len(given) == 1 else None for given in document["resps"]]
    if firsts != document["filtered_resps"] or len(firsts) != len(document["arguments"]):
        return "resps and filtered_resps differ, or are not one for each request"
    for i in range(len(firsts)):
        given = document["arguments"].get(f"gen_args_{i}")
        if not isinstance(given, dict) or given.keys() != {"arg_0", "arg_1"}:
            return f"request {i} is {_short(given)}, expected two arguments"
    try:
        return problem_of_row(document["doc"])
    except KeyError as error:
        return str(error.args[0])


def _hashes(document: Document) -> str | None:
    made = {
        "doc_hash": indented(hashed_part(document["doc"])),
        "prompt_hash": sent_text(document),
        "target_hash": str(document["target"]),
    }
    for field, text in made.items():
        if not isinstance(text, str) or document[field] != _sha256(text):
            return f"{field} is not that of what the file holds"
    return None


def _requests(document: Document) -> str | None:
    doc = document["doc"]
    if kind_of_document(doc) == "pairs":
        for i, side in enumerate(("pro", "anti")):
            sent = [_argument(document, i, j) for j in (0, 1)]
            if sent != [doc[f"{side}_context"], doc[f"{side}_target"]] or "".join(sent) != doc[f"{side}_trope"]:
                return f"request {i} is {_short(sent)}, which is not the row's {side}-trope sentence"
        return None
    texts = [doc["prompt"]] if "prompt" in doc else [doc["pro_trope"], doc["anti_trope"]]
    sent = sent_text(document)
    for text in texts:
        core = text.strip().rstrip(".!?…")
        # An API gets the prompt as JSON, in which quotes, and perhaps all letters but Latin ones, are written out.
        if core not in sent and not any(json.dumps(core, ensure_ascii=ascii)[1:-1] in sent for ascii in (False, True)):
            return f"what was sent does not hold the row's text {_short(text)}"
    return None


def _scores(document: Document) -> str | None:
    try:
        made = metrics_of(document)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        return f"its responses cannot be scored ({type(error).__name__}: {error})"
    if differing := set(made).symmetric_difference(document["metrics"]):
        whose = "no metric" if (one := min(differing)) in made else "a metric"
        return f"it has {whose} {one}, and its task has {', '.join(made)}"
    for metric in made:
        found = document[metric]
        if isinstance(found, bool) or not isinstance(found, int | float) or abs(found - made[metric]) > _TOLERANCE:
            return f"{metric} is {_short(found)}, and its responses give {made[metric]}"
    return None


def indented(doc: Mapping[str, Any]) -> str:
    """As `json.dumps(doc, indent=2, ensure_ascii=False)`, which is slow, for the flat rows of this project's tasks."""
    if not doc or any(isinstance(value, dict) for value in doc.values()):
        return json.dumps(doc, indent=2, ensure_ascii=False)
    return "{\n  " + ",\n  ".join(f"{_plain(key)}: {_value(value)}" for key, value in doc.items()) + "\n}"


def _value(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n    " + ",\n    ".join(_plain(item) for item in value) + "\n  ]"
    return _plain(value)


_plain = json.JSONEncoder(ensure_ascii=False).encode


def sent_text(document: Document) -> Any:
    """What was sent to the model; the harness logs the messages of a chat API as a list that holds their JSON."""
    sent = _argument(document, 0, 0)
    return sent[0] if isinstance(sent, list) and len(sent) == 1 else sent


def _argument(document: Document, request: int, place: int) -> Any:
    given = document["arguments"].get(f"gen_args_{request}")
    return given.get(f"arg_{place}") if isinstance(given, dict) else None


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def problems(documents: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """Line number (the first is 1) and problem of each document that has one."""
    for number, document in enumerate(documents, start=1):
        if problem := problem_of(document):
            yield number, problem
