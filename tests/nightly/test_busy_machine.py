"""Real contests beside a process that takes one core, always or in turns: no speed is of a disturbed window.

docs/evidence.md has the numbers, which are printed with `-s`.
"""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from workspace import Arrays, command, make_spec, succeed

from paragone.analysis import contests
from paragone.analysis.compliance import is_disturbed
from paragone.analysis.pairwise import verdicts
from paragone.records.record import read_contests

pytestmark = pytest.mark.alone
BACKENDS = ("torch", "torch-compile", "jax")


@contextmanager
def core_taken(seconds: float, pause: float) -> Iterator[None]:
    """Take one core for so many seconds, again after a pause, until the context ends."""
    loop = f"while :; do timeout --foreground {seconds} yes >/dev/null; sleep {pause}; done"
    with subprocess.Popen(["bash", "-c", loop], start_new_session=True) as taker:
        try:
            yield
        finally:
            os.killpg(taker.pid, signal.SIGKILL)


@pytest.mark.parametrize(("seconds", "pause"), [(15, 15), (60, 60), (1000, 0)])
def test_a_question_beside_a_process_that_takes_a_core(small: Arrays, tmp_path, seconds, pause):
    """Where it leaves the machine in peace for a while the question is timed, and otherwise it ends."""
    line = command(
        "hold_contests",
        question="small",
        specs=[make_spec("fashion-cnn", backend, global_batch=64) for backend in BACKENDS],
        manifest=small.manifest,
        data_folder=small.folder,
        contests=8,
        rounds=6,
        window_seconds=0.5,
        minutes=1,
        load=0.1,
        threads=2,
        record=tmp_path / "record.json",
    )
    with core_taken(seconds, pause):
        succeed(line, timeout=1200)
    record = read_contests(tmp_path / "record.json")
    proven = {("fashion-cnn", backend): True for backend in BACKENDS}
    table = contests.rounds([record], "", proven)
    calm = sum(
        not is_disturbed(contest, window)
        for contest in record.contests
        for window in contest.windows
    )
    rows = verdicts(table, {})
    took = sum(contest.seconds for contest in record.contests)
    lost = sum(contest.lost for contest in record.contests)
    print(f"\n{record.ended} after {took:.0f} s, {lost:.0f} s of them lost")
    print(rows[["first", "second", "n", "effect", "low", "high", "relation"]].to_string())
    assert table["examples_per_second"].count() <= calm
    if pause:
        assert rows["n"].min() >= 3
    else:
        assert record.ended == "busy"
        assert table["examples_per_second"].isna().all()
    assert max(contest.busiest.get("yes", 0) for contest in record.contests) > 0.3
