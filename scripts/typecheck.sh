#!/usr/bin/env bash
# mypy on the installed layout: in the repository, `metrics` and `scripts` lie outside their package.
set -euo pipefail
cd "$(dirname "$0")/.."
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
mkdir "$site/lm_eval_tasks"
cp -r lm_eval_tasks/. metrics scripts "$site/lm_eval_tasks/"
cd "$site" && mypy --config-file "$OLDPWD/pyproject.toml" -p lm_eval_tasks
