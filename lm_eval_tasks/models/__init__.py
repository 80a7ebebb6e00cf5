"""Model backends that the harness lacks; importing `lm_eval_tasks.models.masked_lm` registers `hf-mlm`."""
