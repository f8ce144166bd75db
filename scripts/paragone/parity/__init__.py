"""The parity gate: do two backends compute the same? Observe, compare, report."""
