"""Rows written for this project, so that everything can be tried without any download."""
