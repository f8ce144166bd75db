#!/usr/bin/env bash
# Format, then lint, then types: Python, Snakemake.
set -euo pipefail
ruff format --check scripts tests benchmarks docs examples
snakefmt --check Snakefile rules
ruff check scripts tests benchmarks docs examples
mypy
snakemake --lint
