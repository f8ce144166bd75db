#!/usr/bin/env bash
# Format, then lint, then types: Python, Snakemake.
set -euo pipefail
ruff format --check scripts tests benchmarks docs
snakefmt --check Snakefile rules
ruff check scripts tests benchmarks docs
mypy
snakemake --lint
