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
    stream_spec,
)
from msgspec.structs import replace
from unit.data_programs import prepare
from workspace import Arrays, call, refused, small_copy, succeed, train_command

from paragone.records import record


@KILLED
def test_a_killed_run_with_dropout_and_augmentation_resumes_to_the_same_bits(small, tmp_path):
    tiny = small_copy(small, tmp_path, train=200, test=64)
    resumes_to_the_same_bits(random_spec("torch"), tiny, tmp_path)


@KILLED
def test_a_killed_run_on_a_stream_resumes_to_the_same_bits(tmp_path):
    results, data = tmp_path / "results", tmp_path / "data"
    stand_in = {"classes": 65, "vocabulary": 65, "examples": {"train": 2000, "test": 400}}
    block = {"length": 8, "stand_in": stand_in}
    prepare("tiny_shakespeare", results, data, block=block, source="synthetic")
    arrays = Arrays(results / "manifest.json", data)
    resumes_to_the_same_bits(stream_spec("torch"), arrays, tmp_path)


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
