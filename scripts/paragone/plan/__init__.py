"""What is to be made: jobs, files, digests of code, figures and tables, asked by rules; no framework."""
