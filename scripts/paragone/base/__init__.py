"""For every room: errors, atomic files, names of clocks, ranks, variables that tune a process."""
