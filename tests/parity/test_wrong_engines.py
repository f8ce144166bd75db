"""The gate refuses every wrong engine for its reason; more in test_wrong_engines_full.py and _nightly.py."""

import json
import sys
from pathlib import Path

from parity.driving import PATHS
from workspace import call

# Backend, a workload (with which others of its kind are tried), precision, the number of bugs.
CELLS = [("torch", "fashion-cnn", "float64", 24)]


def test_every_wrong_engine_is_refused_for_its_reason(in_one_folder, references, cell):
    backend, workload, precision, count = cell
    program = Path(__file__).with_name("judge_wrong_engines.py")
    line = [sys.executable, program, backend, precision, in_one_folder[0].folder]
    line += [references(workload).parents[1], *(each.manifest for each in in_one_folder)]
    done = call([*map(str, line)], timeout=3000, PYTHONPATH=PATHS)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {"tried": count, "unexpected": {}}
