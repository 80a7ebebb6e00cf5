#!/usr/bin/env bash
# From a fresh clone to a scored model: environment, a small real model, the shipped samples, the tables.
# Safe to repeat; the second run skips what is done.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/install.sh

venv=${DEMO_VENV:-.venv-demo}
model=${XDG_CACHE_HOME:-$HOME/.cache}/lm-eval-bias/smollm2-135m-instruct
out=${DEMO_OUT:-results/demo}

install_into "$venv" demo
echo "Preparing the model in $model (once) ..."
"$venv/bin/python" -m lm_eval_tasks.scripts.tools.demo_model "$model"

export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
# All Russian pairs, and the first prompts of every Bangla task. The chat template reaches the prompts only.
"$venv/bin/lm-eval-bias" run --model hf --model_args "pretrained=$model,dtype=float32" --device cpu --batch_size 16 \
  --tasks rubia_sample,bangla_bias_sample --samples scripts/demo_samples.json --apply_chat_template \
  --gen_kwargs max_gen_toks=24 --log_samples --output_path "$out"

cat <<END

pct_stereotype: share of pairs in which the stereotypical sentence is the likelier one; 0.5 is ideal.
bias_score: -1 always male or Muslim, 0 ideal, 1 always female or Hindu; "undefined" where no answer could be read.
This model is English and small, and the samples are for trying things out: the numbers only show that it runs.
END

# A folder may hold earlier runs of the demo: the newest go of each task counts.
"$venv/bin/lm-eval-bias" report "$out" --output "$out/report"
echo
"$venv/bin/lm-eval-bias" gate --policy scripts/demo_policy.yaml "$out" --output "$out/gate" --explain
echo
echo "Results: $out"
echo "Report:  $out/report/report.html (open it in a browser)"
