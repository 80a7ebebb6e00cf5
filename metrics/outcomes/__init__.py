"""From an answer to an outcome: which sentence is preferred, which group is named, yes or no."""
