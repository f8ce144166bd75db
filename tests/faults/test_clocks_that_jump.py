"""A clock on the wall that is set while a run trains: no duration changes, no record is refused."""

import subprocess
import time
from datetime import datetime
from pathlib import Path

import pytest
from workspace import environment, make_spec, train_command, wait_for

from paragone.analysis.compliance import checks
from paragone.records import record
from paragone.records.compliance import rules
from paragone.records.run_record import RunRecord

pytestmark = pytest.mark.full

EPOCHS = 4
nightly = pytest.mark.nightly


@pytest.fixture(scope="module")
def clock(tmp_path_factory) -> Path:
    """The library whose clocks jump."""
    library = tmp_path_factory.mktemp("clock") / "clock.so"
    source = Path(__file__).with_name("jumping_clock.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


def apart(begun: str, end: str) -> float:
    """Seconds from one time of day to another."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begun)).total_seconds()


def judged(made: RunRecord, took: float) -> set[str]:
    """The rules that it breaks: it is complete, valid, and every clock is of the time that it really took."""
    assert made.status == "completed"
    assert len(made.epochs) == EPOCHS
    cold = made.clocks.cold
    parts = [*vars(cold).values(), made.clocks.window, *(one.train_seconds for one in made.epochs)]
    assert all(0 <= seconds < took for seconds in parts if seconds is not None)
    assert all(0 < process.age < took for process in made.processes)
    found = {rule for rule in checks.OF_ONE if list(checks.OF_ONE[rule](made))}
    invalid = {rule for rule in found if rules.table()[rule].severity == rules.INVALID}
    assert invalid == {"division"}, "what is preloaded is no part of a division"
    return found


@pytest.mark.injects(
    "5 time and place",
    "a wall clock that is set during a run, or before a killed one goes on",
    "an hour back or forward at the first checkpoint, by a preloaded clock",
)
@pytest.mark.parametrize("killed", [False, pytest.param(True, marks=nightly)])
@pytest.mark.parametrize("seconds", [-3600, pytest.param(3600, marks=nightly)])
@pytest.mark.parametrize(
    "backend",
    [
        "torch",
        pytest.param("tensorflow-mirrored", marks=[nightly, pytest.mark.long]),
        pytest.param("jax", marks=[nightly, pytest.mark.long]),
    ],
)
def test_a_clock_that_jumps_changes_no_duration(small, tmp_path, clock, backend, seconds, killed):
    spec = make_spec("fashion-cnn", backend, global_batch=200, epochs=EPOCHS, steps_per_epoch=10)
    run = tmp_path / "run"
    # Not by the launcher, which does not pass on what is preloaded.
    line = train_command(spec, small, run, window_seconds=0.2)
    jump = {"JUMP_FILE": str(tmp_path / "jump"), "JUMP_SECONDS": str(seconds)}
    variables = environment(LD_PRELOAD=str(clock), **jump)
    begun = time.monotonic()
    with subprocess.Popen(line, env=variables, stdout=subprocess.DEVNULL) as process:
        wait_for(lambda: list(run.glob("checkpoints/*/epoch-*")), process)
        Path(jump["JUMP_FILE"]).touch()
        if killed:
            process.kill()
    if killed:
        process = subprocess.run(line, env=variables, stdout=subprocess.DEVNULL, check=False)
    assert process.returncode == 0
    took = time.monotonic() - begun
    made = record.read(run / "record.json")
    found = judged(made, took)
    # Forward, between two processes: they may be any time apart.
    assert ("time-of-day" in found) == (seconds < 0 or not killed)
    first, last = made.processes[0], made.processes[-1]
    assert len(made.processes) == 1 + killed
    assert abs(apart(first.started, last.ended) - seconds) < took, "the run has seen no jump"
