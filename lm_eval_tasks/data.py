"""Where rows come from.

One rule for every task (`locate_rubia`, `locate_bangla`):

1. a local folder, named by the task metadata key `data` (`--metadata '{"data": "DIR"}'`) or, where that is absent, by the
   environment variable `LM_EVAL_TASKS_DATA`, with the official file names below `rubia/` and `BanglaSocialBias/`;
2. else the official file at a pinned revision, downloaded once and cached. RuBia's is checked against its SHA-256.

There is no third way and no fallback: the shipped sample has task names of its own, so that no number measured on it can
be taken for a published one. A RuBia file whose SHA-256 is not the expected one is refused, wherever it came from; whoever
means to measure on other rows says so by naming their hash (`--metadata '{"data_sha256": "..."}'`). The results record the
hash of every file.
"""

import hashlib
import logging
import os
from dataclasses import dataclass
from pathlib import Path

import pooch
import requests
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import EntryNotFoundError, RevisionNotFoundError

RUBIA_COMMIT = "eaab66eae197c2bc22152eb051f8b526dcb7cef8"
RUBIA_URL = f"https://raw.githubusercontent.com/vergrig/RuBia-Dataset/{RUBIA_COMMIT}/rubia.tsv"
RUBIA_SHA256 = "a2daa5f1c5745214ca377b8971938e6be7e6f409b443a881670f9566a456c373"
RUBIA_FILE = "rubia/rubia.tsv"

BANGLA_REPOSITORY = "csebuetnlp/BanglaSocialBias"
BANGLA_REVISION = "a90401cf91865fd57b1cfc619533dd91fa556043"
BANGLA_FOLDER = "BanglaSocialBias"

DATA_VARIABLE = "LM_EVAL_TASKS_DATA"
DATA_KEY = "data"
DATA_SHA256_KEY = "data_sha256"
SAMPLE_FOLDER = Path(__file__).resolve().parent / "sample"

logging.getLogger("pooch").setLevel(logging.WARNING)


class DataError(ValueError):
    """Rows that cannot be had or cannot be used; the message says where, what was found and what to do next."""


@dataclass(frozen=True)
class Source:
    """A file whose bytes are known: `origin` is `official`, `local folder` or `sample`, `revision` a commit or None."""

    path: Path
    origin: str
    revision: str | None
    sha256: str


def cache_folder() -> Path:
    """Folder of downloaded files (`LM_EVAL_BIAS_CACHE` overrides the platform's own cache folder)."""
    return Path(pooch.os_cache("lm-eval-bias") if (chosen := os.environ.get("LM_EVAL_BIAS_CACHE")) is None else chosen)


def locate_rubia(folder: str | None = None, sha256: str | None = None) -> Source:
    """The RuBia file, from `folder`, else from LM_EVAL_TASKS_DATA, else from its pinned official address.

    `sha256` replaces the official hash for a local file with other rows. Raises DataError.
    """
    expected = (sha256 or RUBIA_SHA256).lower()
    if local := _local_file(folder, RUBIA_FILE):
        return _checked(local, expected)
    if expected != RUBIA_SHA256:
        raise DataError(
            f"'{DATA_SHA256_KEY}' names {expected}, which is not the official RuBia file, and no folder is given. "
            f'Name the folder with your rows as well: --metadata \'{{"{DATA_KEY}": "DIR"}}\'.'
        )
    return _download(RUBIA_URL, RUBIA_SHA256, f"rubia-{RUBIA_COMMIT[:12]}.tsv")


