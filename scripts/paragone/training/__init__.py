"""One training run: the loop, its clocks, checkpoints and progress."""
