"""A speed window leaves no trace in an engine, and all ranks take the steps that rank 0 has planned.

That a run with a window ends with the weights of one without: tests/faults/test_kill.py.
"""

import json
import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from workspace import ROOT, environment, make_spec

from paragone.workers import supervisor

pytestmark = pytest.mark.full

ADAM = {"name": "adam", "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
CELLS = [
    ("torch", 1),
    ("torch-ddp", 2),
    ("tensorflow-mirrored", 3),
    ("tensorflow-multiworker", 2),
    ("torch-xla", 2),
]


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_the_state_after_a_window_is_that_before_it(small, tmp_path, monkeypatch, cell):
    """Weights, batch-norm statistics, Adam's moments and step counts, of every rank, to the last bit."""
    spec = make_spec("fashion-cnn", *cell, global_batch=60, steps_per_epoch=4)
    spec = replace(spec, workload={**spec.workload, "optimizer": ADAM})
    program = Path(__file__).with_name("observe_speed_window.py")
    line = [sys.executable, str(program), spec.to_json()]
    line += map(str, [small.manifest, small.folder, tmp_path])
    paths = os.pathsep.join([str(ROOT / "scripts"), str(ROOT / "tests")])
    for name, value in environment(PYTHONPATH=paths).items():
        monkeypatch.setenv(name, value)
    failed = supervisor.run(line, spec.workers, seconds=300)
    assert failed is None, failed.tails
    ranks = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(spec.workers)]
    for rank in ranks:
        assert rank["after"] == rank["before"]
        assert any("optimizer" in name for name in rank["before"])
        assert rank["steps"] == ranks[0]["steps"]
        assert rank["compiled"] == 0
    assert sum(ranks[0]["steps"]) >= 20
    assert len(set(ranks[0]["steps"])) > 1
