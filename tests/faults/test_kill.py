"""A killed trainer resumes from its last checkpoint, and the run ends as if nothing had happened."""

import signal

import pytest
from faults.killing import (
    KILLED,
    checkpoints,
    random_spec,
    resumes_to_the_same_bits,
    small_spec,
    started,
)
from msgspec.structs import replace
from workspace import call, refused, small_copy, succeed, train_command

from paragone.records import record


@KILLED
def test_a_killed_run_with_dropout_and_augmentation_resumes_to_the_same_bits(small, tmp_path):
    tiny = small_copy(small, tmp_path, train=200, test=64)
    resumes_to_the_same_bits(random_spec("torch"), tiny, tmp_path)


@pytest.mark.injects("a run started again while its trainer is stopped")
def test_one_trainer_at_a_time_and_another_specification_does_not_resume(small, tmp_path):
    spec, folder = small_spec("torch"), tmp_path / "run"
    line = train_command(spec, small, folder)
    with started(line, folder) as first:
        first.send_signal(signal.SIGSTOP)
        refused(call(line), f"process {first.pid} on ", str(folder))
        first.send_signal(signal.SIGCONT)
        first.send_signal(signal.SIGTERM)
        assert first.wait(60) == -signal.SIGTERM
    assert checkpoints(folder)
    succeed(train_command(replace(spec, seed=1), small, folder))
    assert len(record.read(folder / "record.json").processes) == 1
    assert not (folder / "checkpoints").exists()
