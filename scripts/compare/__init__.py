"""`lm-eval-bias compare`: two runs side by side, item by item."""
