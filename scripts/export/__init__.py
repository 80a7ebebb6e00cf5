"""`lm-eval-bias export`: scores as tables, for leaderboards and for model cards."""
