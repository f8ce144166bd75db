"""Real contests: variants take turns, one of them is killed or cannot run, the coordinator is killed.

When contests end, and what follows where variants do not fit into memory together: unit/test_contests.py.
"""

import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from workspace import Arrays, command, environment, make_spec, succeed, wait_for

from paragone.analysis.compliance import of_contests
from paragone.config.run_spec import Spec
from paragone.records.record import read_contests

pytestmark = pytest.mark.full


def line_of(arrays: Arrays, folder: Path, specs: list[Spec], **changes: object) -> list[str]:
    """The command of two contests with short windows."""
    options = {
        "question": "small",
        "specs": specs,
        "manifest": arrays.manifest,
        "data_folder": arrays.folder,
        "contests": 2,
        "rounds": 2,
        "window_seconds": 0.1,
        "minutes": 4,
        "load": 1,  # other tests use the machine
        "threads": 2,
        "record": folder / "record.json",
    }
    return command("hold_contests", **options | changes)


def spec_of(backend: str, replicas: int = 1) -> Spec:
    return make_spec("fashion-cnn", backend, replicas, global_batch=64)


def participants(coordinator: subprocess.Popen) -> list[psutil.Process]:
    """The processes that take turns, of which each trains one variant."""
    children = psutil.Process(coordinator.pid).children()
    return [child for child in children if any("participate" in word for word in child.cmdline())]


def test_variants_take_turns_and_the_others_sleep(small, tmp_path):
    """One variant has two workers, another a device that is not there."""
    specs = [spec_of("torch"), spec_of("torch-ddp", 2), spec_of("tensorflow-tpu")]
    succeed(line_of(small, tmp_path, specs, contests=1, rounds=3))
    record = read_contests(tmp_path / "record.json")
    (contest,) = record.contests
    assert (record.planned, record.ended) == (1, "contests")
    assert contest.together
    # Not of this test: variants were not compared, and others use the machine.
    found = {breach.rule for breach in of_contests(record)}
    assert found <= {"first-steps-compared", "clean-code", "throttling", "environment"}
    alone, several, absent = contest.contestants
    assert absent.status == "unavailable"
    for each in (alone, several):
        assert each.status == "completed"
    assert alone.model.initial_weights == several.model.initial_weights
    assert [len(each.processes) for each in (alone, several)] == [1, 2]
    took = sorted({(window.round, window.contestant) for window in contest.windows})
    assert took == [(number, variant) for number in (1, 2, 3) for variant in (0, 1)]
    assert not list(tmp_path.glob("workers-*"))
    assert not list(tmp_path.glob("contest-*"))


def test_a_variant_that_cannot_run_and_has_nobody_beside_it_is_a_record(small, tmp_path):
    succeed(line_of(small, tmp_path, [spec_of("tensorflow-tpu")], contests=3))
    record = read_contests(tmp_path / "record.json")
    (contest,) = record.contests
    assert (contest.contestants[0].status, record.ended) == ("unavailable", "untimed")


@pytest.mark.injects("a variant killed or stopped")
def test_a_killed_variant_is_a_status_and_the_others_go_on(small, tmp_path):
    specs = [spec_of("torch"), spec_of("torch-fsdp", 2)]
    line = line_of(small, tmp_path, specs, contests=1, rounds=20, window_seconds=0.2)
    with subprocess.Popen(line, env=environment(), stdout=subprocess.DEVNULL) as run:
        # It has imported its framework and trains.
        warm = lambda: [p for p in participants(run) if p.cpu_times().user > 3]  # noqa: E731
        victim = wait_for(warm, run)[0]
        victim.kill()
        assert run.wait(120) == 0
    (contest,) = read_contests(tmp_path / "record.json").contests
    failed = [each for each in contest.contestants if each.status == "failed"]
    assert len(failed) == 1
    assert "SIGKILL" in failed[0].reason
    other = next(index for index, each in enumerate(contest.contestants) if not each.reason)
    rounds = {window.round for window in contest.windows if window.contestant == other}
    assert rounds == {*range(1, 21)}


@pytest.mark.injects("the coordinator killed or interrupted")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_coordinator_that_ends_leaves_nobody_and_its_contests_are_kept(small, tmp_path, number):
    line = line_of(small, tmp_path, [spec_of("torch"), spec_of("torch-ddp", 1)])
    with subprocess.Popen(line, env=environment(), stdout=subprocess.DEVNULL) as run:
        (kept,) = wait_for(lambda: list(tmp_path.glob("contest-*")), run)
        alive = wait_for(lambda: participants(run), run)  # of the second contest
        run.send_signal(number)
        assert run.wait(30) == -number
    assert not psutil.wait_procs(alive, 10)[1]
    assert not (tmp_path / "record.json").exists()
    first = kept.read_bytes()
    succeed(line)
    held = read_contests(tmp_path / "record.json").contests
    assert len(held) == 2
    assert held[0].started in first.decode()
    assert held[0].started < held[1].started
    assert [path.name for path in tmp_path.iterdir()] == ["record.json"]
