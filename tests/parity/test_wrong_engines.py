"""The gate refuses every wrong engine for its reason; more in test_wrong_engines_full.py and _nightly.py."""

import json
import sys
from pathlib import Path

from parity.driving import PATHS
from workspace import call

# Backend, workloads, precision, the number of bugs.
CELLS = [("torch", "shallow", "float64", 24)]


def test_every_wrong_engine_is_refused_for_its_reason(in_one_folder, references, cell):
    backend, which, precision, count = cell
    program = Path(__file__).with_name("judge_wrong_engines.py")
    line = [sys.executable, program, backend, precision, which]
    line += [in_one_folder[0].folder, references, *(each.manifest for each in in_one_folder)]
    done = call([*map(str, line)], timeout=3000, PYTHONPATH=PATHS)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {"tried": count, "unexpected": {}}
