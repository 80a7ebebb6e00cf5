"""Command line `lm-eval-bias` and developer scripts."""
