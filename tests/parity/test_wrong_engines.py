"""The gate refuses every wrong engine for its reason; more in test_full.py and test_nightly.py."""

import json
import sys
from pathlib import Path

from parity.driving import PATHS
from workspace import call


def test_every_wrong_engine_is_refused_for_its_reason(in_one_folder, references, tmp_path, cell):
    backend, workload, precision = cell
    program = Path(__file__).with_name("judge_wrong_engines.py")
    line = [sys.executable, program, backend, precision, in_one_folder[0].folder]
    line += [references(workload).parents[1], *(each.manifest for each in in_one_folder)]
    # What a bug leaves as it is JAX then compiles once: two fifths less time.
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    done = call([*map(str, line)], timeout=3000, PYTHONPATH=PATHS, **cache)
    assert done.returncode == 0, done.stderr[-3000:]
    judged = json.loads(done.stdout.splitlines()[-1])
    assert judged["tried"] > 0
    assert judged["unexpected"] == {}


# Backend, a workload (with which others of its kind are tried), precision.
CELLS = {test_every_wrong_engine_is_refused_for_its_reason: [("torch", "fashion-cnn", "float64")]}
