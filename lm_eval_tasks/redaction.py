"""What must never be written: tokens, keys and passwords among the arguments of a run.

A value is a secret where the name it goes by says so (`NAMES`, `SUFFIXES`), or where the text looks like a key of a known
maker (`KEY_PATTERN`), under any name and at any depth. Names say nothing of numbers and booleans: `token=True` of a hub
client is no token.
"""

import re
from collections.abc import Mapping
from typing import Any

REMOVED = "[removed: secret]"

# Compared in lower case, with `-` as `_`. Names such as `tokenizer` or `prefix_token_id` are none of these.
NAMES = frozenset(
    {
        "access_key",
        "access_token",
        "api_key",
        "api_token",
        "apikey",
        "auth",
        "auth_token",
        "authorization",
        "bearer",
        "bearer_token",
        "client_secret",
        "cookie",
        "credentials",
        "github_token",
        "hf_token",
        "hub_token",
        "key",
        "passphrase",
        "passwd",
        "password",
        "private_key",
        "proxy_authorization",
        "pwd",
        "secret",
        "secret_key",
        "set_cookie",
        "token",
        "use_auth_token",
        "x_api_key",
    }
)
SUFFIXES = (
    "_access_key",
    "_access_token",
    "_api_key",
    "_apikey",
    "_auth_token",
    "_credentials",
    "_hf_token",
    "_passwd",
    "_password",
    "_secret",
    "_secret_key",
)

# Keys of model hubs, model APIs, code hosts and clouds; web tokens; headers; user and password of an address.
KEY_PATTERN = re.compile(
    r"""(?<![\w/.-])(?:
        hf_(?=[A-Za-z0-9]*[0-9])[A-Za-z0-9]{8,} | hf_[A-Za-z0-9]{20,}
      | sk-(?=[\w-]*[0-9])[\w-]{16,} | sk-[A-Za-z0-9]{20,}
      | (?:gsk|xai|ghp|gho|ghs|github_pat|glpat|nvapi|xox[abprs]|pk|rk)[-_](?=[\w-]*[0-9])[\w-]{16,}
      | A[KS]IA[0-9A-Z]{16} | AIza[\w-]{30,}
      | eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*
    )
    | (?<![A-Za-z])(?i:bearer|basic)\s+[\w.~+/=-]{6,}
    | (?<=://)[^/\s:@]*:[^/\s@]+(?=@)
    | (?<=[?&])(?i:[\w-]*(?:key|token|secret|password|signature))=[^&\s]+
    """,
    re.VERBOSE,
)


def without_secrets(value: Any, name: str = "") -> Any:
    """`value` with every secret in it replaced by `REMOVED`; mappings, lists and tuples are searched, the rest is kept."""
    if isinstance(value, Mapping):
        return {key: without_secrets(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(without_secrets(item, name) for item in value) if type(value) in (list, tuple) else value
    if not isinstance(value, str | bytes) or not value:
        return value
    if _names_a_secret(name):
        return REMOVED
    return value if isinstance(value, bytes) else KEY_PATTERN.sub(REMOVED, value)


def secret_arguments(arguments: Mapping[str, Any]) -> list[str]:
    """Names of the arguments that are, or hold, a secret, in their order."""
    return [name for name, value in arguments.items() if without_secrets(value, name) != value]


def _names_a_secret(name: str) -> bool:
    plain = name.lower().replace("-", "_")
    return plain in NAMES or plain.endswith(SUFFIXES)
