#!/usr/bin/env bash
# Everything CI runs, in its order; stops at the first part that fails.
set -euo pipefail
bash tests/lint.sh
pytest tests/unit tests/parity tests/pipeline tests/faults tests/cluster
