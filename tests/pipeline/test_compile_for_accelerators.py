"""Each backend that XLA can compile, for the sources' TPU and for GPUs: what cannot run there fails here."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from workspace import CONFIG, ROOT, environment

from paragone.ahead_of_time.compilers import installed
from paragone.config.compilations import Compilation, compilations, target_of, validations
from paragone.records.compilations import CompilationRecord, check_compilation, check_measured_step
from paragone.records.measurements import read

pytestmark = pytest.mark.full

TPU, GPU = "tpu-v2-8", "h100-8"
GPU_REQUIRED = "PARAGONE_GPU_COMPILER_REQUIRED" in os.environ  # in CI
PROGRAMS: dict[str, Compilation] = {}  # the first of each backend
for one in compilations(CONFIG, "sources_tpu")[0]:
    PROGRAMS.setdefault(one.program.spec.backend["name"], one)


def run(program: str, *arguments: str) -> str:
    line = [sys.executable, ROOT / "scripts" / program, *arguments]
    done = subprocess.run(
        line, env=environment(), capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class Step:
    """One exported step."""

    def __init__(self, one: Compilation, folder: Path) -> None:
        self.folder = folder
        self.module = ["--stablehlo", str(folder / "step.mlir")]
        self.module += ["--description", str(folder / "step.json")]
        run("export_step.py", "--program", one.program.to_json(), *self.module)

    def compiled(self, target: str, **changes: Any) -> CompilationRecord:
        """The record of compiling it for a target, with other values of some of its keys."""
        path = self.folder / f"{target}.json"
        described = json.dumps({**target_of(CONFIG, target, "test"), **changes})
        run("compile_step.py", *self.module, "--target", described, "--record", str(path))
        return read(path, check_compilation)


@pytest.fixture(scope="module", params=sorted(PROGRAMS))
def step(request, tmp_path_factory):
    return Step(PROGRAMS[request.param], tmp_path_factory.mktemp(request.param))


def test_the_whole_step_compiles_for_the_tpu_of_the_sources(step):
    record = step.compiled(TPU)
    assert (record.status, record.reason) == ("compiled", None)
    assert record.fits
    assert record.program.partitions * record.program.replicas == 8
    # All gradients are added over all cores, and nothing much larger is.
    reduced = sum(one.bytes * one.count for one in record.collectives if one.kind == "all-reduce")
    assert 4 * record.program.parameters <= reduced < 4 * record.program.parameters * 1.1 + 4096
    assert {one.group for one in record.collectives} == {8}
    # The compiler counts activations, losses and the optimizer as well: that is little of a convolution.
    counted = record.program.flop_per_example * record.program.global_batch / 8
    assert 1 <= record.cost.flop / counted < 1.35
    assert record.cost.memory_traffic <= record.cost.bytes_accessed


def test_it_compiles_for_gpus_or_says_that_their_compiler_is_not_installed(step):
    record = step.compiled(GPU, cache=0)  # which would keep all arrays of a model so small
    if GPU_REQUIRED or installed("jax_plugins.xla_cuda12"):
        assert (record.status, record.reason) == ("compiled", None)
        assert record.cost.memory_traffic > 0
        # This compiler counts nothing.
        assert (record.cost.flop, record.cost.bytes_accessed) == (None, None)
    else:
        assert record.status == "no_compiler"
        assert "its wheels are large" in record.reason


def test_a_refusal_is_one_line_in_the_record(step):
    if step.folder.name.startswith("jax"):  # that of the compiler, whatever the program
        record = step.compiled(TPU, topology="v99:2x2")
        assert record.status == "refused"
        assert record.reason.startswith("topology v99:2x2: ")
        assert "\n" not in record.reason
        record = step.compiled(TPU, memory=1e6)
        assert (record.status, record.fits) == ("compiled", False)
        assert record.excess_bytes == record.memory.total - 1_000_000


def test_a_step_over_two_virtual_devices_is_measured_with_its_all_reduce(tmp_path):
    row = {"workload": "fashion-conv", "backend": "jax", "global_batch": 32, "devices": 2}
    study = {"made": {"programs": [], "validation": [row]}}
    config = CONFIG | {"ahead_of_time": CONFIG["ahead_of_time"] | {"studies": study}}
    (program,) = validations(config, "made")
    module = [
        "--stablehlo",
        str(tmp_path / "step.mlir"),
        "--description",
        str(tmp_path / "step.json"),
    ]
    run("export_step.py", "--program", program.to_json(), *module)
    run("measure_step.py", *module, "--threads", "2", "--output", str(tmp_path / "measured.json"))
    result = read(tmp_path / "measured.json", check_measured_step)
    assert result.program.devices == 2
    reduced = sum(one.bytes * one.count for one in result.collectives if one.kind == "all-reduce")
    assert 4 * result.program.parameters <= reduced < 4 * result.program.parameters * 1.1 + 4096
    assert {one.group for one in result.collectives} == {2}
    # Each device has half of the examples.
    counted = result.program.flop_per_example * result.program.global_batch / 2
    assert 1 <= result.cost.flop / counted < 1.35
