"""Contests: all variants of a question alive at once, timed in turn while the others sleep."""
