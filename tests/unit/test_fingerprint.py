"""Where a result is from: machine, code, start; results of different machines are kept apart."""

import subprocess
import time
from datetime import datetime

import psutil
import pytest
from make_records import make_record, typed
from msgspec.structs import replace

from paragone.analysis import columns, tidy
from paragone.analysis.grouping import series_of
from paragone.machine import hardware, process_entry
from paragone.machine.process_entry import git_state
from paragone.records.run_record import GitState


def test_a_machine_is_named_with_its_accelerators():
    process = typed([make_record()])[0].processes[0]
    found = process.machine
    machine = replace(found, accelerators=["NVIDIA A", *["NVIDIA B"] * 8])
    label = columns.machine_label(replace(process, machine=machine, cores=16))
    assert label == (
        f"{found.host}: {found.processor}, 16 cores, NVIDIA A, 8 x NVIDIA B [{found.fingerprint[:6]}]"
    )


def test_the_fingerprint_is_the_machines_not_the_processes(monkeypatch):
    first = hardware.describe()
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    assert hardware.describe() == first
    assert process_entry.at_start().cores == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("platform.node", "elsewhere"),
        ("platform.platform", "Linux-0.1"),
        ("psutil.cpu_count", 1024),
        ("paragone.machine.nvml.names", ["NVIDIA H100"]),
        ("paragone.machine.nvml.driver", "999.1"),
        ("paragone.machine.hardware._processor", "abacus"),
    ],
)
def test_another_machine_has_another_fingerprint(monkeypatch, name, value):
    before = hardware.describe().fingerprint
    monkeypatch.setattr(name, lambda *_: value)
    assert hardware.describe().fingerprint != before


def test_machines_that_share_a_name_are_kept_apart():
    made = [make_record(seed=seed) for seed in range(2)]
    made[1]["processes"][0]["machine"]["fingerprint"] = "d" * 64
    runs, _ = tidy.tables(typed(made), "one", {})
    series = series_of(runs, {})
    assert [len(one.runs) for one in series] == [1, 1]
    assert sum("[dddddd]" in one.label for one in series) == 1


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
    line = ["git", *names, *arguments]
    return subprocess.run(line, cwd=folder, check=True, capture_output=True, text=True).stdout


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
