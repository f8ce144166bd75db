"""A batch too large for the memory is a result."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from faults.killing import TOO_LARGE, long_spec, started
from privileged import memory_group
from workspace import ROOT, call, make_spec, memory_limited, small_copy, train_command

from paragone.records import record

pytestmark = pytest.mark.full

LIMIT = 3 * 2**30  # bytes; the frameworks themselves need less than half of it


def test_the_limit_is_never_raised():
    """A limit of the shell or the scheduler stays, and without one the free memory is the limit."""
    program = (
        "import resource; from paragone.machine.limits import limit_memory; limit_memory(); "
        "print(*resource.getrlimit(resource.RLIMIT_DATA))"
    )
    line = [sys.executable, "-c", program]
    options = {"cwd": ROOT / "scripts", "text": True}
    with memory_limited(2**30):
        soft, hard = map(int, subprocess.check_output(line, **options).split())
    assert (soft, hard) == (2**30, resource.getrlimit(resource.RLIMIT_DATA)[1])
    soft, _ = subprocess.check_output(line, **options).split()
    assert 2**30 < int(soft) < 2**50


@TOO_LARGE
def test_a_batch_too_large_is_a_record_in_tensorflow(fashion, tmp_path):
    """The feature maps of 8,000 images take several times the limit. PyTorch: test_holes.py."""
    arrays = small_copy(fashion, tmp_path / "small", train=8_000, test=64)
    spec = make_spec(
        "wide-resnet", "tensorflow-mirrored", global_batch=8_000, epochs=2, steps_per_epoch=1
    )
    with memory_limited(LIMIT):
        done = call(train_command(spec, arrays, tmp_path, "launch"))
    assert done.returncode == 0, done.stderr
    made = record.read(tmp_path / "record.json")
    # TensorFlow aborts where it lacks memory for small objects of its own.
    assert made.status in {"out_of_memory", "crashed"}
    assert made.reason
    assert (made.epochs, made.window) == ([], [])
    if made.status == "out_of_memory":
        assert made.reason in done.stdout
        assert made.clocks.cold.compilation > 0
    with np.load(tmp_path / "predictions.npz") as predictions:
        assert len(predictions["labels"]) == 0


# A process that holds more and more until the kernel has ended another one.
HOG = """
import os, pathlib, re, sys
counters = [pathlib.Path(sys.argv[1], name) for name in ("memory.oom_control", "memory.events")]
held = []
while not any(re.search("oom_kill [1-9]", path.read_text()) for path in counters if path.exists()):
    held.append(os.urandom(1 << 20) * 16)
"""


@pytest.mark.injects(
    "2 disk and memory",
    "a worker ended by the kernel's memory killer",
    "a full control group of memory",
    lost="the run, recorded as *out of memory*",
)
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
