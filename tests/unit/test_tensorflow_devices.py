"""What TensorFlow is asked for on devices that this machine may lack."""

import json
import os
import sys
from pathlib import Path

import pytest
from workspace import ROOT, call

pytestmark = pytest.mark.full


def observed(what: str) -> dict:
    """What observe_tensorflow.py prints."""
    folders = ("scripts", "tests", "tests/unit")
    paths = os.pathsep.join(str(ROOT / folder) for folder in folders)
    program = Path(__file__).with_name("observe_tensorflow.py")
    done = call([sys.executable, str(program), what], PYTHONPATH=paths, TPU_SKIP_MDS_QUERY="1")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_batches_are_split_on_the_host():
    """Else they would all go to the first GPU, and from there to the others."""
    found = observed("mirrored")
    assert found["splits"]
    assert all(device.endswith("CPU:0") for device in found["splits"])
    assert found["unplaced"] == []
    assert found["modes"] == {"math_mode": "ieee", "deterministic": True, "collectives": "ring"}
    assert found["input"] is None


def test_workers_on_gpus_ask_for_nccl():
    assert observed("nccl") == {"gpu": "NCCL", "cpu": "RING"}


def test_a_replica_takes_one_core_of_a_tpu():
    """The parity gate's steps are those of one replica, whatever number of cores there is."""
    found = observed("cores")
    assert [name.rpartition(":")[2] for name in found["1"]] == ["0"]
    assert [name.rpartition(":")[2] for name in found["8"]] == list("01234567")
    assert found["16"].startswith("16 replica(s) on tpu asked for: ")


def test_a_tpu_has_no_op_determinism():
    assert observed("tpu") == {"deterministic": False, "asked": True}
