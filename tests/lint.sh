#!/usr/bin/env bash
# Format, then lint: Python, Snakemake.
set -euo pipefail
ruff format --check scripts tests benchmarks
snakefmt --check Snakefile rules
ruff check scripts tests benchmarks
snakemake --lint
