"""The parity gate: do two backends compute the same? The protocol defined, the reference, the verdict."""
