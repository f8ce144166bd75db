"""Each rank killed or stopped, or the network cut, at any time of a run: nothing waits forever."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from privileged import needs_root
from workspace import Arrays, environment, make_spec, train_command, wait_for

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


class Run:
    """A launched run of two workers; `before`: the start of its command line."""

    def __init__(
        self, backend: str, arrays: Arrays, folder: Path, moment: str, before: tuple = ()
    ) -> None:
        folder.mkdir()
        self.folder = folder
        epochs = EPOCHS if moment == "at the end" else 500
        spec = make_spec("fashion-cnn", backend, 2, 200, epochs=epochs, steps_per_epoch=10)
        options = {"join_timeout": BOUND, "window_seconds": 2}
        line = [*before, *train_command(spec, arrays, folder, "launch", **options)]
        with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
            self.process = subprocess.Popen(line, env=environment(), stdout=out, stderr=err)

    def rank(self, rank: int) -> psutil.Process | None:
        for child in psutil.Process(self.process.pid).children(recursive=True):
            try:
                if child.environ().get("RANK") == str(rank):
                    return child
            except psutil.Error:
                continue
        return None

    def wait_until(self, moment: str) -> None:
        """Both workers run; the first checkpoint is written; the last epoch is reported."""
        reached: dict[str, Callable] = {
            "at the start": lambda: self.rank(0) and self.rank(1),
            "in an epoch": lambda: list(self.folder.glob("checkpoints/*/epoch-*")),
            "at the end": lambda: f"epoch {EPOCHS}/{EPOCHS}:" in (self.folder / "out").read_text(),
        }
        wait_for(reached[moment], self.process)

    def message(self) -> str:
        """Its only message: it has ended within its bound, and so have its workers."""
        assert self.process.wait(BOUND + LAST) == 1
        errors = (self.folder / "err").read_text().splitlines()
        (error,) = [line for line in errors if line.startswith("error: ")]
        assert not (self.folder / "record.json").exists()
        assert not list(self.folder.glob("workers-*"))
        return error


@contextmanager
def started(*arguments) -> Iterator[Run]:
    """A run; whatever happens, all of it has ended afterwards."""
    run = Run(*arguments)
    try:
        yield run
    finally:
        if run.process.poll() is None:
            family = psutil.Process(run.process.pid).children(recursive=True)
            for process in [*family, run.process]:
                process.kill()
        run.process.wait()


@pytest.mark.injects(
    "8 workers",
    "a rank killed or stopped",
    "SIGKILL, SIGSTOP at the start, in an epoch, at the end",
    lost="the epoch",
)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize(("backend", "rank", "moment"), CASES)
def test_a_killed_or_stopped_rank_is_named(small, tmp_path, backend, rank, moment, number):
    with started(backend, small, tmp_path / "run", moment) as run:
        run.wait_until(moment)
        run.rank(rank).send_signal(number)
        message = run.message()
        assert f"rank {rank} of 2" in message
        assert number == signal.SIGKILL or "is stopped (SIGSTOP)" in message


@pytest.mark.injects(
    "8 workers",
    "ranks cut off",
    "their network switched off, in a namespace of the run, at the start, in an epoch, at the end",
    lost="the epoch",
)
@pytest.mark.parametrize(("backend", "rank", "moment"), CASES)
def test_ranks_that_are_cut_off_end_the_run_in_its_bound(small, tmp_path, backend, rank, moment):
    """At the end it may not matter any more."""
    needs_root("makes a network namespace")
    own = ("unshare", "--net", "bash", "-c", 'ip link set lo up && exec "$@"', "_")
    with started(backend, small, tmp_path / "run", moment, own) as run:
        run.wait_until(moment)
        inside = ["nsenter", f"--net=/proc/{run.process.pid}/ns/net"]
        subprocess.run([*inside, "ip", "link", "set", "lo", "down"], check=True)
        if moment == "at the end" and run.process.wait(BOUND + LAST) == 0:
            assert record.read(run.folder / "record.json").status == "completed"
        else:
            assert "of 2" in run.message()
