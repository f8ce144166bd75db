"""Each rank killed or stopped, or the network cut, at any time of a run: nothing waits forever."""

import signal
import subprocess
from pathlib import Path

import pytest
from faults.killing import checkpoints, message, printed, started
from faults.test_kill_others import workers_of
from privileged import needs_root
from workspace import make_spec, train_command

from paragone.records import record

# Rank 0 is the one that the others meet at.
CASES = [
    (backend, rank, moment)
    for backend in ("torch-ddp", "torch-fsdp", "tensorflow-multiworker", "jax-multiprocess")
    for rank, moment in ((1, "at the start"), (0, "in an epoch"), (1, "at the end"))
]
BOUND = 10  # seconds that the workers of these runs wait for each other
LAST = 120  # seconds in which a run has ended after that: some frameworks notice by their own clock
EPOCHS = 5
# Both workers run; the first checkpoint is written; the last epoch is reported.
REACHED = {
    "at the start": lambda run, _: len(workers_of(run)) == 2,
    "in an epoch": lambda _, folder: checkpoints(folder),
    "at the end": lambda _, folder: f"epoch {EPOCHS - 1}/{EPOCHS}:" in printed(folder).read_text(),
}


def launched(backend: str, arrays, folder: Path, moment: str) -> list[str]:
    """The command of a run of two workers."""
    epochs = EPOCHS if moment == "at the end" else 500
    spec = make_spec("fashion-cnn", backend, 2, 200, epochs=epochs, steps_per_epoch=10)
    return train_command(spec, arrays, folder, "launch", join_timeout=BOUND)


@pytest.mark.injects("a rank killed or stopped")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize(("backend", "rank", "moment"), CASES)
def test_a_killed_or_stopped_rank_is_named(small, tmp_path, backend, rank, moment, number):
    folder = tmp_path / "run"
    with started(launched(backend, small, folder, moment), folder, REACHED[moment]) as run:
        workers_of(run)[rank].send_signal(number)
        assert run.wait(BOUND + LAST) == 1
    assert f"rank {rank} of 2" in message(folder)
    assert number == signal.SIGKILL or "is stopped (SIGSTOP)" in message(folder)


@pytest.mark.injects("ranks cut off")
@pytest.mark.parametrize(("backend", "rank", "moment"), CASES)
def test_ranks_that_are_cut_off_end_the_run_in_its_bound(small, tmp_path, backend, rank, moment):
    """At the end it may not matter any more."""
    needs_root("makes a network namespace")
    own = ["unshare", "--net", "bash", "-c", 'ip link set lo up && exec "$@"', "_"]
    folder = tmp_path / "run"
    line = [*own, *launched(backend, small, folder, moment)]
    with started(line, folder, REACHED[moment]) as run:
        inside = ["nsenter", f"--net=/proc/{run.pid}/ns/net"]
        subprocess.run([*inside, "ip", "link", "set", "lo", "down"], check=True)
        if run.wait(BOUND + LAST) == 0 and moment == "at the end":
            assert record.read(folder / "record.json").status == "completed"
        else:
            assert run.returncode == 1
            assert "of 2" in message(folder)
