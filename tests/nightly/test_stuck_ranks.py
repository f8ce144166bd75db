"""Ranks whose network is cut off in an epoch: nothing waits forever, on any backend."""

import subprocess

import pytest
from faults.killing import long_spec, message, started
from privileged import needs_root
from workspace import train_command

BOUND = 10  # seconds that the workers of these runs wait for each other
LAST = 120  # seconds in which a run has ended after that: some frameworks notice by their own clock


@pytest.mark.injects("ranks cut off")
@pytest.mark.parametrize(
    "backend", ["torch-ddp", "torch-fsdp", "tensorflow-multiworker", "jax-multiprocess"]
)
def test_ranks_that_are_cut_off_end_the_run_in_its_bound(small, tmp_path, backend):
    needs_root("makes a network namespace")
    own = ["unshare", "--net", "bash", "-c", 'ip link set lo up && exec "$@"', "_"]
    folder = tmp_path / "run"
    line = train_command(long_spec(backend, 2), small, folder, "launch", join_timeout=BOUND)
    with started([*own, *line], folder) as run:
        inside = ["nsenter", f"--net=/proc/{run.pid}/ns/net"]
        subprocess.run([*inside, "ip", "link", "set", "lo", "down"], check=True)
        assert run.wait(BOUND + LAST) == 1
    assert "of 2" in message(folder)
