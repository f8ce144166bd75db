"""Every second of a process is charged to exactly one part."""

import json
import math
import subprocess
import sys
import time

import pytest
from workspace import ROOT

from paragone.base.clock_names import COLD, PARTS
from paragone.machine.process_entry import age
from paragone.training.clocks import Ledger

PROGRAM = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from paragone.machine.process_entry import age
from paragone.training.clocks import Ledger
time.sleep(0.1)
ledger = Ledger()
for part in ("data", "train", "evaluate", "train", "other"):
    ledger.switch(part)
    time.sleep(0.05)
before = age()
ledger.switch("other")
print(json.dumps([ledger.seconds, before]))
"""


def test_parts_are_the_life_of_the_process():
    """From its start as the kernel and its parent know it, imports before the ledger included."""
    begun = time.perf_counter()
    printed = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT / "scripts")],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    life = time.perf_counter() - begun
    seconds, before = json.loads(printed)
    tick = 0.02  # the kernel knows starts to a hundredth of a second
    assert before - tick < math.fsum(seconds.values()) < life + tick
    assert seconds["imports"] >= 0.09
    assert seconds["train"] >= 0.1
    assert seconds["data"] >= 0.05
    assert seconds["compilation"] == 0


def test_a_process_that_waits_for_a_core_between_two_clocks_has_the_same_age(monkeypatch):
    """Once while its ledger is made, once while its end is marked."""
    clock, waits = time.clock_gettime, [0.1]

    def held_up(number: int) -> float:
        time.sleep(waits.pop() if waits else 0)
        return clock(number)

    monkeypatch.setattr(time, "clock_gettime", held_up)
    ledger = Ledger()
    waits.append(0.1)
    ledger.switch("other")
    time.sleep(0.1)
    assert age(ledger.mark) == pytest.approx(math.fsum(ledger.seconds.values()), abs=0.01)


def test_windows_are_what_is_added():
    ledger = Ledger()
    begun = time.perf_counter()
    ledger.switch("devices")
    first = time.perf_counter()
    windows = {"train": 0.0, "evaluate": 0.0}
    ledger.switch("train")
    for _ in range(50):
        windows["train"] += ledger.switch("evaluate")
        windows["evaluate"] += ledger.switch("train")
    before = time.perf_counter()
    last = ledger.switch("other")
    passed = time.perf_counter() - begun
    assert ledger.seconds["train"] == pytest.approx(windows["train"] + last, rel=1e-12)
    assert ledger.seconds["evaluate"] == pytest.approx(windows["evaluate"], rel=1e-12)
    measured = math.fsum(v for part, v in ledger.seconds.items() if part != "imports")
    assert before - first <= measured <= passed


def test_seconds_of_an_earlier_process_are_added():
    ledger = Ledger()
    ledger.switch("other")
    before = dict(ledger.seconds)
    ledger.add(dict.fromkeys(PARTS, 2.0))
    assert ledger.seconds == {part: value + 2 for part, value in before.items()}


def test_unknown_part_is_a_mistake():
    ledger = Ledger()
    ledger.switch("tea")
    with pytest.raises(KeyError):
        ledger.switch("train")


def test_cold_parts_are_parts():
    assert set(COLD) < set(PARTS)
    assert len(set(PARTS)) == len(PARTS)
