"""The records of runs and measurements: assembled, checked, written, read."""
