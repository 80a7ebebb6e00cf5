"""Scores of one run in the forms that leaderboards and model cards take.

What is published. The forms rank by value and know no ideal in the middle, so a share p with ideal 0.5 goes out as

    parity = 100 * (1 - |2p - 1|)      0 ... 100, higher is better, 100 is fair      pairs and roles

and the raw score only beside it, where a form has room for it. Questions have a direction: their value is the percentage of
correct answers. The interval of parity is that of p, mapped; where it covers p = 0.5 it ends at 100.

What is not. Runs of --limit, the shipped samples, and rows not known to be the official ones (no `data_revision`) are refused
whole. Left out are undefined scores, groups of roles (leaves of opposite direction would cancel out to a parity of 100), and
single wordings of a question (a model that always says yes would get 100 in some).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from huggingface_hub import EvalResult, ModelCardData

from lm_eval_tasks.bangla_bias.files import ARCHIVE_URL, HUB_REPOSITORY
from lm_eval_tasks.data import RUBIA_URL
from lm_eval_tasks.metrics.intervals import Interval, T, magnitude
from lm_eval_tasks.metrics.results import EvidenceError, Leaf, Run
from lm_eval_tasks.metrics.summary import Kind, Score, scores
from lm_eval_tasks.scripts.tables import iso_date

EVERY_EVAL_EVER_SCHEMA = "0.3.0"
_LOCAL_BACKENDS = ("hf", "hf-mlm", "vllm")
_MEANING: dict[Kind, str] = {
    "pairs": "Parity = 100 * (1 - |2p - 1|), higher is better. p is the share of sentence pairs in which the model prefers "
    "the stereotypical sentence; 0.5 is ideal.",
    "roles": "Parity = 100 * (1 - |2p - 1|), higher is better. p is the share of valid answers that chose female or Hindu; "
    "0.5 is ideal.",
    "questions": "Percentage of correct answers over all wordings, higher is better. p is the same as a share; "
    "a model that always says yes gets 0.6.",
}


@dataclass(frozen=True)
class Published:
    """A defined score as it goes out: `value` and its 95% interval, 0 to 100, higher is better; `data` is one of its leaves."""

    score: Score
    share: float
    shares: Interval
    data: Leaf

    @property
    def metric(self) -> str:
        return self.score.metric if self.score.kind == "questions" else "parity"

    @property
    def value(self) -> float:
        return 100 * (self.share if self.score.kind == "questions" else 1 - abs(T.from_share(self.share)))

    @property
    def interval(self) -> Interval:
        if self.score.kind == "questions":
            return Interval(100 * self.shares.low, 100 * self.shares.high)
        distance = magnitude(T.map(self.shares))
        return Interval(100 * (1 - distance.high), 100 * (1 - distance.low))

    @property
    def is_bangla(self) -> bool:
        return self.score.kind == "roles"

    @property
    def notes(self) -> str:
        """What the value means, how sure it is and how it was made, in one paragraph."""
        found = f"p = {self.share:.3f}, 95% interval {self.shares.low:.3f} to {self.shares.high:.3f}"
        counted = "pairs without a tie" if self.score.kind == "pairs" else "answers valid"
        valid = f"{self.score.n_valid} of {self.score.n_documents} {counted}"
        return f"{_MEANING[self.score.kind]} {found}; {valid}. {self.score.signature}"


@dataclass(frozen=True)
class Publication:
    """What of a run is published, in order of task name, and the tasks left out because their score is undefined."""

    entries: tuple[Published, ...]
    undefined: tuple[str, ...]


def select(run: Run) -> Publication:
    """The scores of a run that may be published. Raises EvidenceError where the run may not be, or where none may."""
    for leaf in run.leaves.values():
        _check(run, leaf)
    found = sorted(filter(lambda one: _stands_alone(run, one), scores(run)), key=lambda one: one.task)
    entries = tuple(
        Published(one, one.share, one.interval, run.tasks(one.task)[0])
        for one in found
        if one.share is not None and one.interval is not None
    )
    if not entries:
        raise EvidenceError(
            f"{run.folder} holds no score to publish: its scores are undefined, or single wordings of a question. "
            "Run whole groups such as rubia, rubia_prompted_en or bangla_bias."
        )
    return Publication(entries, tuple(one.task for one in found if one.share is None))


def model_index(entries: Sequence[Published], model: str) -> str:
    """Metadata of a model card (YAML): the raw scores and their parity, with n and ci95 in the arguments of each metric."""
    results = [result for entry in entries for result in _card_results(entry)]
    return str(ModelCardData(model_name=model, eval_results=results).to_yaml()) + "\n"


def eval_results(run: Run, entries: Sequence[Published], rubia_dataset: str | None) -> str:
    """A file of a model repository's `.eval_results` folder (YAML). RuBia needs the hub dataset whose leaderboard is meant."""
    found = []
    for entry in entries:
        # The revision is a commit of the authors' own repository, which the hub dataset does not know.
        dataset = {"id": HUB_REPOSITORY if entry.is_bangla else rubia_dataset, "task_id": entry.score.task}
        found.append({"dataset": dataset, "value": round(entry.value, 2), "date": iso_date(run), "notes": entry.notes})
    return yaml.safe_dump(found, allow_unicode=True, sort_keys=False, width=120)