def locate_bangla(name: str, folder: str | None = None) -> Source:
    """One of the official Bangla files, `name` such as `Prompts/ebe_gender_prompts.csv`: from `folder`, else from
    LM_EVAL_TASKS_DATA, else from the data hub at the pinned revision. Raises DataError."""
    if local := _local_file(folder, f"{BANGLA_FOLDER}/{name}"):
        return Source(local, "local folder", None, _sha256(local))
    where = f"{name} of the hub dataset {BANGLA_REPOSITORY} at revision {BANGLA_REVISION}"
    try:
        path = Path(hf_hub_download(BANGLA_REPOSITORY, name, repo_type="dataset", revision=BANGLA_REVISION))
    except RevisionNotFoundError as error:
        raise DataError(f"{where}: the hub knows no such revision. {_ways_out(BANGLA_FOLDER + '/' + name)}") from error
    except EntryNotFoundError as error:
        raise DataError(f"{where}: not found, and not cached. {_ways_out(BANGLA_FOLDER + '/' + name)}") from error
    except OSError as error:
        raise DataError(
            f"cannot download {where} ({type(error).__name__}), and it is not cached. {_ways_out(BANGLA_FOLDER + '/' + name)}"
        ) from error
    return Source(path, "official", BANGLA_REVISION, _sha256(path))


def rubia_sample() -> Source:
    """The Russian sample that ships with the package."""
    return _sample("rubia.tsv")


def bangla_sample(name: str) -> Source:
    """One file of the Bangla sample that ships with the package, under the official name."""
    return _sample(f"{BANGLA_FOLDER}/{name}")


def _sample(name: str) -> Source:
    path = SAMPLE_FOLDER / name
    return Source(path, "sample", None, _sha256(path))


def _local_file(folder: str | None, name: str) -> Path | None:
    """The file below the chosen folder, None where no folder is chosen; raises DataError where the folder lacks it."""
    named_by = f"metadata key '{DATA_KEY}'" if folder else f"environment variable {DATA_VARIABLE}"
    if not (chosen := folder or os.environ.get(DATA_VARIABLE)):
        return None
    root = Path(chosen).expanduser()
    path = root / name
    if path.is_file():
        return path
    found = ", ".join(sorted(entry.name for entry in root.iterdir())[:12]) if root.is_dir() else "no such folder"
    raise DataError(
        f"{path} does not exist ({named_by} names {root}, which holds: {found or 'nothing'}). "
        f"Put the official file there as {name}, or drop the setting to download it."
    )


def _checked(path: Path, expected: str) -> Source:
    digest = _sha256(path)
    if digest != expected:
        raise DataError(
            f"{path} has SHA-256 {digest}, expected {expected}. It is not the official file of commit {RUBIA_COMMIT[:12]} "
            "(an editor or git may have changed its line ends, which are CRLF). Restore it, or, to measure on these rows "
            f'on purpose, name them: --metadata \'{{"{DATA_SHA256_KEY}": "{digest}"}}\'.'
        )
    return Source(path, "local folder", RUBIA_COMMIT if digest == RUBIA_SHA256 else None, digest)


def _ways_out(name: str) -> str:
    sample = "bangla_bias_sample" if name.startswith(BANGLA_FOLDER) else "rubia_sample"
    return (
        "Three ways out: run once with a connection, so that it is cached; or get the file yourself and name its folder, "
        f'--metadata \'{{"{DATA_KEY}": "DIR"}}\' or {DATA_VARIABLE}=DIR with DIR/{name}; '
        f"or try the shipped sample, --tasks {sample}."
    )


def _download(url: str, sha256: str, name: str) -> Source:
    try:
        path = pooch.retrieve(url, known_hash=f"sha256:{sha256}", fname=name, path=cache_folder())
    except (requests.RequestException, OSError) as error:
        raise DataError(
            f"cannot download {url} ({type(error).__name__}), and it is not cached in {cache_folder()}. {_ways_out(RUBIA_FILE)}"
        ) from error
    except ValueError as error:
        raise DataError(
            f"{url} gave a file with another SHA-256 than {sha256}: {error} Nothing was kept. A proxy may have answered "
            "in its place; try again, or get the official file yourself and name its folder, "
            f'--metadata \'{{"{DATA_KEY}": "DIR"}}\'.'
        ) from error
    return Source(Path(path), "official", RUBIA_COMMIT, sha256)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
