"""Social-bias tasks for lm-evaluation-harness: RuBia (Russian) and BanglaSocialBias (Bangla)."""

from pathlib import Path
from pkgutil import extend_path

# `metrics` and `scripts` lie beside this folder in the repository; without this line a checkout on sys.path hides them.
__path__ = extend_path(__path__, __name__)

__version__ = "0.2.0"


def tasks_path() -> Path:
    """Folder to give to the harness as `--include_path`: every task YAML of this package lies below it."""
    return Path(__file__).resolve().parent
