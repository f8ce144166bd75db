"""A wall clock that is set while a run trains: no duration changes, and no record is refused."""

import subprocess
import time
from datetime import datetime
from pathlib import Path

import pytest
from msgspec.structs import asdict
from workspace import Arrays, environment, make_spec, train_command, wait_for

from paragone.analysis import compliance
from paragone.records import record
from paragone.records.compliance import rules
from paragone.records.run_record import RunRecord

pytestmark = pytest.mark.full

EPOCHS = 4


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
    """The rules that a complete record breaks; its clocks are within the time that the run really took."""
    assert made.status == "completed"
    assert len(made.epochs) == EPOCHS
    cold = made.clocks.cold
    parts = [
        *asdict(cold).values(),
        made.clocks.window,
        *(epoch.train_seconds for epoch in made.epochs),
    ]
    assert all(0 <= seconds < took for seconds in parts if seconds is not None)
    assert all(0 < process.age < took for process in made.processes)
    broken = {rule for rule in compliance.OF_RECORD if list(compliance.OF_RECORD[rule](made))}
    invalid = {rule for rule in broken if rules.table()[rule].severity == rules.INVALID}
    assert invalid == {"tuning"}, "a preloaded library is no part of a tuning"
    return broken


@pytest.mark.injects(
    "5 time and place",
    "a wall clock that is set during a run, or before a killed one goes on",
    "an hour back or forward at the first checkpoint, by a preloaded clock",
)
def test_a_clock_that_jumps_changes_no_duration(small, tmp_path, clock):
    """Other backends, jumps forward and kills: tests/nightly/test_other_backends.py."""
    jumps("torch", -3600, False, small, tmp_path, clock)


def jumps(
    backend: str, seconds: int, killed: bool, small: Arrays, tmp_path: Path, clock: Path
) -> None:
    """Train, let the wall clock jump after the first checkpoint, and judge the record."""
    spec = make_spec("fashion-cnn", backend, global_batch=200, epochs=EPOCHS, steps_per_epoch=10)
    run = tmp_path / "run"
    # Without the launcher, which does not pass on preloaded libraries.
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
    broken = judged(made, took)
    # A jump forward between two processes looks like a pause.
    assert ("time-of-day" in broken) == (seconds < 0 or not killed)
    first, last = made.processes[0], made.processes[-1]
    assert len(made.processes) == 1 + killed
    assert abs(apart(first.started, last.ended) - seconds) < took, "the run has seen no jump"
