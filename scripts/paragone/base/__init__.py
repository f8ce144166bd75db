"""For every room: errors, atomic files, names of clocks, ranks."""
