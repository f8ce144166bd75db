"""Training steps compiled for machines that are not there: exported as StableHLO, compiled, described."""
