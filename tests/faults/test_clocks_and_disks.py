"""A wall clock that is set, and disks that are full or cannot be written, while a run trains.

No duration changes, and no record is refused; one message, nothing half-written, complete files are kept.
"""

import signal
import subprocess
import time
from datetime import datetime
from pathlib import Path

import pytest
from faults.killing import EPOCHS, broken, long_spec, message, printed, started
from msgspec.structs import asdict
from privileged import fill, small_disk
from unit.data_programs import fetch, serialize
from workspace import Arrays, environment, refused, succeed, train_command

from paragone.records import compliance, record

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def clock(tmp_path_factory) -> Path:
    """The library whose clocks jump."""
    library = tmp_path_factory.mktemp("clock") / "clock.so"
    source = Path(__file__).with_name("jumping_clock.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.mark.injects("a wall clock that is set during a run, or before a killed one goes on")
def test_a_clock_that_jumps_changes_no_duration(small, tmp_path, clock):
    """Other backends, jumps forward and kills: tests/nightly/test_other_backends.py."""
    jumps("torch", -3600, False, small, tmp_path, clock)


def jumps(
    backend: str, seconds: int, killed: bool, small: Arrays, tmp_path: Path, clock: Path
) -> None:
    """Train, let the wall clock jump after the first checkpoint, and judge the record."""
    folder, file = tmp_path / "run", tmp_path / "jump"
    # Without the launcher, which does not pass on preloaded libraries.
    line = train_command(long_spec(backend, epochs=EPOCHS), small, folder)
    jump = {"JUMP_FILE": str(file), "JUMP_SECONDS": str(seconds)}
    variables = environment(LD_PRELOAD=str(clock), **jump)
    begun = time.monotonic()
    with started(line, folder, env=variables) as run:
        file.touch()
        if not killed:
            assert run.wait(120) == 0
    if killed:
        subprocess.run(line, env=variables, stdout=subprocess.DEVNULL, check=True)
    took = time.monotonic() - begun
    made = record.read(folder / "record.json")
    assert made.status == "completed"
    assert len(made.epochs) == EPOCHS
    parts = [*asdict(made.clocks.cold).values(), made.clocks.first_steps]
    parts += [epoch.train_seconds for epoch in made.epochs]
    parts += [process.age for process in made.processes]
    assert all(0 <= part < took for part in parts if part is not None)
    assert broken(made, compliance.INVALID) == {"tuning"}, (
        "a preloaded library is no part of a tuning"
    )
    # A jump forward between two processes looks like a pause.
    assert bool([*compliance.OF_RECORD["time-of-day"](made)]) == (seconds < 0 or not killed)
    first, last = made.processes[0], made.processes[-1]
    assert len(made.processes) == 1 + killed
    apart = datetime.fromisoformat(last.ended) - datetime.fromisoformat(first.started)
    assert abs(apart.total_seconds() - seconds) < took, "the run has seen no jump"


@pytest.mark.injects("a disk that is full at a checkpoint")
def test_a_run_on_a_full_disk_ends_in_one_message_and_goes_on_when_there_is_room(small, tmp_path):
    full_disk("torch", small, tmp_path)


def full_disk(backend: str, small: Arrays, tmp_path: Path) -> None:
    """Fill the disk of a run after its first checkpoint, then make room and run it again."""
    with small_disk(tmp_path / "run", "200m") as disk:
        line = train_command(long_spec(backend, epochs=EPOCHS), small, disk)
        with started(line, disk) as run:
            run.send_signal(signal.SIGSTOP)
            ballast = fill(disk)
            run.send_signal(signal.SIGCONT)
            assert run.wait(120) == 1
        why = message(disk)
        assert "Traceback" not in printed(disk).read_text()
        assert "cannot be written" in why
        assert "No space left on device" in why or "torch" in backend  # PyTorch does not say why
        ballast.unlink()
        assert "resumed after epoch" in succeed(line)
        assert record.read(disk / "record.json").status == "completed"
        assert sorted(path.name for path in disk.iterdir()) == ["predictions.npz", "record.json"]


@pytest.mark.injects("a disk that is full for results or arrays")
def test_a_full_disk_is_one_message(tmp_path):
    """The atomic writer of every program names the file. A sparse map would end the process by SIGBUS."""
    with small_disk(tmp_path / "disk", "30m") as disk:
        ballast = fill(disk)
        done = fetch("fashion_mnist", disk / "results", tmp_path / "data", source="synthetic")
        refused(done, "source.json: no space left on device", "make room")
        ballast.unlink()
        assert not [path for path in disk.rglob("*") if path.is_file()]
        fetch("fashion_mnist", tmp_path / "results", tmp_path / "data", source="synthetic")
        done = serialize(tmp_path / "results", disk / "data")
        refused(done, "train_inputs.npy: no space left on device", "make room")
        assert not list(disk.rglob("*.npy"))
    assert not (tmp_path / "results/manifest.json").exists()


@pytest.mark.injects("results that cannot be written")
def test_results_that_cannot_be_written_are_one_message(tmp_path):
    with small_disk(tmp_path / "disk", "1m") as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        done = fetch("fashion_mnist", disk / "results", tmp_path / "data", source="synthetic")
        refused(done, str(disk), "read-only file system", "mount this one for writing")
