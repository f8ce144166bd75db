"""The measurement rules that need several records: those of an experiment, and of a folder of results."""
