"""Results of a run: read, checked against themselves, and summed up as scores."""
