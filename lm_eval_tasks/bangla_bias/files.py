"""Where the Bangla files come from: the authors' archive, a local folder, or the data hub.

The official source is the archive `Data/Data.zip` of the authors' repository at a pinned commit, checked against its SHA-256
and against that of each file in it. `--metadata '{"bangla_source": "hub"}'` takes those of the data hub instead, at a pinned
revision. They are said to be the same, but a file there whose hash is not that of the archive is refused, as anywhere else,
unless the user names it (`data_sha256`). A local folder may hold the files as the archive unpacks or as the hub lays them out.
A file whose hash is known is the official one wherever it lies; the results record where it came from (`data_origin`,
`data_address`).
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pooch
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import EntryNotFoundError, RevisionNotFoundError

from lm_eval_tasks.data import (
    BANGLA_FOLDER,
    DATA_KEY,
    DATA_SHA256_KEY,
    DataError,
    Source,
    bangla_sample,
    checked,
    download,
    local_file,
    named_hashes,
    sha256_of,
    ways_out,
)

ARCHIVE_COMMIT = "afc162ddf3a7f74244d8606449ef2b3d8853d556"
ARCHIVE_URL = f"https://raw.githubusercontent.com/csebuetnlp/BanglaSocialBias/{ARCHIVE_COMMIT}/Data/Data.zip"
ARCHIVE_SHA256 = "3705a869cc5ccab0da286d3c6f20834c87efa5f1f7452dcf46dca89336bf7596"
HUB_REPOSITORY = "csebuetnlp/BanglaSocialBias"
HUB_REVISION = "a90401cf91865fd57b1cfc619533dd91fa556043"

SOURCE_KEY = "bangla_source"
SOURCES = ("archive", "hub")


class File(NamedTuple):
    """One file of prompts: its place in the archive and on the hub, and the SHA-256 of the archive's."""

    archived: str
    hub: str
    sha256: str

    @property
    def local(self) -> tuple[str, str]:
        """Its places below a local folder."""
        return f"{BANGLA_FOLDER}/Data/{self.archived}", f"{BANGLA_FOLDER}/{self.hub}"


FILES = {
    ("template", "gender"): File(
        "Template/gender_prompts.csv",
        "Prompts/template_gender_prompts.csv",
        "310a5a2d2526589cac7bdb91c7a90a1c550205abd24dbbd0bf05f2132354ecb2",
    ),
    ("template", "religion"): File(
        "Template/religion_prompts.csv",
        "Prompts/template_religion_prompts.csv",
        "e6dc780f1f747cf3fd91173d6a153cdcfc4e035ff17da6514005e4d6813e66a4",
    ),
    ("ebe", "gender"): File(
        "Naturally_Sourced/gender_prompts.csv",
        "Prompts/ebe_gender_prompts.csv",
        "4d1fb5db3088eee9b7eae7e240922c41e605a751df6391c2a02297349230df79",
    ),
    ("ebe", "religion"): File(
        "Naturally_Sourced/religion_prompts.csv",
        "Prompts/ebe_religion_prompts.csv",
        "98e950783bcec9e7e26b95f9ac87585b7572d63bb9df19ababfedc5d63a470b9",
    ),
}


def locate_bangla(metadata: dict[str, Any], source: str, kind: str, topic: str) -> Source:
    """One file of prompts: the shipped sample's where `source` is sample, else the one that the metadata names, else the
    environment's, else the archive's. Raises DataError."""
    file = FILES[kind, topic]
    if source == "sample":
        return bangla_sample(file.hub)
    chosen = metadata.get(SOURCE_KEY, SOURCES[0])
    if chosen not in SOURCES:
        raise DataError(f"metadata key '{SOURCE_KEY}' is {chosen!r}, expected {' or '.join(SOURCES)}.")
    accepted = named_hashes(metadata.get(DATA_SHA256_KEY)) | {file.sha256}
    if local := local_file(metadata.get(DATA_KEY), *file.local):
        return checked(local, file.sha256, accepted, ARCHIVE_COMMIT, "its line ends or the form of its letters")
    return _from_hub(file, accepted) if chosen == "hub" else _from_archive(file)


def _from_archive(file: File) -> Source:
    unpacked = f"BanglaSocialBias-{ARCHIVE_COMMIT[:12]}"
    for _ in range(2):  # an unpacked file may be half written, or changed since: it is unpacked once more
        unzip = pooch.Unzip(extract_dir=unpacked)
        path = _member(download(ARCHIVE_URL, ARCHIVE_SHA256, f"{unpacked}.zip", file.local[0], unzip), file)
        if sha256_of(path) == file.sha256:
            return Source(path, "official", ARCHIVE_COMMIT, file.sha256, ARCHIVE_URL)
        path.unlink()
    raise DataError(f"{path}, unpacked from {ARCHIVE_URL}, has not the SHA-256 {file.sha256}. Please report it.")


def _member(paths: Sequence[str], file: File) -> Path:
    """The file among those of the archive, below whatever folder they lie in there."""
    found = [Path(path) for path in paths if re.search(rf"(?:^|/){re.escape(file.archived)}$", Path(path).as_posix())]
    kept = [path for path in found if "__MACOSX" not in path.parts]
    if len(kept) != 1:
        raise DataError(f"{ARCHIVE_URL} holds {len(kept)} files {file.archived}, expected one. Please report it.")
    return kept[0]


def _from_hub(file: File, accepted: frozenset[str]) -> Source:
    where = f"{file.hub} of the hub dataset {HUB_REPOSITORY} at revision {HUB_REVISION}"
    try:
        path = Path(hf_hub_download(HUB_REPOSITORY, file.hub, repo_type="dataset", revision=HUB_REVISION))
    except RevisionNotFoundError as error:
        raise DataError(f"{where}: the hub knows no such revision. {ways_out(file.local[1])}") from error
    except EntryNotFoundError as error:
        raise DataError(f"{where}: not found, and not cached. {ways_out(file.local[1])}") from error
    except OSError as error:
        raise DataError(
            f"cannot download {where} ({type(error).__name__}), and it is not cached. {ways_out(file.local[1])}"
        ) from error
    digest = sha256_of(path)
    if digest not in accepted:
        raise DataError(
            f"{where} has SHA-256 {digest}, and the file of the authors' archive {file.sha256}: it may be an older draft. Drop "
            f"'{SOURCE_KEY}' to take the archive's, or, to measure on these rows on purpose, name them: "
            f'--metadata \'{{"{SOURCE_KEY}": "hub", "{DATA_SHA256_KEY}": "{digest}"}}\' (of several files, a list).'
        )
    revision = ARCHIVE_COMMIT if digest == file.sha256 else None
    return Source(path, "data hub", revision, digest, f"hf://datasets/{HUB_REPOSITORY}@{HUB_REVISION}/{file.hub}")
