"""Social-bias tasks for lm-evaluation-harness: RuBia (Russian) and BanglaSocialBias (Bangla)."""

from pathlib import Path

_HERE = Path(__file__).resolve().parent
# `metrics` and `scripts` lie in this folder where it is installed, and beside it in a checkout, which must use its own: what
# lies beside another copy on sys.path is never looked at.
if not (_HERE / "metrics").is_dir():
    __path__.append(str(_HERE.parent))

__version__ = "0.2.0"


def tasks_path() -> Path:
    """Folder to give to the harness as `--include_path`: every task YAML of this package lies below it."""
    return _HERE
