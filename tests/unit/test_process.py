"""The clocks of a process, where it ran, and its end: every second and every fact is recorded once."""

import json
import math
import platform
import time
from datetime import datetime

import psutil
import pytest
from make_records import make_record, typed
from workspace import run_python, succeed, waiting

from paragone.base.clock_names import COLD, PARTS
from paragone.machine import hardware, process_entry
from paragone.machine.process_entry import age, git_state
from paragone.records.run_record import GitState
from paragone.training.clocks import Ledger

PROGRAM = """
import json, time
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
    printed = run_python(PROGRAM)
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


def test_seconds_of_an_earlier_process_are_added_and_an_unknown_part_is_a_mistake():
    ledger = Ledger()
    ledger.switch("other")
    before = dict(ledger.seconds)
    ledger.add(dict.fromkeys(PARTS, 2.0))
    assert ledger.seconds == {part: value + 2 for part, value in before.items()}
    assert set(COLD) < set(ledger.seconds)
    ledger.switch("tea")
    with pytest.raises(KeyError):
        ledger.switch("train")


def test_the_fingerprint_is_the_machines_not_the_processes(monkeypatch):
    first = hardware.describe()
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    assert hardware.describe() == first
    assert process_entry.at_start().cores == 1


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("fpu avx avx2 fma", "AMD EPYC, AVX2"),
        ("fpu avx2 avx512f avx512_bf16", "AMD EPYC, AVX-512 with bfloat16"),
        ("fpu avx2 avx512f avx512_bf16 amx_bf16", "AMD EPYC, AMX"),
        ("fpu", "AMD EPYC"),
    ],
)
def test_processors_of_one_name_differ_by_their_instructions(flags, words):
    cpuinfo = f"processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: {flags}\n\n"
    assert hardware.processor(2 * cpuinfo) == words
    assert hardware.processor("processor\t: 0\nBogoMIPS\t: 50.00\n") == platform.machine()


def test_the_start_is_the_ledgers_zero():
    made = typed([make_record()])[0].processes[0]
    start = process_entry.at_start().started
    started = datetime.fromisoformat(start).timestamp()
    boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    ticks = psutil.Process().create_time() - psutil.boot_time()  # exact since boot
    assert started == pytest.approx(boot + ticks, abs=0.05)
    entry = process_entry.ending(made)
    passed = datetime.fromisoformat(entry.ended).timestamp() - started
    assert entry.age == pytest.approx(passed, abs=0.01)


def git(folder, *arguments):
    names = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    return succeed(["git", *names, *arguments], cwd=folder)


def test_git_state(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert git_state(tmp_path) is None
    git(tmp_path, "init")
    assert git_state(tmp_path) is None  # nothing is committed
    (tmp_path / "code.py").write_text("1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "one")
    head = git(tmp_path, "rev-parse", "HEAD").strip()
    assert git_state(tmp_path) == GitState(head, dirty=False)
    (tmp_path / "results.txt").write_text("not tracked")
    assert git_state(tmp_path).dirty is False
    (tmp_path / "code.py").write_text("2")
    assert git_state(tmp_path) == GitState(head, dirty=True)


ENDING = """
import atexit, sys, threading, time
from paragone.base.processes import end_process

class Held:
    def __del__(self):
        print("freed")

def work():
    time.sleep(0.3)
    print("waited for")

held = Held()
atexit.register(print, "registered")
threading.Thread(target=work).start()
sys.stdout.write("written\\n")
end_process()
"""


def test_it_writes_waits_and_calls_what_is_registered():
    assert run_python(ENDING) == "written\nwaited for\nregistered\n"


def test_what_cannot_be_written_is_a_status():
    """120, Python's own."""
    with waiting(ENDING, PYTHONUNBUFFERED="") as process:
        process.stdout.close()
    assert process.returncode == 120
