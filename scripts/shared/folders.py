"""Results folders that a user names: one that is not there is a mistake of usage (exit code 2), not of evidence (5)."""

from pathlib import Path


class FolderError(ValueError):
    """A path that is no folder; the message says which and what to give."""


def existing_folder(path: Path) -> Path:
    """`path`, if it is a folder. Raises FolderError."""
    if path.is_dir():
        return path
    found = "is a file" if path.exists() else "does not exist"
    raise FolderError(f"{path} {found}, expected the folder of a run (--output_path of `run`). Correct the path.")
