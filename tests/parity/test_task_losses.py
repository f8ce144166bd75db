"""Every task is the reference's, and wrong losses and scores are refused."""

import json
import sys
from pathlib import Path

from parity.driving import PATHS
from parity.tasks import TASKS
from workspace import call


def test_every_task_passes_and_wrong_ones_are_refused_for_their_reason(tmp_path, cell):
    program = Path(__file__).with_name("judge_tasks.py")
    for backend in ("reference", cell):
        line = [sys.executable, str(program), backend, str(tmp_path)]
        done = call(line, timeout=900, PYTHONPATH=PATHS)
        assert done.returncode == 0, done.stderr[-3000:]
    judged = json.loads(done.stdout.splitlines()[-1])
    assert judged == {"reasons": dict.fromkeys(TASKS), "unexpected": {}}


CELLS = {test_every_task_passes_and_wrong_ones_are_refused_for_their_reason: ["torch"]}
