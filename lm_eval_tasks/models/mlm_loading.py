"""Loads a masked language model and refuses, before any sentence is scored, what is not one or has no trained head."""

import logging
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForMaskedLM, AutoTokenizer, PretrainedConfig, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING, MODEL_FOR_MASKED_LM_MAPPING_NAMES

log = logging.getLogger(__name__)

_UNSET_LENGTH = 10**6  # tokenizers write "no limit" as a huge number
_LENGTH_ATTRIBUTES = ("max_position_embeddings", "n_positions", "n_ctx")


def load_model(
    pretrained: str,
    *,
    dtype: str | torch.dtype | None,
    peft: str | None,
    source: dict[str, Any],
    options: dict[str, Any],
) -> PreTrainedModel:
    """The model in evaluation mode; ValueError where it is of another kind or part of it would be newly initialised.

    `source` is what configuration, tokenizer and weights share (revision, trust_remote_code, subfolder).
    """
    config = AutoConfig.from_pretrained(pretrained, **source)
    refuse_other_kinds(config, pretrained)
    dtype = getattr(torch, dtype) if isinstance(dtype, str) and dtype != "auto" else dtype
    model, info = AutoModelForMaskedLM.from_pretrained(pretrained, dtype=dtype, output_loading_info=True, **source, **options)
    if missing := sorted(info["missing_keys"]):
        shown = ", ".join(missing[:6]) + (f" and {len(missing) - 6} more" if len(missing) > 6 else "")
        raise ValueError(
            f"{pretrained} has no complete masked-LM head: {type(model).__name__} needs weights that the "
            f"checkpoint lacks ({shown}). They would be random, and so would every score. Use the checkpoint that "
            "was trained with masking (for ELECTRA the generator)."
        )
    if peft:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, peft).merge_and_unload()
    return model.eval()


def load_tokenizer(tokenizer: Any, pretrained: str | PreTrainedModel, *, use_fast: bool, source: dict[str, Any]) -> Any:
    """The tokenizer given, by object or by name, or else the model's own."""
    if tokenizer is not None and not isinstance(tokenizer, str):
        return tokenizer
    name = tokenizer or (pretrained if isinstance(pretrained, str) else pretrained.name_or_path)
    if not name:
        raise ValueError("a model given as an object without a name needs its tokenizer: tokenizer=...")
    return AutoTokenizer.from_pretrained(name, use_fast=use_fast, **source)


def refuse_other_kinds(config: PretrainedConfig, name: str) -> None:
    """Raise ValueError for encoder-decoder and causal models."""
    kind = config.model_type
    if getattr(config, "is_encoder_decoder", False):
        raise ValueError(
            f"{name} is an encoder-decoder (seq2seq) model ({kind}); hf-mlm scores encoders with a masked-LM head, and "
            "no pseudo-log-likelihood is defined here for this one."
        )
    architectures = getattr(config, "architectures", None) or []
    causal = getattr(config, "is_decoder", False) or getattr(config, "causal", False)
    remote = "AutoModelForMaskedLM" in (getattr(config, "auto_map", None) or {})
    known = kind in MODEL_FOR_MASKED_LM_MAPPING_NAMES or remote
    if causal or not known or any(architecture.endswith("ForCausalLM") for architecture in architectures):
        raise ValueError(
            f"{name} is not a masked language model (model type {kind}, architecture "
            f"{', '.join(architectures) or 'unknown'}). Score a causal model with --model hf."
        )


def refuse_without_head(model: Any) -> None:
    """Raise ValueError where a model object has no masked-LM head."""
    known = tuple(MODEL_FOR_MASKED_LM_MAPPING.values())
    if not isinstance(model, known) and "MaskedLM" not in type(model).__name__:
        raise ValueError(
            f"{type(model).__name__} has no masked-LM head. Load it with AutoModelForMaskedLM.from_pretrained, or give "
            "its name: pretrained=NAME."
        )


def length_limit(model: Any, tokenizer: Any, max_length: int | None) -> int:
    """Longest sequence that the model takes, in tokens; ValueError where `max_length` is more than that."""
    limit = _position_limit(model)
    if limit is None:
        said = getattr(tokenizer, "model_max_length", None)
        limit = int(said) if said and said < _UNSET_LENGTH else None
    if max_length is None:
        return limit if limit is not None else _UNSET_LENGTH
    if limit is not None and max_length > limit:
        raise ValueError(f"max_length={max_length} is more than the {limit} tokens that the model takes")
    return max_length


def _position_limit(model: Any) -> int | None:
    stated = [getattr(model.config, name, None) for name in _LENGTH_ATTRIBUTES]
    limits = [int(value) for value in stated if isinstance(value, int) and value > 0][:1]
    for name, module in model.named_modules():
        # RoBERTa and its kin number positions from padding_idx + 1, so 514 rows hold 512 tokens.
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            offset = 0 if module.padding_idx is None else module.padding_idx + 1
            if limits and module.num_embeddings == limits[0]:
                limits.append(module.num_embeddings - offset)
    return min(limits, default=None)
