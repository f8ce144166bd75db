"""A busy neighbour is seen, one's own work is none, and what no sensor reports is null."""

import os
import resource
import subprocess
import sys
import time
from contextlib import contextmanager

import pandas as pd
import psutil
import pytest
from make_processes import make_activity
from make_records import make_record, typed
from msgspec.structs import replace

from paragone.machine.activity import HostWatch, stalled_seconds, throttle_files, throttles
from paragone.machine.energy import EnergyMeter
from paragone.records import host_metrics
from paragone.records.host_metrics import other_cpu_share
from paragone.records.run_record import Activity
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


def watched(seconds: float, work=time.sleep) -> tuple[Activity, HostWatch]:
    """What the host did while this process worked for so long."""
    watch = HostWatch([os.getpid()])
    mark = watch.mark()
    work(seconds)
    return watch.since(mark)[0], watch


def test_a_busy_neighbour_is_seen():
    """At least the share of the machine that it was seen to use."""
    with neighbours(max(1, os.cpu_count() // 4)) as processes:
        time.sleep(0.3)
        before = seconds(processes)
        window, watch = watched(SECONDS)
        used = seconds(processes) - before
    share = used / window.seconds / os.cpu_count()
    assert other_cpu_share([window]) > 0.8 * share > 0
    assert watch.life().busy >= window.busy


def spin(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def test_own_work_is_no_neighbour():
    """What this process computes is its own CPU time, which is none of the others'."""
    before = time.process_time()
    window, _ = watched(SECONDS, spin)
    assert window.run == pytest.approx(time.process_time() - before, abs=0.1)


def test_another_rank_of_the_run_is_no_neighbour():
    """One process of a host reads for all of them; the others find nothing."""
    with neighbours(1) as (other,):
        first, second = HostWatch([os.getpid(), other.pid]), HostWatch([other.pid, os.getpid()])
        marks = first.mark(), second.mark()
        time.sleep(SECONDS)
        (window,), nothing = first.since(marks[0]), second.since(marks[1])
    assert second.life() is None
    assert nothing == []
    assert window.run > 0.1 * SECONDS


def test_shares_are_of_all_windows_together():
    """Of hosts without a neighbor, and with one; a hypervisor that takes a core away is one, too."""
    alone, beside, stolen = (
        make_activity(1.0, others=0.0),
        make_activity(3.0, others=0.2),
        make_activity(1.0, others=0.0, stolen=0.5),
    )
    windows = [Activity(**one) for one in (alone, beside, stolen)]
    assert other_cpu_share(windows[:1]) == 0
    assert other_cpu_share(windows[:2]) == pytest.approx(1.2 / 8)
    assert other_cpu_share(windows[2:]) == pytest.approx(0.5 / 2.5)
    assert other_cpu_share([]) is None


def test_stalls_are_read_where_the_kernel_counts_them(tmp_path):
    assert stalled_seconds("cpu", tmp_path) is None
    (tmp_path / "io").write_text(
        "some avg10=0.56 avg60=5.28 avg300=8.39 total=7295519345\nfull avg10=0.00 total=12\n"
    )
    assert stalled_seconds("io", tmp_path) == pytest.approx(7295.519345)


def test_throttling_is_counted_over_cores_and_packages(tmp_path):
    assert throttles(throttle_files(tmp_path)) is None
    for core, count in enumerate((3, 4)):
        folder = tmp_path / f"cpu{core}/thermal_throttle"
        folder.mkdir(parents=True)
        (folder / "core_throttle_count").write_text(f"{count}\n")
        (folder / "package_throttle_count").write_text("10\n")
    assert throttles(throttle_files(tmp_path)) == 27


def zone(folder, name, kind, drawn, size=1_000_000):
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "name").write_text(f"{kind}\n")
    # As a counter of the kernel: whoever reads at any moment sees a whole number.
    (folder / name / "new").write_text(f"{drawn}\n")
    (folder / name / "new").replace(folder / name / "energy_uj")
    (folder / name / "max_energy_range_uj").write_text(f"{size}\n")


def test_energy_of_all_packages_across_a_wrap(tmp_path):
    zone(tmp_path, "intel-rapl:0", "package-0", 900_000)
    zone(tmp_path, "intel-rapl:1", "package-1", 100_000)
    zone(tmp_path, "intel-rapl:0:0", "core", 5)
    zone(tmp_path, "intel-rapl:2", "psys", 7)
    meter = EnergyMeter(tmp_path, period=0.05)
    before = meter.joules()["cpu_joules"]
    zone(tmp_path, "intel-rapl:0", "package-0", 200_000)  # 300,000 on, over the range
    zone(tmp_path, "intel-rapl:1", "package-1", 400_000)
    zone(tmp_path, "intel-rapl:2", "psys", 999_999)
    time.sleep(0.3)
    zone(tmp_path, "intel-rapl:0", "package-0", 100_000)  # 900,000 on, over it again
    assert meter.joules()["cpu_joules"] - before == pytest.approx(1.5)


def test_energy_is_that_of_the_speed_window_of_every_host_once():
    """Two ranks of a host and one of another: the second rank has none of its own."""
    (made,) = typed([make_record("torch-ddp", replicas=3)])

    def drawn(last: float | None, kind: str = "cpu") -> float | None:
        by_rank = ((20.0, 30.0), (), (last,))
        windows = [[Activity(**make_activity(1.0, cpu_joules=j)) for j in of] for of in by_rank]
        pairs = zip(made.processes, windows, strict=True)
        return host_metrics.joules([replace(one, window=window) for one, window in pairs], kind)

    assert drawn(5.0) == 55
    assert drawn(5.0, "accelerator") is None
    assert drawn(None) is None


def test_figures_warn_of_disturbed_runs():
    runs = pd.DataFrame(
        {"busy": [True, False, None], "other_cpu_share": [0.4, 0.01, None], "throttled": [None] * 3}
    ).astype({"busy": "boolean", "throttled": "boolean"})
    (busy,) = footnotes.isolation(runs)
    assert all(words in busy for words in ("BUSY MACHINE", "40 %", "1 of 3 runs"))
    assert footnotes.isolation(runs.iloc[1:]) == []
    (slow,) = footnotes.isolation(runs.iloc[1:].assign(throttled=[True, False]))
    assert "THROTTLED" in slow


def test_a_rank_that_has_ended_is_no_error():
    with neighbours(1) as (other,):
        watch = HostWatch([os.getpid(), other.pid])
    assert watch.since(watch.mark())[0].run >= 0


def test_the_work_of_children_is_own_work():
    """Of those that have ended and were waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    line = [sys.executable, "-c", "sum(range(10**7))"]
    window, _ = watched(0, lambda _: subprocess.run(line, check=True))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = sum(after[:2]) - sum(before[:2])
    assert used > 0.05
    assert window.run > used - 0.03  # counted in hundredths of a second


def test_no_sensor_no_energy(tmp_path):
    assert EnergyMeter(tmp_path).joules()["cpu_joules"] is None
