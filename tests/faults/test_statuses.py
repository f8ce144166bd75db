"""A run that cannot be completed is a result, a batch too large too. In figures: unit/test_figures.py."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from faults.killing import long_spec, started
from privileged import memory_group
from workspace import changed, make_spec, memory_limited, succeed, train_command

from paragone.config.run_spec import Spec
from paragone.records import record
from paragone.records.run_metrics import DIVERGED
from paragone.records.run_record import RunRecord

pytestmark = pytest.mark.full


def ended(spec: Spec, status: str, small, folder, program: str = "train", **variables) -> RunRecord:
    """The record of a run of this status, whose reason is on the terminal."""
    printed = succeed(train_command(spec, small, folder, program), **variables)
    made = record.read(folder / "record.json")
    assert made.status == status
    assert (made.reason or "") in printed
    assert not (folder / "checkpoints").exists()
    return made


@pytest.mark.parametrize("backend", ["torch", "tensorflow-mirrored", "jax"])
def test_a_diverging_run_is_a_record(small, tmp_path, backend):
    spec = make_spec("fashion-cnn", backend, global_batch=200, epochs=3, steps_per_epoch=5)
    made = ended(changed(spec, {"learning_rate": {"base": 1e6}}), "diverged", small, tmp_path)
    losses = [row.train_loss for row in made.epochs]
    assert 1 <= len(losses) <= 3
    assert losses[-1] is None or losses[-1] > DIVERGED
    assert all(loss <= DIVERGED for loss in losses[:-1])
    assert len(np.load(tmp_path / "predictions.npz")["labels"]) == 25


@pytest.mark.parametrize(
    ("backend", "replicas", "device", "program", "word"),
    [
        ("torch", 2, "cpu", "train", "2 replica"),
        ("tensorflow-mirrored", 1, "gpu", "train", "gpu"),
        ("torch-ddp", 2, "gpu", "launch", "gpu"),  # found by a worker, written by the launcher
        ("torch-compile", 1, "cpu", "train", "c++ compiler"),
    ],
)
def test_what_is_not_there_is_a_record(small, tmp_path, backend, replicas, device, program, word):
    spec = make_spec("fashion-conv", backend, global_batch=200, epochs=1, steps_per_epoch=1)
    spec = changed(spec, backend={"device": device}, replicas=replicas)
    made = ended(spec, "unavailable", small, tmp_path, program, CXX="no-such-compiler")
    assert word in made.reason.lower()
    assert made.epochs == []
    assert len(made.data.manifest_sha256) == 64
    assert len(np.load(tmp_path / "predictions.npz")["labels"]) == 0


def test_a_backend_that_failed_the_gate_is_not_started(small, tmp_path):
    spec = make_spec("fashion-conv", "torch", global_batch=200, epochs=1, steps_per_epoch=1)
    probes = [tmp_path / "reference.npz", tmp_path / "torch.npz"]
    for path in probes:
        np.savez(path, failed=np.array("no reason"))
    succeed(train_command(spec, small, tmp_path, "launch", probes=probes))
    made = record.read(tmp_path / "record.json")
    assert (made.status, made.reason) == ("refused", "not in parity: the probe failed: no reason")
    assert (len(made.processes), made.epochs) == (1, [])


@pytest.mark.injects("a batch too large for the memory")
def test_a_full_memory_of_one_worker_is_a_record(small, tmp_path):
    spec = make_spec("wide-resnet", "torch-ddp", 2, global_batch=2000, epochs=1, steps_per_epoch=1)
    with memory_limited(2 * 2**30):
        succeed(train_command(spec, small, tmp_path, "launch"))
    made = record.read(tmp_path / "record.json")
    assert (made.status, made.spec.workers) == ("out_of_memory", 2)


# A process that holds more and more until the kernel has ended another one.
HOG = """
import os, pathlib, re, sys
counters = [pathlib.Path(sys.argv[1], name) for name in ("memory.oom_control", "memory.events")]
held = []
while not any(re.search("oom_kill [1-9]", path.read_text()) for path in counters if path.exists()):
    held.append(os.urandom(1 << 20) * 16)
"""


@pytest.mark.injects("a worker ended by the kernel's memory killer")
def test_a_worker_that_the_kernel_ends_for_its_memory_is_a_record(small, tmp_path):
    """The limit of a run counts its own memory; other processes of its control group take the rest."""
    line, folder = train_command(long_spec(), small, tmp_path / "run", "launch"), tmp_path / "run"
    with memory_group(2 * 2**30) as group:

        def join():
            (group / "cgroup.procs").write_text(str(os.getpid()))

        with started(line, folder, preexec_fn=join) as run:
            worker = (folder / "checkpoints/lock").read_text().split()[1]
            Path(f"/proc/{worker}/oom_score_adj").write_text("1000")  # the first to be ended
            hog = [sys.executable, "-c", HOG, group]
            subprocess.run(hog, preexec_fn=join, check=False, timeout=60)  # may be the next
            assert run.wait(60) == 0
    made = record.read(folder / "record.json")
    assert made.status == "out_of_memory"
    assert "the memory of its control group is full" in made.reason
