"""What a record says of where it was made: hardware, limits, load, energy, git state."""
