"""`--use_cache` that belongs to one model and its settings.

The harness keys a cached answer by the request alone, so that a second model, or the same path with new weights, gets the
first one's answers. Here the name of the cache file holds a digest of what the answers depend on: backend, model arguments,
generation settings, version of the harness, and the checkpoint itself: every small file by its content, a large one by size,
time and both ends; of a hub model the commit. Of a model behind a server only its name and address are known.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lm_eval_tasks.redaction import without_secrets

# Model arguments that say how, how often and by whom is asked, and not what.
_NO_DIFFERENCE = frozenset(
    {"num_concurrent", "timeout", "max_retries", "batch_size", "max_batch_size", "verify_certificate", "ca_cert_path", "header"}
)
_NAMES = ("pretrained", "model", "path", "tokenizer", "peft", "delta")
_SMALL = 1 << 20  # bytes; larger files are not read whole


def cache_name(cache_db: str, model: Any, model_args: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """`cache_db`, the harness's NAME_rankN.db, with the digest of the model and its settings in the name."""
    stem, rank = cache_db.rsplit("_rank", 1)
    known = {
        "model": str(model),
        "model_args": {key: value for key, value in without_secrets(dict(model_args)).items() if key not in _NO_DIFFERENCE},
        "checkpoints": {
            key: _checkpoint(model_args[key], model_args) for key in _NAMES if isinstance(model_args.get(key), str)
        },
        "settings": dict(settings),
    }
    text = json.dumps(known, sort_keys=True, ensure_ascii=True, default=str)
    return f"{stem}-{hashlib.sha256(text.encode()).hexdigest()[:16]}_rank{rank}"


def _checkpoint(name: str, model_args: Mapping[str, Any]) -> Any:
    path = Path(name).expanduser()
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        return [[file.relative_to(path).as_posix(), _fingerprint(file)] for file in files if not _hidden(file, path)]
    return _fingerprint(path) if path.is_file() else _hub_commit(name, model_args)


def _hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _fingerprint(file: Path) -> list[Any]:
    status = file.stat()
    with file.open("rb") as stream:
        digest = hashlib.sha256(stream.read(_SMALL))
        if status.st_size <= _SMALL:
            return [status.st_size, digest.hexdigest()]
        stream.seek(-_SMALL, 2)
        digest.update(stream.read())
    return [status.st_size, status.st_mtime_ns, digest.hexdigest()]


def _hub_commit(name: str, model_args: Mapping[str, Any]) -> str | None:
    """Commit of a hub model that has been loaded, or None where the cache does not hold one."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    revision = model_args.get("revision")
    for file in ("config.json", "tokenizer_config.json", "adapter_config.json"):
        try:
            found = try_to_load_from_cache(name, file, revision=None if revision is None else str(revision))
        except HFValidationError:
            return None
        if isinstance(found, str):
            return Path(found).parent.name
    return None
