"""A wall clock that is set while a run trains: no duration changes, and no record is refused."""

import subprocess
import time
from datetime import datetime
from pathlib import Path

import pytest
from faults.killing import broken, long_spec, started
from msgspec.structs import asdict
from workspace import Arrays, environment, train_command

from paragone.analysis import compliance
from paragone.records import record, rules

pytestmark = pytest.mark.full

EPOCHS = 4


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
    line = train_command(long_spec(backend, epochs=EPOCHS), small, folder, window_seconds=0.2)
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
    parts = [*asdict(made.clocks.cold).values(), made.clocks.window]
    parts += [epoch.train_seconds for epoch in made.epochs]
    parts += [process.age for process in made.processes]
    assert all(0 <= part < took for part in parts if part is not None)
    assert broken(made, rules.INVALID) == {"tuning"}, "a preloaded library is no part of a tuning"
    # A jump forward between two processes looks like a pause.
    assert bool([*compliance.OF_RECORD["time-of-day"](made)]) == (seconds < 0 or not killed)
    first, last = made.processes[0], made.processes[-1]
    assert len(made.processes) == 1 + killed
    apart = datetime.fromisoformat(last.ended) - datetime.fromisoformat(first.started)
    assert abs(apart.total_seconds() - seconds) < took, "the run has seen no jump"
