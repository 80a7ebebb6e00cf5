"""How sure a share is, and what may be claimed of it: intervals, verdicts, power, agreement."""
