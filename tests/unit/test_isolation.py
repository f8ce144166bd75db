"""One's own work is no neighbour's, and what no sensor reports is null; NVML by a library in its place."""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from make_processes import make_activity
from make_records import make_record, typed
from msgspec.structs import replace
from workspace import run_python, succeed

from paragone.machine import nvml, own_accelerators
from paragone.machine.activity import HostWatch, stalled_seconds, throttle_files, throttles
from paragone.machine.energy import EnergyMeter
from paragone.records import host_metrics
from paragone.records.host_metrics import other_cpu_share
from paragone.records.run_record import Activity

SECONDS = 1.5


def test_own_work_and_that_of_ended_children_is_no_neighbour():
    watch = HostWatch([os.getpid()])
    mark, own = watch.mark(), time.process_time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    while time.process_time() - own < SECONDS:
        pass
    subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    of_children = sum(after[:2]) - sum(children[:2])
    (window,) = watch.since(mark)
    assert of_children > 0.05
    assert window.run == pytest.approx(time.process_time() - own + of_children, abs=0.1)


def test_another_rank_of_the_run_is_no_neighbour_and_a_process_of_others_is():
    """One process of a host reads for all of them; the others find nothing. One may end."""
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        ranks = [[os.getpid(), other.pid], [other.pid, os.getpid()], [os.getpid()]]
        first, second, _ = watches = [*map(HostWatch, ranks)]
        marks = [watch.mark() for watch in watches]
        time.sleep(SECONDS)
        found = [watch.since(mark) for watch, mark in zip(watches, marks, strict=True)]
    finally:
        other.kill()
        other.wait()
    (of_both,), nothing, (of_one,) = found
    assert second.life() is None
    assert nothing == []
    assert of_both.run > 0.1 * SECONDS
    assert of_one.run < of_both.run
    assert other_cpu_share([of_one]) > other_cpu_share([of_both])
    assert first.since(first.mark())[0].run >= 0


def test_shares_are_of_all_windows_together():
    """Of hosts without a neighbor, and with one; a hypervisor that takes a core away is one, too."""
    windows = [
        Activity(**make_activity(1.0, others=0.0)),
        Activity(**make_activity(3.0, others=0.2)),
        Activity(**make_activity(1.0, others=0.0, stolen=0.5)),
    ]
    assert other_cpu_share(windows[:1]) == 0
    assert other_cpu_share(windows[:2]) == pytest.approx(1.2 / 8)
    assert other_cpu_share(windows[2:]) == pytest.approx(0.5 / 2.5)
    assert other_cpu_share([]) is None


