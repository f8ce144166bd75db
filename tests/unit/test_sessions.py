"""An hour is not a machine: contests of several calls, which add up and are never paired."""

import copy
import os
import time
from datetime import datetime

import pandas as pd
import pytest
from make_contests import make_contests
from make_records import PROVEN, make_record, set_times, tabulated
from plan import Plan
from workspace import CONFIG, ROOT

from paragone.analysis import contests
from paragone.analysis.pairwise import BETTER, NOT_COMPARED, UNDECIDED, differences, verdicts
from paragone.analysis.sessions import numbered
from paragone.config import plan
from paragone.config.questions import HOUR

ASKED = {"title": "t", "workload": "fashion-cnn", "repeats": 1, "contests": 3, "published": ""}
ASKED |= {"matrix": [{"backend": ["torch", "jax"], "replicas": 1}]}
ASKED |= {"figures": ["rounds"], "tables": []}


def planned(sessions: int, *, main: bool = True, **changes) -> Plan:
    config = copy.deepcopy({**CONFIG, "experiments": {"asked": ASKED}, **changes})
    config["primary"]["experiment"] = "asked"
    config["contest"]["sessions"] = sessions
    return plan.Plan(config, ROOT, main)


@pytest.mark.parametrize(
    ("held", "age", "wanted", "expected"),
    [
        (0, None, 3, 1),  # one call holds one session
        (1, 2 * HOUR, 1, 1),
        (1, HOUR / 2, 3, 1),  # still the same hour
        (1, 2 * HOUR, 3, 2),
        (3, 2 * HOUR, 2, 3),  # what is there counts
    ],
)
def test_a_call_adds_a_session_to_those_that_were_held(
    tmp_path, monkeypatch, held, age, wanted, expected
):
    monkeypatch.chdir(tmp_path)
    (name,) = planned(1).timed
    for session in range(1, held + 1):
        record = tmp_path / f"results/contests/{name}/{session}/record.json"
        record.parent.mkdir(parents=True)
        record.touch()
        os.utime(record, (time.time() - age,) * 2)
    made = planned(wanted)
    paths = [f"<results>/contests/{name}/{each}/record.json" for each in range(1, expected + 1)]
    assert made.timings("asked") == made.timings() == paths
    assert any("contest.sessions" in each for each in made.notices) is (expected < wanted)
    # A job of a call that goes on for hours plans no further session, nor does drawing.
    assert len(planned(wanted, main=False).timings()) == max(held, 1)
    assert len(planned(wanted, records_only=True).timings()) == held
    assert bool(planned(wanted, records_only=True).sections["asked"]["figures"]) is (held > 0)


def test_a_session_begins_after_an_hour_without_a_measurement():
    """Out of order; the third goes on for two hours, the last began at a time that is not known."""
    started = ["10:50", "10:00", "11:40", "14:30", "15:31", None]
    times = pd.Series([each and f"2026-01-01T{each}:00+00:00" for each in started])
    seconds = pd.Series([1.0, 1, 2 * HOUR, 1, 1, 1])
    assert numbered(times, seconds).tolist() == [1, 1, 1, 1, 2, pd.NA]


@pytest.mark.parametrize(
    ("days", "unit", "n", "relation"),
    [(1, "contest", 4, BETTER), (2, "contest", 8, BETTER), (3, "session", 3, UNDECIDED)],
)
def test_from_three_sessions_on_these_are_the_unit(days, unit, n, relation):
    """Twelve contests would decide what three days, of which each has another ratio, do not."""
    held = [
        make_contests(
            f"2026-01-0{day}T10:00:00+00:00",
            *({"torch": 1e5 * (ratio + 0.01 * number), "torch-xla": 1e5} for number in range(4)),
        )
        for day, ratio in [(1, 1.1), (2, 1.25), (3, 1.1)][:days]
    ]
    rounds = contests.rounds(held, "one", PROVEN)
    (row,) = verdicts(rounds, {}).to_dict("records")
    assert (row["unit"], row["n"], row["sessions"]) == (unit, n, days)
    assert row["relation"] == relation
    assert row["unit_seconds"] == pytest.approx(
        rounds["contest_seconds"].mean() * (4 if unit == "session" else 1)
    )


def test_times_of_runs_of_two_calls_are_never_paired_by_seed():
    """The second backend was trained on another day, when the machine was twice as fast."""
    made = [
        make_record(backend, seed=seed, speed=speed)
        for backend, speed in (("torch", 100.0), ("torch-xla", 200.0))
        for seed in range(8)
    ]

    def rows(day: int) -> dict[str, dict]:
        for record in made[8:]:
            set_times(record, datetime.fromisoformat(f"2026-01-0{day}T00:00:00+00:00"))
        return differences(tabulated(made)[0], {}).set_index("metric").to_dict("index")

    paired, apart = rows(1), rows(2)
    assert [paired[name]["n"] for name in ("speed", "end to end", "test accuracy")] == [8, 8, 8]
    assert paired["speed"]["sessions"] == 1
    for metric in ("speed", "end to end"):
        assert (apart[metric]["n"], apart[metric]["relation"]) == (0, NOT_COMPARED)
    assert apart["test accuracy"]["n"] == 8  # which does not depend on the hour
