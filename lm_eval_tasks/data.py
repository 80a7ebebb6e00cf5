"""Where rows come from.

One rule for every task (`locate_rubia`, and `locate_bangla` in `bangla_bias/files.py`):

1. a local folder, named by the task metadata key `data` (`--metadata '{"data": "DIR"}'`) or, where that is absent, by the
   environment variable `LM_EVAL_TASKS_DATA`, with the official file names below `rubia/` and `BanglaSocialBias/`;
2. else the official file at a pinned revision, downloaded once and cached.

There is no third way and no fallback: the shipped sample has task names of its own, so that no number measured on it can
be taken for a published one. A file whose SHA-256 is not an official one is refused, wherever it came from; whoever means to
measure on other rows says so by naming their hash, or the hashes of several files (`--metadata '{"data_sha256": "..."}'` or
`["...", "..."]`). The results record the hash of every file.
"""

import hashlib
import logging
import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pooch
import requests

RUBIA_COMMIT = "eaab66eae197c2bc22152eb051f8b526dcb7cef8"
RUBIA_URL = f"https://raw.githubusercontent.com/vergrig/RuBia-Dataset/{RUBIA_COMMIT}/rubia.tsv"
RUBIA_SHA256 = "a2daa5f1c5745214ca377b8971938e6be7e6f409b443a881670f9566a456c373"
RUBIA_FILE = "rubia/rubia.tsv"
RUBIA_CACHED = f"rubia-{RUBIA_COMMIT[:12]}.tsv"

BANGLA_FOLDER = "BanglaSocialBias"

DATA_VARIABLE = "LM_EVAL_TASKS_DATA"
DATA_KEY = "data"
DATA_SHA256_KEY = "data_sha256"
_HERE = Path(__file__).resolve().parent

logging.getLogger("pooch").setLevel(logging.WARNING)


class DataError(ValueError):
    """Rows that cannot be had or cannot be used; the message says where, what was found and what to do next."""


@dataclass(frozen=True)
class Source:
    """A file whose bytes are known: `origin` is `official`, `data hub`, `local folder` or `sample`.

    `revision` is the commit of the official file with this hash, and None for any other; `address` is where it was downloaded
    from, and None for a file that was not.
    """

    path: Path
    origin: str
    revision: str | None
    sha256: str
    address: str | None = None

    def record(self) -> dict[str, str | None]:
        """What a results file says of it."""
        return {
            "data_origin": self.origin,
            "data_revision": self.revision,
            "data_address": self.address,
            "data_file_sha256": self.sha256,
        }


def cache_folder() -> Path:
    """Folder of downloaded files (`LM_EVAL_BIAS_CACHE`, where it is not empty, overrides the platform's own cache folder)."""
    return Path(os.environ.get("LM_EVAL_BIAS_CACHE") or pooch.os_cache("lm-eval-bias")).expanduser()


def locate_rubia(folder: str | None = None, named: str | Sequence[str] | None = None) -> Source:
    """The RuBia file, from `folder`, else from LM_EVAL_TASKS_DATA, else from its pinned official address.

    `named` are hashes of the user's own files, which are taken from a local folder as the official one is. Raises DataError.
    """
    accepted = named_hashes(named) | {RUBIA_SHA256}
    if local := local_file(folder, RUBIA_FILE):
        return checked(local, RUBIA_SHA256, accepted, RUBIA_COMMIT, "its line ends, which are CRLF")
    if own := sorted(accepted - {RUBIA_SHA256}):
        raise DataError(
            f"'{DATA_SHA256_KEY}' names {', '.join(own)}, which is not the official RuBia file, and no folder is given. "
            f'Name the folder with your rows as well: --metadata \'{{"{DATA_KEY}": "DIR"}}\'.'
        )
    path = download(RUBIA_URL, RUBIA_SHA256, RUBIA_CACHED, RUBIA_FILE)
    return Source(path, "official", RUBIA_COMMIT, RUBIA_SHA256, RUBIA_URL)


def named_hashes(named: str | Sequence[str] | None) -> frozenset[str]:
    """The hashes that the metadata key `data_sha256` names: one, or a list. Raises DataError."""
    found: list[Any] = list(named) if isinstance(named, list | tuple) else [] if named is None else [named]
    for one in found:
        if not isinstance(one, str) or not re.fullmatch(r"[0-9a-fA-F]{64}", one):
            raise DataError(
                f"metadata key '{DATA_SHA256_KEY}' holds {one!r}, expected a SHA-256 hash of 64 hexadecimal digits, or a list."
            )
    return frozenset(one.lower() for one in found)


