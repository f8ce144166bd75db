"""A killed trainer resumes from its last checkpoint, and the run ends as if nothing had happened."""

import signal
import subprocess

import pytest
from faults.killing import checkpoints, random_spec, resumes_to_the_same_bits, small_spec
from msgspec.structs import replace
from workspace import call, environment, refused, small_copy, succeed, train_command, wait_for

from paragone.records import record


@pytest.mark.injects(
    "1 kills",
    "a trainer or launcher killed after its first checkpoint",
    "SIGKILL; then the same command",
)
def test_a_killed_run_with_dropout_and_augmentation_resumes_to_the_same_bits(small, tmp_path):
    tiny = small_copy(small, tmp_path, train=200, test=64)
    resumes_to_the_same_bits(random_spec("torch"), tiny, tmp_path)


@pytest.mark.injects(
    "1 kills",
    "a run started again while its trainer is stopped, then ended by a scheduler",
    "SIGSTOP, then SIGTERM; the second is refused by name",
)
def test_one_trainer_at_a_time_and_another_specification_does_not_resume(small, tmp_path):
    spec = small_spec("torch")
    line = train_command(spec, small, tmp_path)
    with subprocess.Popen(line, env=environment(), stdout=subprocess.DEVNULL) as first:
        wait_for(lambda: checkpoints(tmp_path), first)
        first.send_signal(signal.SIGSTOP)
        try:
            refused(call(line), f"process {first.pid} on ", str(tmp_path))
        finally:
            first.send_signal(signal.SIGCONT)
            first.send_signal(signal.SIGTERM)
    assert first.returncode == -signal.SIGTERM
    assert checkpoints(tmp_path)
    succeed(train_command(replace(spec, seed=1), small, tmp_path))
    assert len(record.read(tmp_path / "record.json").processes) == 1
    assert not (tmp_path / "checkpoints").exists()
