"""Pairs on the harness's `hf` are summed in float32 unless the user says otherwise.

The harness takes log-probabilities in the model's own type, and in bfloat16 a sum of 100 nats is right to half a nat. The
model itself stays as it is; only the log-probabilities of one batch are held in float32. Tasks that ask for text do not use
them, and get the setting all the same: goes of one model with different arguments would not count as one run.
"""

from typing import Any

from lm_eval_tasks.metrics.runs.precision import SOFTMAX

# The names under which the harness registers that backend; its command line takes the first where none is given.
HF = ("hf", "hf-auto", "huggingface")
TYPE = "float32"


def set_in(chosen: Any) -> None:
    """Set it in the parsed arguments of the command line, over those of the file that `--config` names."""
    from lm_eval.config.evaluate_config import EvaluatorConfig

    file = EvaluatorConfig.load_yaml_config(chosen.config) if getattr(chosen, "config", None) else {}
    model, given = (getattr(chosen, name, None) or file.get(name) for name in ("model", "model_args"))
    wanted = summed_in_float32(model, given)
    if wanted != given:
        chosen.model_args = wanted


def summed_in_float32(model: Any, model_args: Any) -> Any:
    """Model arguments (a mapping, text, or None) with `softmax_dtype=float32` where the backend is `hf` and none is named."""
    if (model or HF[0]) not in HF:
        return model_args
    if isinstance(model_args, str):
        names = [part.partition("=")[0].strip() for part in model_args.split(",")]
        return model_args if SOFTMAX in names else ",".join(filter(None, (model_args, f"{SOFTMAX}={TYPE}")))
    return {SOFTMAX: TYPE} | dict(model_args or {})
