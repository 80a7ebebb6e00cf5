"""`lm-eval-bias report`: runs as one HTML file."""
