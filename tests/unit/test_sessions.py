"""An hour is not a machine: contests of several calls, which add up and are never paired."""

import copy
import os
import time

import pytest
from plan import Plan
from workspace import CONFIG, ROOT

from paragone.config import plan
from paragone.config.questions import HOUR

ASKED = {
    "workload": "fashion-cnn",
    "repeats": 1,
    "contests": 3,
    "matrix": [{"backend": ["torch", "jax"], "replicas": 1}],
    "title": "t",
    "published": "",
    "tables": [],
    "figures": ["rounds"],
}


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
