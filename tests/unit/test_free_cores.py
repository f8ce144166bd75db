"""Runs side by side on one host take different cores, as long as there are some."""

import os
import subprocess
import time
from collections.abc import Iterator

import psutil
import pytest
from workspace import environment, make_spec, train_command, waiting

from paragone.machine.limits import free_cores

pytestmark = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2,
    reason="runs side by side need two cores: give this process two",
)
CORES = sorted(os.sched_getaffinity(0))[:2]
HOLDER = """
from paragone.machine.limits import free_cores
with free_cores(1) as cores:
    print(*cores, flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def two_cores(tmp_path, monkeypatch) -> Iterator[None]:
    """This process and those that it starts have two cores, which no run of another test holds."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, CORES)
    yield
    os.sched_setaffinity(0, before)


def test_one_after_the_other_and_shared_where_none_is_left():
    with waiting(HOLDER) as process:
        assert int(process.stdout.readline()) == CORES[0]
        with free_cores(1) as second:
            assert second == [CORES[1]]
            with free_cores(2) as shared:
                assert shared == CORES
        with free_cores(2) as both:
            assert both == [CORES[1], CORES[0]]  # the free one first
        process.kill()


def test_the_launcher_leaves_a_core_that_is_held_to_its_holder(small, tmp_path):
    spec = make_spec("fashion-conv", "torch", global_batch=50, epochs=1, steps_per_epoch=2)
    line = train_command(spec, small, tmp_path, "launch", threads=1)
    seen = set()
    with free_cores(1), subprocess.Popen(line, env=environment()) as process:
        while process.poll() is None:
            seen |= {tuple(one.cpu_affinity()) for one in psutil.Process(process.pid).children()}
            time.sleep(0.05)
    assert process.returncode == 0
    assert seen - {tuple(CORES)} == {(CORES[1],)}  # both: between its fork and its program
