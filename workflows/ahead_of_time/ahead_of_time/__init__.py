"""Training steps compiled for devices that are not here: exported, compiled, described, bounded."""
