#!/usr/bin/env bash
# Install what the tests need and run them all. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/install.sh

venv=${TEST_VENV:-.venv}
install_into "$venv" dev,demo
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
"$venv/bin/ruff" check .
"$venv/bin/ruff" format --check .
PATH="$PWD/$venv/bin:$PATH" bash scripts/typecheck.sh
# One worker per core, and a file to a worker: its runs are made once.
"$venv/bin/python" -m pytest -n auto --dist loadfile "$@"
