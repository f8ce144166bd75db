"""Training steps under each framework's own profiler, and runs that cannot be profiled."""

import site
import sys

import pandas as pd
import pytest
from workspace import INDUCTOR, ROOT, changed, command, job, make_spec, succeed, write_files

import tabulate_profiles
from paragone.base.interpreters import Interpreter
from paragone.base.typed_json import read, write
from profilers import Line, Operation, operations_of
from step_profiles import ProfileRecord

pytestmark = pytest.mark.full

# Backend, replicas, and names of which one is among the costliest; a row per profiler, and workers.
CASES = [
    ("tensorflow-mirrored", 1, ["Conv2D", "MaxPool", "MatMul"]),
    ("jax", 1, ["fusion", "convolution", "dot"]),
    ("torch-ddp", 2, ["aten::"]),
]


def profiled(spec, arrays, folder, *pythons):
    """The record that the program wrote, the only file in the folder, and what it printed.

    `pythons`: the file that names the Python of the backend.
    """
    options = {"manifest": arrays.manifest, "data_folder": arrays.folder, "threads": 2}
    options["pythons"] = pythons
    line = command("profile_steps", spec=spec, profile=folder / "run.json", **options)
    line[1] = str(ROOT / "workflows/profiles/profile_steps.py")
    printed = succeed(line, **INDUCTOR)
    assert [path.name for path in folder.iterdir()] == ["run.json"]
    return read(ProfileRecord, folder / "run.json", "profile"), printed


@pytest.mark.parametrize(("backend", "replicas", "names"), CASES)
def test_the_costliest_operations_of_a_step(small, tmp_path, backend, replicas, names):
    spec = make_spec("fashion-conv", backend, replicas, 64)
    record, printed = profiled(spec, small, tmp_path)
    assert (record.status, record.reason, record.spec) == ("completed", None, spec)
    operations, first = record.profile.operations, record.profile.operations[0]
    assert len(operations) == min(10, record.profile.all_operations)
    assert any(name in operation.name for operation in operations for name in names)
    assert sum(operation.share for operation in operations) <= 1 + 1e-9
    assert first.name in printed
    assert record.profile.profiled_milliseconds > first.milliseconds > 0
    assert record.profile.alone_milliseconds > 0


def test_runs_that_cannot_be_profiled_have_a_status_and_a_row(small, tmp_path):
    spec = make_spec("fashion-conv", "torch")
    absent = changed(spec, backend={"device": "tpu"})
    unknown = changed(spec, backend={"engine": "other"})
    paths = []
    for name, each in {"unavailable": absent, "no_profiler": unknown}.items():
        (tmp_path / name).mkdir()
        record, printed = profiled(each, small, tmp_path / name)
        assert (record.status, record.profile) == (name, None)
        assert f"{name}: {record.reason}" in printed
        paths.append(tmp_path / name / "run.json")
    csv, markdown = tmp_path / "all.csv", tmp_path / "all.md"
    tabulate_profiles.main(job(profiles=paths, csv=csv, markdown=markdown))
    assert pd.read_csv(csv)["operation"].tolist() == [
        "unavailable: 1 replica(s) on tpu asked for; PyTorch sees no tpu here",
        "no_profiler: engine other has no profiler",
    ]


def test_a_variant_is_profiled_by_the_python_of_its_environment(small, tmp_path):
    """A virtual environment with the packages of this one, but for the version that NumPy says it has."""
    folder, (own,) = tmp_path / "own", site.getsitepackages()
    succeed([sys.executable, "-m", "venv", "--without-pip", folder])
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "others.pth").write_text(f"{own}\n")
    metadata = "Metadata-Version: 2.1\nName: numpy\nVersion: 99.0\n"
    write_files(packages, {"numpy-99.0.dist-info/METADATA": metadata})
    spec = make_spec("fashion-conv", "torch")
    expected = {"python": str(folder / "bin/python")}, {"reason": "there is no such version"}
    (tmp_path / "profile").mkdir()
    for given, status in zip(expected, ("completed", "unavailable"), strict=True):
        write(Interpreter(**given), file := tmp_path / "torch.json")
        record, _ = profiled(spec, small, tmp_path / "profile", file)
        assert (record.status, record.reason) == (status, given.get("reason"))
        if status == "completed":
            assert record.process.software["numpy"] == "99.0"
            assert record.profile.operations[0].name.startswith("aten::")


def test_time_inside_an_operation_is_not_its_own():
    events = [("inner", 2.0, 3.0), ("outer", 0.0, 10.0), ("inner", 6.0, 1.0)]
    first = Line("/host:CPU", "a thread", [*events, ("innermost", 3.0, 1.0)])
    after = Line("/host:CPU", "a thread", [("outer", 10.0, 2.0), ("outer", 12.0, 2.0)])
    other = Line("/host:CPU", "another", [("inner", 0.0, 5.0)])
    found = operations_of([first, after, other])
    expected = {"outer": (3, 6.0 + 4.0), "inner": (3, 2.0 + 1.0 + 5.0), "innermost": (1, 1.0)}
    assert {each.name: each for each in found} == {
        name: Operation(name, *of) for name, of in expected.items()
    }
