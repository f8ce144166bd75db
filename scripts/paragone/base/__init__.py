"""For every room: errors, atomic files, digests, locks, plugins, processes and ranks."""
