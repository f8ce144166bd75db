"""Disks that are full or cannot be written while a run trains: one message, complete files are kept."""

import signal
import subprocess

import pytest
from data_programs import fetch, serialize
from faults.killing import EPOCHS, long_spec, message, printed, started
from privileged import fill, small_disk
from workspace import refused, succeed, train_command

from paragone.records import record

pytestmark = pytest.mark.full


@pytest.mark.injects("a disk that is full at a checkpoint")
def test_a_run_on_a_full_disk_ends_in_one_message_and_goes_on_when_there_is_room(small, tmp_path):
    """Other frameworks, at any write: tests/nightly/test_nasty_moments.py."""
    with small_disk(tmp_path / "run", "200m") as disk:
        line = train_command(long_spec("torch", epochs=EPOCHS), small, disk)
        with started(line, disk) as run:
            run.send_signal(signal.SIGSTOP)
            ballast = fill(disk)
            run.send_signal(signal.SIGCONT)
            assert run.wait(120) == 1
        assert "Traceback" not in printed(disk).read_text()
        assert "cannot be written" in message(disk)  # PyTorch does not say why
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
