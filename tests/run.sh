#!/usr/bin/env bash
# One tier of the tests (tests/README.md): test, all, nightly or accelerator.
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
PARAGONE_TEST_DATA="$(mktemp --directory)"
export PARAGONE_TEST_DATA
trap 'rm -rf "$PARAGONE_TEST_DATA"' EXIT
status=0
# Beside the tests; what it found is the last that is shown.
[ "${1:-test}" = nightly ] || bash tests/lint.sh >"$PARAGONE_TEST_DATA/lint" 2>&1 &
lint=$!
# Three processes for two cores, because tests wait for a fifth of their time for what they started; in the order
# of conftest.py, not by how many tests a group has.
pytest tests workflows --numprocesses "${WORKERS:-3}" --no-loadscope-reorder -m "($tier) and not alone" || status=$?
if ! wait "$lint"; then
    cat "$PARAGONE_TEST_DATA/lint"
    exit 1
fi
[ "$status" = 0 ] || exit "$status"
# Files whose tests need the machine to themselves. Status 5: the tier has none of them.
mapfile -t alone < <(grep --recursive --files-with-matches --include='test_*.py' 'pytest\.mark\.alone' tests workflows)
pytest "${alone[@]}" -m "($tier) and alone" || [ $? -eq 5 ]
