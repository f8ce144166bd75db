#!/usr/bin/env bash
# Format, then lint, names and types: Python, Snakemake.
set -euo pipefail
ruff format --check scripts tests benchmarks docs examples workflows conftest.py
snakefmt --check Snakefile rules workflows
ruff check scripts tests benchmarks docs examples workflows conftest.py
python tests/banned_names.py
mypy
for snakefile in Snakefile workflows/*/Snakefile; do
    snakemake --lint --snakefile "$snakefile"
done
