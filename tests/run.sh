#!/usr/bin/env bash
# One tier of the tests (tests/README.md): test, all, nightly or accelerator; stops at the first part that fails.
set -euo pipefail
case "${1:-test}" in
test)
    tier="not full and not nightly"
    export PARAGONE_SMOKE=short # tests/plan.py
    ;;
all) tier="not nightly" ;;
nightly) tier="nightly" ;;
accelerator) PARAGONE_ACCELERATOR="${PARAGONE_ACCELERATOR:-auto}" exec pytest tests/accelerator "${@:2}" ;;
*)
    echo "usage: $0 [test|all|nightly|accelerator]" >&2
    exit 2
    ;;
esac
[ "${1:-test}" = nightly ] || bash tests/lint.sh
PARAGONE_TEST_DATA="$(mktemp --directory)"
export PARAGONE_TEST_DATA
trap 'rm -rf "$PARAGONE_TEST_DATA"' EXIT
# Three processes for two cores, because tests wait for a fifth of their time for what they started; in the order
# of conftest.py, not by how many tests a group has.
pytest tests workflows --numprocesses "${WORKERS:-3}" --no-loadscope-reorder -m "($tier) and not alone"
# Files whose tests need the machine to themselves. Status 5: the tier has none of them.
mapfile -t alone < <(grep --recursive --files-with-matches --include='test_*.py' 'pytest\.mark\.alone' tests workflows)
pytest "${alone[@]}" -m "($tier) and alone" || [ $? -eq 5 ]
