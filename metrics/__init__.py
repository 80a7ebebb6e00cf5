"""Scores and statistics of bias tasks; numpy, scipy and the standard library only."""