def rubia_sample() -> Source:
    """The Russian sample that ships with the package."""
    return _sample(_HERE / "rubia/sample/rubia.tsv")


def bangla_sample(name: str) -> Source:
    """One file of the Bangla sample that ships with the package, under the official name."""
    return _sample(_HERE / "bangla_bias/sample" / name)


def _sample(path: Path) -> Source:
    return Source(path, "sample", None, sha256_of(path))


def local_file(folder: str | None, *names: str) -> Path | None:
    """The file below the chosen folder, under the first of `names` that is there; None where no folder is chosen.

    Raises DataError where the folder holds none of them.
    """
    named_by = f"metadata key '{DATA_KEY}'" if folder else f"environment variable {DATA_VARIABLE}"
    if not (chosen := folder or os.environ.get(DATA_VARIABLE)):
        return None
    root = Path(chosen).expanduser()
    for name in names:
        if (root / name).is_file():
            return root / name
    found = ", ".join(sorted(entry.name for entry in root.iterdir())[:12]) if root.is_dir() else "no such folder"
    raise DataError(
        f"{root / names[0]} does not exist ({named_by} names {root}, which holds: {found or 'nothing'}). "
        f"Put the official file there as {' or '.join(names)}, or drop the setting to download it."
    )


def checked(path: Path, official: str, accepted: Collection[str], commit: str, spoilt: str) -> Source:
    """A local file whose hash is the official one or another accepted one; raises DataError for any other.

    `spoilt` says what an editor may have changed.
    """
    digest = sha256_of(path)
    if digest not in accepted:
        raise DataError(
            f"{path} has SHA-256 {digest}, expected {official}. It is not the official file of commit {commit[:12]} "
            f"(an editor or git may have changed {spoilt}). Restore it, or, to measure on these rows "
            f'on purpose, name them: --metadata \'{{"{DATA_SHA256_KEY}": "{digest}"}}\' (of several files, a list).'
        )
    return Source(path, "local folder", commit if digest == official else None, digest)


def ways_out(name: str) -> str:
    """What to do where a file cannot be had; `name` is its place below a local folder."""
    sample = "bangla_bias_sample" if name.startswith(BANGLA_FOLDER) else "rubia_sample"
    return (
        "Three ways out: run once with a connection, so that it is cached; or get the file yourself and name its folder, "
        f'--metadata \'{{"{DATA_KEY}": "DIR"}}\' or {DATA_VARIABLE}=DIR with DIR/{name}; '
        f"or try the shipped sample, --tasks {sample}."
    )


def download(url: str, sha256: str, file: str, name: str, processor: Callable[..., Any] | None = None) -> Any:
    """The file at `url` with this hash, cached as `file`: its path, or what `processor` makes of it. Raises DataError.

    `name` is the place below a local folder that can stand in for it.
    """
    cached = cache_folder() / file
    try:
        found = pooch.retrieve(url, known_hash=f"sha256:{sha256}", fname=file, path=cache_folder(), processor=processor)
        _let_all_read(cached)
    except PermissionError as error:
        raise DataError(
            f"{cached} is there or could be written, but not by this user ({error}). Ask its owner to let all read it, "
            f"or name a cache of your own: LM_EVAL_BIAS_CACHE=DIR."
        ) from error
    except (requests.RequestException, OSError) as error:
        raise DataError(
            f"cannot download {url} ({type(error).__name__}), and it is not cached in {cache_folder()}. {ways_out(name)}"
        ) from error
    except ValueError as error:
        raise DataError(
            f"{url} gave a file with another SHA-256 than {sha256}: {error} Nothing was kept. A proxy may have answered "
            "in its place; try again, or get the official file yourself and name its folder, "
            f'--metadata \'{{"{DATA_KEY}": "DIR"}}\'.'
        ) from error
    return Path(found) if processor is None else found


def _let_all_read(path: Path) -> None:
    """A download is made with rights for its owner alone, and a cache may be shared."""
    if path.stat().st_uid == getattr(os, "geteuid", lambda: None)():  # Windows has no such rights
        path.chmod(path.stat().st_mode | 0o044)


def sha256_of(path: Path) -> str:
    """SHA-256 of the bytes of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
