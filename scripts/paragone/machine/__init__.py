"""The machine and the process of a record: hardware, limits, load, energy, git state."""
