"""A busy neighbour is seen, one's own work is none, and what no sensor tells is null."""

import os
import resource
import subprocess
import sys
import time
from contextlib import contextmanager

import pandas as pd
import psutil
import pytest

from paragone.machine import load
from paragone.machine.energy import EnergyMeter
from paragone.machine.load import BUSY_SHARE, LoadWatch, cpu_throttles
from paragone.reporting import footnotes

SECONDS = 1.5


@contextmanager
def neighbours(count: int):
    """So many processes that compute all the time, none of them a child that was waited for."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield [psutil.Process(one.pid) for one in started]
    finally:
        for one in started:
            one.kill()
            one.wait()


def seconds(processes: list[psutil.Process]) -> float:
    return sum(sum(one.cpu_times()[:2]) for one in processes)


def test_a_busy_neighbour_raises_the_flag():
    """By at least the share of the machine that it was seen to use."""
    with neighbours(max(1, os.cpu_count() // 4)) as processes:
        time.sleep(0.3)
        watch, before, begun = LoadWatch(), seconds(processes), time.perf_counter()
        time.sleep(SECONDS)
        used, passed = seconds(processes) - before, time.perf_counter() - begun
        load = watch.stop()
    share = used / passed / os.cpu_count()
    assert load["other_cpu_share"] > 0.8 * share > BUSY_SHARE
    assert load["busy"] is True


def test_own_work_is_no_neighbour():
    """Others use this machine too: at most what all other processes were seen to use is found."""
    beyond = []
    for _ in range(4):
        others = [one for one in psutil.process_iter() if one.pid != os.getpid()]
        watch, before, begun = LoadWatch(), _known(others), time.perf_counter()
        while time.perf_counter() < begun + SECONDS:
            pass
        load = watch.stop()
        passed = time.perf_counter() - begun
        after = _known(others)
        used = sum(after[pid] - before[pid] for pid in before.keys() & after.keys())
        assert load["busy"] is (load["other_cpu_share"] > BUSY_SHARE)
        beyond.append(load["other_cpu_share"] - used / passed / os.cpu_count())
    assert min(beyond) < BUSY_SHARE


def test_the_work_of_children_is_own_work():
    """Of those that have ended and were waited for."""
    watch, before = LoadWatch(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = sum(after[:2]) - sum(before[:2])
    assert used > 0.05
    assert watch.cpu_seconds()["own"] > used - 0.03  # counted in hundredths of a second


def _known(processes: list[psutil.Process]) -> dict[int, float]:
    found = {}
    for one in processes:
        try:
            found[one.pid] = sum(one.cpu_times()[:2])
        except psutil.NoSuchProcess:
            continue
    return found


@pytest.mark.parametrize(("share", "busy"), [(BUSY_SHARE, False), (BUSY_SHARE + 1e-6, True)])
def test_the_threshold(monkeypatch, share, busy):
    seconds = {"own": 0.0, "busy": share, "idle": 1 - share}
    monkeypatch.setattr(LoadWatch, "cpu_seconds", lambda _: seconds)
    assert LoadWatch().stop()["busy"] is busy


def test_a_killed_process_leaves_unknowns():
    found = load.unknown()
    assert set(found) == {"before", *LoadWatch().stop()}
    assert [key for key, value in found.items() if value is not None] == ["before"]


def test_throttling_is_counted_over_cores_and_packages(tmp_path):
    assert cpu_throttles(tmp_path) is None
    for core, count in enumerate((3, 4)):
        folder = tmp_path / f"cpu{core}/thermal_throttle"
        folder.mkdir(parents=True)
        (folder / "core_throttle_count").write_text(f"{count}\n")
        (folder / "package_throttle_count").write_text("10\n")
    assert cpu_throttles(tmp_path) == 27


def zone(folder, name, kind, drawn, size=1_000_000):
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "name").write_text(f"{kind}\n")
    (folder / name / "energy_uj").write_text(f"{drawn}\n")
    (folder / name / "max_energy_range_uj").write_text(f"{size}\n")


def test_energy_of_all_packages_across_a_wrap(tmp_path):
    zone(tmp_path, "intel-rapl:0", "package-0", 900_000)
    zone(tmp_path, "intel-rapl:1", "package-1", 100_000)
    zone(tmp_path, "intel-rapl:0:0", "core", 5)
    zone(tmp_path, "intel-rapl:2", "psys", 7)
    meter = EnergyMeter(tmp_path, period=0.05)
    zone(tmp_path, "intel-rapl:0", "package-0", 200_000)  # 300,000 on, over the range
    zone(tmp_path, "intel-rapl:1", "package-1", 400_000)
    zone(tmp_path, "intel-rapl:2", "psys", 999_999)
    time.sleep(0.3)
    zone(tmp_path, "intel-rapl:0", "package-0", 100_000)  # 900,000 on, over it again
    assert meter.stop()["cpu_joules"] == pytest.approx(1.5)


def test_no_sensor_no_energy(tmp_path):
    assert EnergyMeter(tmp_path).stop()["cpu_joules"] is None


def test_figures_warn_of_disturbed_runs():
    runs = pd.DataFrame(
        {"busy": [True, False, None], "other_cpu_share": [0.4, 0.01, None], "throttled": [None] * 3}
    ).astype({"busy": "boolean", "throttled": "boolean"})
    (warning,) = footnotes.isolation(runs)
    assert "BUSY MACHINE" in warning
    assert "40 %" in warning
    assert "1 of 3 runs" in warning
    assert footnotes.isolation(runs.iloc[1:]) == []
    slow = footnotes.isolation(runs.iloc[1:].assign(throttled=[True, False]))
    assert len(slow) == 1
    assert "THROTTLED" in slow[0]
