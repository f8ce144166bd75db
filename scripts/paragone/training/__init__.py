"""One training run: the loop, its clocks, checkpoints and progress; what the parity gate sees of it."""
