"""Scores of one run in the forms that leaderboards and model cards take; `publish_choice` says what goes out."""

import json
from collections.abc import Sequence
from typing import Any

import yaml
from huggingface_hub import EvalResult, ModelCardData

from lm_eval_tasks.bangla_bias.files import ARCHIVE_URL, HUB_REPOSITORY
from lm_eval_tasks.data import RUBIA_URL
from lm_eval_tasks.metrics.runs.results import Run
from lm_eval_tasks.metrics.statistics.intervals import Interval
from lm_eval_tasks.scripts.export.choice import MEANING, Published
from lm_eval_tasks.scripts.export.tables import iso_date
from lm_eval_tasks.scripts.shared.safe_text import one_line

EVERY_EVAL_EVER_SCHEMA = "0.3.0"
_LOCAL_BACKENDS = ("hf", "hf-mlm", "vllm")


def model_index(entries: Sequence[Published], model: str) -> str:
    """Metadata of a model card (YAML): the raw scores and their parity, with n and ci95 in the arguments of each metric."""
    results = [result for entry in entries for result in _card_results(entry)]
    return str(ModelCardData(model_name=one_line(model), eval_results=results).to_yaml()) + "\n"


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
    model = one_line(model)
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
            "n_tied": entry.score.n_tied,
            "n_invalid": entry.score.n_invalid,
            **({} if entry.fair is None else {"parity_of_a_fair_model": round(entry.fair, 2)}),
            "ci95": [round(end, places) for end in interval],
            **_clean(entry),
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
            "evaluation_description": MEANING[found.kind],
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
                "n_both": str(found.n_both),
                "n_invalid": str(found.n_invalid),
                **{key: str(value) for key, value in _clean(entry).items()},
                **({} if entry.fair is None else {"parity_of_a_fair_model": f"{entry.fair:.2f}"}),
                "signature": found.signature,
            },
            "uncertainty": {
                "confidence_interval": _interval_of(entry),
                "num_samples": found.n_valid,
            },
        },
    }


def _clean(entry: Published) -> dict[str, float | int | str]:
    """The score without the rows that are artefacts of the data, and its number of answers; nothing where a task has none."""
    if entry.clean is None:
        return {}
    value = "undefined" if entry.clean.value is None else round(entry.clean.value, 4)
    return {"bias_score_clean": value, "n_clean": entry.clean.n_valid}


def _interval_of(entry: Published) -> dict[str, Any]:
    low, high = (round(end, 2) for end in entry.interval)
    method = "interval of p for answers in clusters (beta-binomial; Wilson score for independent answers), mapped"
    return {"lower": low, "upper": high, "confidence_level": 0.95, "method": method}


def _source_of(entry: Published) -> dict[str, Any]:
    details = {key: str(entry.data.metadata[key]) for key in ("data_revision", "data_file_sha256")}
    name, url = ("BanglaSocialBias", ARCHIVE_URL) if entry.is_bangla else ("RuBia", RUBIA_URL)
    return {"dataset_name": name, "source_type": "url", "url": [url], "additional_details": details}
