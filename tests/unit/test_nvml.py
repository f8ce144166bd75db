"""What NVML reports of accelerators, through a library in its place that answers as its header says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from workspace import ROOT, environment

from paragone.machine import nvml, own_accelerators

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
    line = ["cc", "-shared", "-fPIC", "-o", folder / "libnvidia-ml.so.1", source]
    subprocess.run(line, check=True)
    return folder


@pytest.mark.parametrize(
    ("mode", "slowed", "counts_energy"),
    [("", [0.0, 0.0], True), ("hot", [0.0, 1.0], True), ("mute", [0.0, 0.0], False)],
)
def test_clocks_power_and_energy_are_those_of_the_window(library, mode, slowed, counts_energy):
    """Heat is told from the power limit; an accelerator without a counter of energy has none."""
    variables = {"LD_LIBRARY_PATH": str(library), "NVML_STAND_IN": mode}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment(PYTHONPATH=str(ROOT / "scripts"), **variables),
        capture_output=True,
        check=True,
        timeout=60,
    )
    machine, load, (window, empty), life, uuids = json.loads(done.stdout)
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
