#!/usr/bin/env bash
# One tier of the tests (tests/README.md): test, all, nightly or accelerator; stops at the first part that fails.
set -euo pipefail
case "${1:-test}" in
test) tier="not full and not nightly" ;;
all) tier="not nightly" ;;
nightly) tier="nightly" ;;
accelerator) PARAGONE_ACCELERATOR="${PARAGONE_ACCELERATOR:-auto}" exec pytest tests/accelerator ;;
*)
    echo "usage: $0 [test|all|nightly|accelerator]" >&2
    exit 2
    ;;
esac
# Threads of PyTorch that wait give their core to the test beside them.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
[ "${1:-test}" = nightly ] || bash tests/lint.sh
PARAGONE_TEST_DATA="$(mktemp --directory)"
export PARAGONE_TEST_DATA
trap 'rm -rf "$PARAGONE_TEST_DATA"' EXIT
# Half more processes than two cores: a fifth of the time tests wait for what they started.
# In the order of conftest.py, not by how many tests a group has.
pytest tests workflows --numprocesses "${WORKERS:-3}" --no-loadscope-reorder -m "($tier) and not alone"
# Collecting all tests again would take longer than these.
mapfile -t alone < <(grep --recursive --files-with-matches --include='test_*.py' 'pytest\.mark\.alone' tests workflows)
pytest "${alone[@]}" -m "($tier) and alone"
