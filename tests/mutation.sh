#!/usr/bin/env bash
# Change the modules of verdicts one expression at a time, and count the changes that no test sees: `make mutation`.
# mutmut imports from src/, so it works on a copy of the tracked files whose scripts/ has that name.
# Arguments are names of mutants, such as 'paragone.analysis.statistics*'; all without one.
set -euo pipefail
cd "$(dirname "$0")/.."
copy="$(mktemp --directory)"
trap 'rm -rf "$copy"' EXIT
git ls-files -z -- . ':!records' | xargs -0 cp --parents --target-directory="$copy"
cd "$copy"
mv scripts src
ln -s src scripts
mutmut run --max-children "${WORKERS:-1}" "$@" | tr '\r' '\n' | tail -1
echo "Not seen by a test:"
mutmut results
