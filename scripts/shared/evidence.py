"""A run as the commands take it: read strictly, and checked against what this package knows of its tasks and rows.

Groups must have the leaves that their YAML gives them. Where the rows are at hand (the shipped samples, a local folder or the
cache with the file of the same hash; nothing is downloaded), every document must be the row of its number, and a run that says
that it is not limited must have all rows of its kind.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from lm_eval_tasks import tasks_path
from lm_eval_tasks.bangla_bias.files import FILES
from lm_eval_tasks.bangla_bias.rows import read_prompts
from lm_eval_tasks.data import (
    RUBIA_CACHED,
    RUBIA_FILE,
    DataError,
    Source,
    bangla_sample,
    cache_folder,
    local_file,
    rubia_sample,
    sha256_of,
)
from lm_eval_tasks.metrics.outcomes.documents import kind_of_document
from lm_eval_tasks.metrics.runs.results import EvidenceError, Leaf, Run, read_run
from lm_eval_tasks.sentence_pairs.rows import read_pairs

Row = tuple[str, ...]


def read(folder: Path) -> Run:
    """The run below `folder`. Raises EvidenceError."""
    run = read_run(folder, defined_groups())
    for leaf in run.leaves.values():
        if leaf.documents and (rows := _rows_at_hand(leaf)) is not None:
            _check_rows(run, leaf, rows)
    return run


@cache
def defined_groups() -> Mapping[str, frozenset[str]]:
    """Leaves of each group of this package, from its YAML."""
    children: dict[str, list[str]] = {}
    for path in sorted(tasks_path().rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        if text.startswith(("group:", "include: _group_template")) or "\ngroup:" in text:
            content = yaml.safe_load(text)
            children[content["group"]] = content["task"]

    def leaves(name: str) -> Iterator[str]:
        for child in children[name]:
            yield from leaves(child) if child in children else [child]

    return {group: frozenset(leaves(group)) for group in children}


def _check_rows(run: Run, leaf: Leaf, rows: Mapping[int, Row]) -> None:
    for document in leaf.documents:
        doc = document["doc"]
        if rows.get(doc["row"]) != _row_of(doc):
            raise EvidenceError(
                f"{run.folder}: document {document['doc_id']} of {leaf.name} is not row {doc['row']} of the data with SHA-256 "
                f"{str(leaf.metadata.get('data_file_sha256'))[:12]}. The samples file was changed after the run; run again."
            )
    kinds = {_row_of(document["doc"])[1:] for document in leaf.documents}
    n_rows = sum(row[1:] in kinds for row in rows.values())
    if not leaf.limited and len(leaf.documents) != n_rows:
        raise EvidenceError(
            f"{run.folder}: {leaf.name} has {len(leaf.documents)} documents and says that it has no more, but its data have "
            f"{n_rows}. The results file was changed after the run; run again."
        )


def _row_of(doc: Mapping[str, Any]) -> Row:
    """What a document shows of its row; all but the first part is the same for the rows of one kind."""
    if kind_of_document(doc) == "roles":
        return (doc["prompt"], doc["leaf"])
    return (f"{doc['pro_trope']}\n{doc['anti_trope']}", doc["domain"], doc["subdomain"])


def _rows_at_hand(leaf: Leaf) -> Mapping[int, Row] | None:
    doc, sha256 = leaf.documents[0]["doc"], leaf.metadata.get("data_file_sha256")
    if kind_of_document(doc) == "roles":
        kind, topic = doc["kind"], doc["topic"]
        file = FILES.get((kind, topic))
        found = file and _with_hash(sha256, bangla_sample(file.hub), leaf, file.archived, *file.local)
        return _prompts(found, kind, topic) if found else None
    found = _with_hash(sha256, rubia_sample(), leaf, RUBIA_CACHED, RUBIA_FILE)
    return _pairs(found) if found else None


def _with_hash(sha256: Any, sample: Source, leaf: Leaf, cached: str, *names: str) -> Source | None:
    if sample.sha256 == sha256:
        return sample
    folder = leaf.metadata.get("data")
    try:
        local = local_file(folder if isinstance(folder, str) else None, *names)
    except DataError:
        local = None
    for path in (*([local] if local else []), *cache_folder().glob(f"**/{cached}")):
        if _hash(path, path.stat().st_mtime_ns) == sha256:
            return Source(path, "local folder", None, sha256)
    return None


@cache
def _hash(path: Path, _changed: int) -> str:
    return sha256_of(path)


@cache
def _prompts(source: Source, kind: str, topic: Any) -> Mapping[int, Row]:
    prompts = read_prompts(source, kind, topic).prompts
    return {prompt.row: (prompt.prompt, prompt.leaf) for prompt in prompts}


@cache
def _pairs(source: Source) -> Mapping[int, Row]:
    pairs = read_pairs(source).pairs
    return {pair.row: (f"{pair.pro_trope}\n{pair.anti_trope}", pair.domain, pair.subdomain) for pair in pairs}
