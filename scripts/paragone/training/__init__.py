"""One training run: the loop, its clocks, checkpoints, progress and initial weights."""
