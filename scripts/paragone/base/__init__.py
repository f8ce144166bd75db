"""What every room may use: errors, atomic files, array types, names of clocks, ranks."""

"""What every room may use: errors, atomic files, array types, names of clocks, ranks."""
