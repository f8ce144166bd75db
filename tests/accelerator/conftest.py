"""The accelerator of this machine, and what every test of it needs: data, and runs on it."""

import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from workspace import CONFIG, ROOT, Arrays, call, changed, make_spec, train_command

from paragone.config.run_spec import Spec
from paragone.machine.accelerators import names, tpu_is_attached
from paragone.records import record
from paragone.records.run_record import RunRecord

# auto: there must be one, as `make test-accelerator` has it; gpu or tpu: this kind; cpu: the suite tries
# itself, but for what CUDA alone has. Unset: one is used if it is there.
OF_KIND = {
    "gpu": ["torch", "torch-compile", "torch-ddp", "torch-fsdp", "tensorflow-mirrored", "jax"],
    "tpu": ["torch-xla", "tensorflow-tpu", "jax"],
    "cpu": ["torch", "torch-ddp", "torch-fsdp"],
}


def present() -> str | None:
    """The kind of accelerator that this machine has; None without any."""
    if names():
        return "gpu"
    return "tpu" if tpu_is_attached() or "TPU_NAME" in os.environ else None


ASKED = os.environ.get("PARAGONE_ACCELERATOR")
KIND = ASKED if ASKED in OF_KIND else present()


def pytest_configure() -> None:
    """Where there must be one and is none, that is one message."""
    if ASKED and KIND is None:
        raise pytest.UsageError("no CUDA device (by NVML) and no TPU on this machine")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`backend`: each that has such devices."""
    if "backend" in metafunc.fixturenames:
        metafunc.parametrize("backend", OF_KIND[KIND or "gpu"])


@pytest.fixture(scope="session")
def cuda() -> None:
    """For tests of what CUDA alone has."""
    if KIND != "gpu":
        pytest.skip(f"tests what CUDA alone has; the device here is a {KIND}: run on a GPU")


def lacking(backend: str, reason: str | None) -> str:
    """Why a backend is not tested here: its framework is absent, or is a build for CPUs."""
    return f"{backend} finds no {KIND} ({reason}): install its environment, see docs/backends.md"


# How many devices PyTorch/XLA has here: its program is partitioned over all of them.
COUNT = """
from paragone.engines.torch_xla import choose
from torch_xla import runtime
choose("tpu")
runtime.use_spmd()
print(runtime.global_runtime_device_count())
"""


@cache
def replicas_on(backend: str) -> int:
    """One; on a TPU one on each of its cores where the backend cannot have fewer."""
    if KIND != "tpu" or backend != "torch-xla":
        return 1
    done = call([sys.executable, "-c", COUNT], timeout=300, PYTHONPATH=str(ROOT / "scripts"))
    return int(done.stdout.split()[-1]) if done.returncode == 0 else 1


def spec_on(backend: str, replicas: int | None = None, batch: int = 128, **changes) -> Spec:
    """One run of fashion-cnn on the accelerator, as config.yaml has its backend."""
    spec = make_spec("fashion-cnn", backend, replicas or replicas_on(backend), batch, **changes)
    device = spec.backend.device if KIND is None else KIND
    return changed(spec, backend={"device": device})


def config_on() -> dict:
    """config.yaml with every backend of this kind on it; a TPU has no double precision."""
    precision = {"parity": "float32"} if KIND == "tpu" else {}
    changed = {
        name: {**CONFIG["backends"][name], "device": KIND} | precision
        for name in OF_KIND[KIND or "gpu"]
    }
    return {**CONFIG, "backends": {**CONFIG["backends"], **changed}}


@pytest.fixture
def run(small: Arrays, tmp_path: Path) -> Callable[..., RunRecord]:
    """Train to the end and read the record; a framework that does not see the device skips the test.

    All but PyTorch on CUDA: it is in every environment, and sees the device or is broken.
    """

    def train(spec: Spec, folder: str = "run", **options: object) -> RunRecord:
        line = train_command(spec, small, tmp_path / folder, "launch", **options)
        done = call(line, timeout=400)
        assert done.returncode == 0, done.stdout + done.stderr
        print(done.stdout, done.stderr)  # pytest shows it if the test fails
        made = record.read(tmp_path / folder / "record.json")
        if made.status == "unavailable" and not (KIND == "gpu" and "torch" in spec.backend.name):
            pytest.skip(lacking(spec.backend.name, made.reason))
        return made

    return train