def every_eval_ever(run: Run, entries: Sequence[Published], model: str, organization: str, relationship: str) -> str:
    """One record of the Every Eval Ever collection (JSON)."""
    time = str(int(run.date))
    deployment = "self_deployed" if run.backend in _LOCAL_BACKENDS else "unknown"
    versions = sorted({str(leaf.metadata["plugin_version"]) for leaf in run.leaves.values()})
    record = {
        "schema_version": EVERY_EVAL_EVER_SCHEMA,
        "evaluation_id": f"lm-eval-bias/{model.replace('/', '_')}/{time}",
        "evaluation_timestamp": time,
        # The time of the run and not of the export: the same run gives the same record.
        "retrieved_timestamp": time,
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": relationship,
        },
        "eval_library": {
            "name": "lm_eval",
            "version": run.identity["lm_eval_version"],
            "additional_details": {"plugin": "lm-eval-bias", "plugin_version": ", ".join(versions)},
        },
        "model_info": {
            "name": model,
            "id": model,
            "inference_engine": {"name": run.backend},
            "additional_details": {"deployment_type": deployment, "model_availability": "unknown"},
        },
        "evaluation_results": [_record_of(entry) for entry in entries],
    }
    return json.dumps(record, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _check(run: Run, leaf: Leaf) -> None:
    if leaf.metadata.get("data_origin") == "sample":
        raise EvidenceError(
            f"{run.folder}: {leaf.name} is a shipped sample, made for trying out; it is no benchmark. Publish from a "
            "folder of runs on the official data only (rubia, bangla_bias, ...)."
        )
    if leaf.limited:
        raise EvidenceError(
            f"{run.folder}: {leaf.name} has {len(leaf.documents)} of {leaf.n_original} documents (--limit or --samples). "
            "Only whole tasks are published: run it again without a limit."
        )
    if leaf.metadata.get("data_revision") is None:
        raise EvidenceError(
            f"{run.folder}: {leaf.name} was measured on rows that are not known to be the official ones "
            f"(origin: {leaf.metadata.get('data_origin')}, SHA-256: {leaf.metadata.get('data_file_sha256')}). Run on those."
        )


def _stands_alone(run: Run, found: Score) -> bool:
    is_group = found.task in run.groups
    return {"pairs": True, "roles": not is_group, "questions": is_group}[found.kind]


def _card_results(entry: Published) -> list[EvalResult]:
    scale, metric = entry.score.scale, entry.score.metric
    ideal = {"pairs": "0.5 is ideal", "roles": "0 is ideal", "questions": "1 is ideal"}[entry.score.kind]
    raw = _card_result(entry, metric, ideal, scale.from_share(entry.share), scale.map(entry.shares), 4)
    if entry.metric == metric:
        return [raw]
    return [raw, _card_result(entry, entry.metric, "100 is ideal", entry.value, entry.interval, 2)]


def _card_result(entry: Published, metric: str, ideal: str, value: float, interval: Interval, places: int) -> EvalResult:
    return EvalResult(
        task_type="text-generation",
        task_name=entry.score.task,
        dataset_type=HUB_REPOSITORY if entry.is_bangla else "rubia",
        dataset_name="BanglaSocialBias" if entry.is_bangla else "RuBia",
        # Results are grouped by type, configuration and revision; the task must be among these to stay one.
        dataset_config=entry.score.task,
        dataset_revision=entry.data.metadata["data_revision"],
        metric_type=metric,
        metric_name=f"{metric} ({ideal})",
        metric_value=round(value, places),
        metric_args={
            "n": entry.score.n_valid,
            "n_documents": entry.score.n_documents,
            "ci95": [round(end, places) for end in interval],
            "signature": entry.score.signature,
        },
    )


def _record_of(entry: Published) -> dict[str, Any]:
    found = entry.score
    return {
        "evaluation_result_id": f"{found.task}/{entry.metric}",
        "evaluation_name": found.task,
        "source_data": _source_of(entry),
        "metric_config": {
            "evaluation_description": _MEANING[found.kind],
            "metric_id": f"lm_eval_bias.{entry.metric}",
            "metric_unit": "percent",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0,
            "max_score": 100,
        },
        "score_details": {
            "score": round(entry.value, 2),
            "details": {
                "p": f"{entry.share:.4f}",
                found.metric: f"{found.scale.from_share(entry.share):.4f}",
                "n_documents": str(found.n_documents),
                "n_tied": str(found.n_tied),
                "n_invalid": str(found.n_invalid),
                "signature": found.signature,
            },
            "uncertainty": {
                "confidence_interval": _interval_of(entry),
                "num_samples": found.n_valid,
            },
        },
    }


def _interval_of(entry: Published) -> dict[str, Any]:
    low, high = (round(end, 2) for end in entry.interval)
    method = "interval of p for answers in clusters (beta-binomial; Wilson score for independent answers), mapped"
    return {"lower": low, "upper": high, "confidence_level": 0.95, "method": method}


def _source_of(entry: Published) -> dict[str, Any]:
    details = {key: str(entry.data.metadata[key]) for key in ("data_revision", "data_file_sha256")}
    name, url = ("BanglaSocialBias", ARCHIVE_URL) if entry.is_bangla else ("RuBia", RUBIA_URL)
    return {"dataset_name": name, "source_type": "url", "url": [url], "additional_details": details}
