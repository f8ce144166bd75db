"""For every room: errors, atomic files, array types, names of clocks, ranks."""
