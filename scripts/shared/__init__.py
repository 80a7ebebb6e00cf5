"""What several commands need: evidence read, text made safe, output that keeps its exit code."""
