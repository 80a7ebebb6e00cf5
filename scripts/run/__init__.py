"""`lm-eval-bias run`: the harness, with what would make a run worthless looked for before and after."""
