"""Processes that work together: supervisor, rendezvous, and what a failed one means."""
