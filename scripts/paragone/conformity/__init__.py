"""What `snakemake conform` says of a plugin: which of the project's demands each way of training meets."""
