"""What a task can learn of the model under test: the harness merges `--model_args` and `--metadata` into its metadata."""

import logging
import sys
from functools import lru_cache
from typing import Any

from transformers import AutoConfig, AutoTokenizer
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

from lm_eval_tasks.data import DataError

log = logging.getLogger(__name__)

_LENGTH_KEYS = ("max_length", "max_model_len")
_LENGTH_ATTRIBUTES = ("n_positions", "max_position_embeddings", "n_ctx")


def load_tokenizer(metadata: dict[str, Any]) -> Any:
    """The model's tokenizer, made as the harness makes it; raises DataError that names the way out."""
    named = metadata.get("tokenizer") or metadata.get("pretrained") or metadata.get("model")
    if named is not None and not isinstance(named, str):
        return named if callable(getattr(named, "encode", None)) else load_tokenizer({"tokenizer": named.name_or_path})
    way_out = 'Name a folder or hub name that holds the model\'s tokenizer: --metadata \'{"tokenizer": "NAME"}\'.'
    if not named:
        raise DataError(
            "RuBia counts the model's tokens and needs its tokenizer, but the run names none (no pretrained=, tokenizer= or "
            f"model= among the model arguments). {way_out}"
        )
    try:
        return _tokenizer(named, _hashable(_tokenizer_options(metadata)))
    except Exception as error:  # whatever a remote or broken tokenizer raises, the way out is the same
        first_line = str(error).strip().partition("\n")[0]
        raise DataError(f"cannot load a tokenizer from {named!r} ({type(error).__name__}: {first_line}) {way_out}") from error


def prefix_key(metadata: dict[str, Any]) -> str:
    """The harness's name for the model argument that sets the prefix token: API backends have another one."""
    return "custom_prefix_token_id" if _is_api(metadata) else "prefix_token_id"


def check_api(metadata: dict[str, Any]) -> None:
    """Raise DataError where an API backend would send text: the server would tokenize it its own way, and shift the scores."""
    as_text = metadata.get("tokenized_requests") is False or metadata.get("tokenizer_backend", "") in (None, "None", "none")
    if _is_api(metadata) and as_text:
        raise DataError(
            "the run sends text to the API instead of tokens (tokenized_requests=False or tokenizer_backend=None); a server "
            "that adds a BOS of its own would shift which tokens are scored. Leave both arguments out, and name the model's "
            "tokenizer: tokenizer=NAME."
        )


def _is_api(metadata: dict[str, Any]) -> bool:
    return "pretrained" not in metadata and ("base_url" in metadata or "model" in metadata)


def load_config(metadata: dict[str, Any]) -> Any | None:
    """The model's configuration, or None where the run names no checkpoint that transformers can read."""
    pretrained = metadata.get("pretrained")
    if pretrained is not None and not isinstance(pretrained, str):
        return pretrained.config
    if pretrained is None or metadata.get("gguf_file"):
        return None
    options = {key: metadata[key] for key in ("revision", "trust_remote_code", "subfolder") if metadata.get(key)}
    try:
        return AutoConfig.from_pretrained(pretrained, **options)
    except (OSError, ValueError) as error:
        log.warning("Cannot read the configuration of %s (%s): its architecture is not checked.", pretrained, error)
        return None


def check_architecture(metadata: dict[str, Any], config: Any | None) -> bool:
    """Whether the model is a masked one held by `hf-mlm`; raises DataError for models that no causal backend can score."""
    if _held_by_masked_backend(metadata.get("pretrained")):
        return True
    if config is None:
        return False
    name = metadata.get("pretrained") if isinstance(metadata.get("pretrained"), str) else type(config).__name__
    if getattr(config, "is_encoder_decoder", False):
        raise DataError(
            f"{name} is an encoder-decoder model ({config.model_type}); RuBia scores whole sentences with decoder-only models "
            "(--model hf, vllm) or masked models (--model hf-mlm)."
        )
    if not _is_masked(config):
        return False
    raise DataError(
        f"{name} is a masked language model ({config.model_type}); a causal backend would accept it and return meaningless "
        "numbers. Use the backend for masked models: lm-eval-bias run --model hf-mlm --model_args pretrained=..."
    )


def max_tokens(metadata: dict[str, Any], config: Any | None) -> int | None:
    """Longest sequence that the model takes, in tokens, or None where the run does not say."""
    for key in _LENGTH_KEYS:
        if metadata.get(key):
            return int(metadata[key])
    text_config = getattr(config, "text_config", None) or config
    found = (getattr(text_config, name, None) for name in _LENGTH_ATTRIBUTES)
    return next((value for value in found if isinstance(value, int)), None)


def _is_masked(config: Any) -> bool:
    architectures = getattr(config, "architectures", None) or []
    if config.model_type in ("xlm", "flaubert"):  # one class for both kinds
        return not getattr(config, "causal", False)
    if any(name.endswith(("ForCausalLM", "LMHeadModel")) for name in architectures):
        return False
    return config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES and not getattr(config, "is_decoder", False)


def _held_by_masked_backend(pretrained: Any) -> bool:
    # Looked up, not imported: whoever runs `hf-mlm` has imported it already, and nobody else needs it.
    backend = sys.modules.get("lm_eval_tasks.models.masked_lm")
    return backend is not None and backend.is_live(pretrained)


def _tokenizer_options(metadata: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if revision := metadata.get("tokenizer_revision") or metadata.get("revision"):
        options["revision"] = str(revision)
    for key in ("trust_remote_code", "subfolder"):
        if metadata.get(key):
            options[key] = metadata[key]
    if metadata.get("add_bos_token") is not None:
        options["add_bos_token"] = metadata["add_bos_token"]
    if metadata.get("gguf_file") and not metadata.get("tokenizer"):
        options["gguf_file"] = metadata["gguf_file"]
    else:
        options["use_fast"] = metadata.get("use_fast_tokenizer", True)
    return options


def _hashable(options: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(options.items()))


@lru_cache(maxsize=4)
def _tokenizer(name: str, options: tuple[tuple[str, Any], ...]) -> Any:
    return AutoTokenizer.from_pretrained(name, **dict(options))