def write(path: Path, text: object) -> None:
    """As the kernel does: whoever reads at any moment sees a whole number."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name("new").write_text(f"{text}\n")
    path.with_name("new").replace(path)


def test_stalls_and_throttling_are_read_where_the_kernel_counts_them(tmp_path):
    assert stalled_seconds("cpu", tmp_path) is None
    assert throttles(throttle_files(tmp_path)) is None
    some = "some avg10=0.56 avg60=5.28 avg300=8.39 total=7295519345"
    write(tmp_path / "io", f"{some}\nfull avg10=0.00 total=12")
    assert stalled_seconds("io", tmp_path) == pytest.approx(7295.519345)
    for core, count in enumerate((3, 4)):
        folder = tmp_path / f"cpu{core}/thermal_throttle"
        write(folder / "core_throttle_count", count)
        write(folder / "package_throttle_count", 10)
    assert throttles(throttle_files(tmp_path)) == 27


def test_energy_of_all_packages_across_a_wrap(tmp_path):
    assert EnergyMeter(tmp_path).joules()["cpu_joules"] is None  # no sensor

    def zone(number: str, kind: str, drawn: int) -> None:
        folder = tmp_path / f"intel-rapl:{number}"
        write(folder / "name", kind)
        write(folder / "max_energy_range_uj", 1_000_000)
        write(folder / "energy_uj", drawn)

    zone("0", "package-0", 900_000)
    zone("1", "package-1", 100_000)
    zone("0:0", "core", 5)
    zone("2", "psys", 7)
    meter = EnergyMeter(tmp_path, period=0.05)
    before = meter.joules()["cpu_joules"]
    zone("0", "package-0", 200_000)  # 300,000 on, over the range
    zone("1", "package-1", 400_000)
    zone("2", "psys", 999_999)
    time.sleep(0.3)
    zone("0", "package-0", 100_000)  # 900,000 on, over it again
    assert meter.joules()["cpu_joules"] - before == pytest.approx(1.5)


def test_energy_is_that_of_the_speed_window_of_every_host_once():
    """Two ranks of a host and one of another: the second rank has none of its own."""
    (made,) = typed([make_record("torch-ddp", replicas=3)])

    def drawn(last: float | None, kind: str = "cpu") -> float | None:
        by_rank = ((20.0, 30.0), (), (last,))
        windows = [[Activity(**make_activity(1.0, cpu_joules=j)) for j in of] for of in by_rank]
        pairs = zip(made.processes, windows, strict=True)
        processes = [replace(process, window=window) for process, window in pairs]
        return host_metrics.joules(processes, kind)

    assert (drawn(5.0), drawn(5.0, "accelerator"), drawn(None)) == (55, None, None)


PROGRAM = """
import os, time
import msgspec
from paragone.machine import hardware, nvml, process_entry
from paragone.machine.activity import HostWatch
from paragone.records.run_record import Load
watch = HostWatch([os.getpid()])
mark = watch.mark()
time.sleep(0.6)
windows = [*watch.since(mark), *watch.since(watch.mark())]  # the second shorter than between samples
load = process_entry.load_at_end(Load(0.0), None)
facts = [hardware.describe(), load, windows, watch.life(), nvml.uuids()]
print(msgspec.json.encode(facts).decode())
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    """The folder of the library, compiled."""
    folder = tmp_path_factory.mktemp("nvml")
    source = Path(__file__).with_name("nvml_stand_in.c")
    succeed(["cc", "-shared", "-fPIC", "-o", folder / "libnvidia-ml.so.1", source])
    return folder


@pytest.mark.parametrize(
    ("mode", "slowed", "counts_energy"),
    [("", [0.0, 0.0], True), ("hot", [0.0, 1.0], True), ("mute", [0.0, 0.0], False)],
)
def test_clocks_power_and_energy_are_those_of_the_window(library, mode, slowed, counts_energy):
    """Throttling by heat and the power limit are two things; without a counter of energy there is none."""
    printed = run_python(PROGRAM, LD_LIBRARY_PATH=str(library), NVML_STAND_IN=mode)
    machine, load, (window, empty), life, uuids = json.loads(printed)
    assert machine["accelerators"] == ["Stand-in"] * 2
    assert machine["driver"] == "570.00"
    assert load["accelerator_power_limits"] == [700.0, 350.0]
    assert uuids == ["GPU-0", "GPU-1"]
    joules = pytest.approx(360 * window["seconds"], rel=0.1)
    assert window["accelerator_joules"] == (joules if counts_energy else None)
    for part in (window, life):
        assert part["accelerator_mhz"] == [1980.0, 345.0]
        assert part["accelerator_power_capped"] == [1.0, 0.0]
        assert part["accelerator_slowed"] == slowed
    assert empty["accelerator_mhz"] in (None, [1980.0, 345.0])


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ["GPU-0", "GPU-1"]),
        ({"CUDA_VISIBLE_DEVICES": "1"}, ["GPU-1"]),
        ({"CUDA_VISIBLE_DEVICES": "1,0"}, ["GPU-1", "GPU-0"]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-1", "SLURM_STEP_GPUS": "0"}, ["GPU-1"]),
    ],
)
def test_accelerators_are_told_apart_by_their_uuids(monkeypatch, variables, expected):
    for name in ("CUDA_VISIBLE_DEVICES", "SLURM_STEP_GPUS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(nvml, "uuids", lambda: ["GPU-0", "GPU-1"])
    assert own_accelerators.identities() == expected
