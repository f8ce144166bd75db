"""Disks that are full or cannot be written: one message, nothing half-written, complete files are kept."""

import signal
import subprocess
from pathlib import Path

import pytest
from privileged import fill, small_disk
from unit.data_programs import fetch, serialize
from workspace import environment, make_spec, refused, succeed, train_command, wait_for

from paragone.records import record

pytestmark = pytest.mark.full

EPOCHS = 6


def spec_of(backend: str):
    return make_spec("fashion-cnn", backend, global_batch=200, epochs=EPOCHS, steps_per_epoch=10)


def saved(folder: Path) -> list[Path]:
    return sorted(folder.glob("checkpoints/*/epoch-*"))


@pytest.mark.injects(
    "2 disk and memory",
    "a disk that is full at a checkpoint",
    "a tmpfs, filled while the trainer is stopped; then room is made",
    lost="the epoch",
)
def test_a_run_on_a_full_disk_ends_in_one_message_and_goes_on_when_there_is_room(small, tmp_path):
    full_disk("torch", small, tmp_path)


def full_disk(backend: str, small, tmp_path: Path) -> None:
    """Fill the disk of a run after its first checkpoint, then make room and run it again."""
    with small_disk(tmp_path / "disk", "200m") as disk:
        line = train_command(spec_of(backend), small, disk / "run")
        with subprocess.Popen(
            line, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as run:
            wait_for(lambda: saved(disk / "run"), run)
            run.send_signal(signal.SIGSTOP)
            ballast = fill(disk)
            run.send_signal(signal.SIGCONT)
            _, errors = run.communicate(timeout=120)
        assert run.returncode == 1, errors
        (message,) = [text for text in errors.splitlines() if text.startswith("error: ")]
        assert "cannot be written" in message
        assert (
            "No space left on device" in message or "torch" in backend
        )  # PyTorch does not say why
        assert "Traceback" not in errors
        assert not (disk / "run/record.json").exists()
        kept = saved(disk / "run")
        assert kept
        ballast.unlink()
        assert "resumed after epoch" in succeed(line)
        assert record.read(disk / "run/record.json").status == "completed"
        assert sorted(path.name for path in (disk / "run").iterdir()) == [
            "predictions.npz",
            "record.json",
        ]


FULL_DISK = pytest.mark.injects(
    "2 disk and memory", "a disk that is full for results or arrays", "a tmpfs, filled or too small"
)


@FULL_DISK
def test_a_full_disk_is_one_message(tmp_path):
    """The atomic writer of every program names the file."""
    with small_disk(tmp_path / "disk", "1m") as disk:
        ballast = fill(disk)
        done = fetch("fashion_mnist", disk / "results", tmp_path / "data", source="synthetic")
        refused(done, "source.json: no space left on device", "make room")
        ballast.unlink()
        assert not [path for path in disk.rglob("*") if path.is_file()]


@FULL_DISK
def test_no_room_for_arrays_is_one_message(tmp_path):
    """Writing into a sparse map would end the process by SIGBUS, without a message."""
    fetch("fashion_mnist", tmp_path / "results", tmp_path, source="synthetic")
    with small_disk(tmp_path / "disk", "30m") as disk:
        done = serialize(tmp_path / "results", disk / "data")
        refused(done, "train_inputs.npy: no space left on device", "make room")
        assert not list(disk.rglob("*.npy"))
    assert not (tmp_path / "results/manifest.json").exists()


@pytest.mark.injects(
    "2 disk and memory", "results that cannot be written", "a tmpfs, mounted read-only"
)
def test_results_that_cannot_be_written_are_one_message(tmp_path):
    with small_disk(tmp_path / "disk", "1m") as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        done = fetch("fashion_mnist", disk / "results", tmp_path / "data", source="synthetic")
        refused(done, str(disk), "read-only file system", "mount this one for writing")
