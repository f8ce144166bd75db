"""A step of each backend that XLA compiles, for the sources' TPU and a GPU, and one that runs here."""

import os
import sys
from pathlib import Path

import msgspec
import pytest
import yaml
from workspace import CONFIG, ROOT, succeed

from ahead_of_time.compilers import installed
from ahead_of_time.plan import Plan, plan_of
from ahead_of_time.records import Compilation, MeasuredStep, Target
from paragone.base.typed_json import read

pytestmark = pytest.mark.full

FOLDER = ROOT / "workflows/ahead_of_time"
PLAN = plan_of(CONFIG | yaml.safe_load((FOLDER / "config.yaml").read_text()))
TPU, GPU = PLAN.block.targets["tpu-v2-8"], PLAN.block.targets["gtx-1080-ti-2"]
GPU_REQUIRED = "PARAGONE_GPU_COMPILER_REQUIRED" in os.environ  # in CI
STEPS: dict[str, str] = {}  # the first published step on that TPU of each backend
for step, target in PLAN.published:
    if target == "tpu-v2-8":
        STEPS.setdefault(PLAN.steps[step].backend.name, step)


def run(program: str, *arguments: str) -> None:
    succeed([sys.executable, FOLDER / program, *arguments], timeout=300)


def about(plan: Plan, step: str) -> list[str]:
    """The options of a program on a step."""
    example = msgspec.json.encode(plan.example(step)).decode()
    return ["--spec", plan.steps[step].to_json(), "--example", example]


def compiled(backend: str, target: Target, folder: Path) -> Compilation:
    """The record of compiling the step of a backend, which is exported once into the folder."""
    files = ["--stablehlo", str(folder / "step.mlir"), "--description", str(folder / "step.json")]
    if not (folder / "step.json").exists():
        run("export_step.py", *about(PLAN, STEPS[backend]), *files)
    path, described = folder / "record.json", msgspec.json.encode(target).decode()
    run("compile_step.py", *files, "--target", described, "--record", str(path))
    return read(Compilation, path, "record")


@pytest.mark.parametrize("backend", sorted(STEPS))
def test_the_whole_step_compiles_for_the_tpu_of_the_sources(backend, tmp_path):
    record = compiled(backend, TPU, tmp_path)
    assert (record.status, record.reason) == ("compiled", "")
    exported, cost = record.step.exported, record.cost
    assert exported.partitions * exported.replicas == 8
    # All gradients are added over all cores, and nothing much larger is.
    reduced = sum(x.bytes * x.count for x in cost.collectives if x.kind == "all-reduce")
    assert 4 * exported.parameters <= reduced < 4 * exported.parameters * 1.1 + 4096
    assert {each.group for each in cost.collectives} == {8}
    # The compiler counts activations, losses and the optimizer as well: that is little of a convolution.
    counted = exported.flop_per_example * record.step.global_batch / 8
    assert 1 <= cost.flop / counted < 1.35
    assert 0 < cost.memory_traffic < 1e9


def test_what_a_compiler_refuses_is_one_line_in_the_record(tmp_path):
    record = compiled("jax", msgspec.structs.replace(TPU, topology="v99:2x2"), tmp_path)
    assert record.status == "refused"
    assert record.reason.startswith("topology v99:2x2: ")
    assert "\n" not in record.reason
    small = msgspec.structs.replace(TPU.device, memory=1e6)
    record = compiled("jax", msgspec.structs.replace(TPU, device=small), tmp_path)
    assert (record.status, record.cost.memory > 1e6) == ("too_large", True)
    # A cache would keep all arrays of a model so small.
    uncached = msgspec.structs.replace(GPU.device, cache=0)
    record = compiled("jax", msgspec.structs.replace(GPU, devices=8, device=uncached), tmp_path)
    if GPU_REQUIRED or installed("jax-cuda12-plugin"):
        assert (record.status, record.reason) == ("compiled", "")
        assert record.cost.flop is None  # this compiler counts nothing
    else:
        assert record.status == "no_compiler"
        assert "`make gpu-compiler` installs it" in record.reason


def test_a_step_is_measured_on_this_machine(tmp_path):
    row = {"workload": "fashion-conv", "backend": "jax", "global_batch": 32}
    block = msgspec.to_builtins(PLAN.block) | {"published": [], "scaling": [], "measured": [row]}
    plan = plan_of(CONFIG | {"ahead_of_time": block})
    (step,) = plan.measured
    path = tmp_path / "measured.json"
    run("measure_step.py", *about(plan, step), "--threads", "2", "--record", str(path))
    record = read(MeasuredStep, path, "record")
    counted = record.step.exported.flop_per_example * 32
    assert 1 <= record.cost.flop / counted < 1.35
    assert record.calls * len(record.runs) > 0
    assert min(record.product.per_second, record.triad.per_second) > 1e8
