"""Rows of `make bench` on the parts of a run: steps, evaluation, start, compilation, memory."""

import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from inside import STEPS
from product import ROOT, Data, elapsed, output_of, specification, train
from rows import Row, at_most, in_turn, quotients, stated

from paragone.config.run_spec import AS_INSTALLED, TUNED, Spec

INSIDE = Path(__file__).with_name("inside.py")
LIBRARY = str(ROOT / "scripts")
STEPPED = ("torch", "torch-compile", "tensorflow-mirrored", "keras-fit", "torch-xla", "jax")
EVALUATED = ("tensorflow-mirrored", "torch")
# Backend, replicas, and the import that is the limit.
TENSORFLOW = "paragone.base.tensorflow"  # without JAX and others, as a worker imports it
STARTED = (
    ("torch", 1, "torch"),
    ("tensorflow-mirrored", 1, TENSORFLOW),
    ("tensorflow-mirrored", 8, TENSORFLOW),
    ("torch-xla", 1, "torch_xla"),
    ("jax", 1, "jax"),
)
# Of JAX: programs that compile within a second as well.
KEEP_ALL = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
MORE = 3  # times as many rounds of steps, which take a second
SHORT: dict[str, Any] = {"epochs": 1, "steps_per_epoch": 4}


def rows(data: Data, rounds: int) -> list[Callable[[], list[Row]]]:
    """The measurements, in order; each makes its rows."""
    return [
        *(partial(epoch, data, rounds, backend) for backend in STEPPED),
        *(partial(evaluation, data, rounds, backend) for backend in EVALUATED),
        *(partial(start, data, 3, *one) for one in STARTED),
        partial(compilation, data, "torch-compile", TUNED, "TORCHINDUCTOR_CACHE_DIR", {}),
        partial(compilation, data, "jax", AS_INSTALLED, "JAX_COMPILATION_CACHE_DIR", KEEP_ALL),
        partial(memory, data),
    ]


def epoch(data: Data, rounds: int, backend: str) -> list[Row]:
    """What drawing and feeding batches cost."""
    pairs = inside("epoch", specification("fashion-cnn", backend, 128), data, MORE * rounds)
    found = quotients(pairs)
    return [
        Row(
            f"{STEPS} steps of fashion-cnn, `{backend}`",
            "as many steps over one batch on the device",
            stated(found, "x"),
            "1.05 x",
            at_most(1.05, found),
        )
    ]


def evaluation(data: Data, rounds: int, backend: str) -> list[Row]:
    """What evaluating costs beside the arithmetic."""
    done = inside("evaluation", specification("wide-resnet", backend, 64), data, rounds)
    found = quotients(done["pairs"])
    return [
        Row(
            f"evaluation of wide-resnet, 10,000 images, `{backend}`",
            f"forward passes at their best batch ({done['batch']:,})",
            f"{stated(found, 'x')}: {median(one for one, _ in done['pairs']):.2f} s",
            "1.2 x",
            at_most(1.2, found),
        )
    ]


def start(data: Data, rounds: int, backend: str, replicas: int, framework: str) -> list[Row]:
    """From the start of the worker's process to its first step, all caches warm; launch.py is before it."""
    spec = specification("fashion-cnn", backend, 128 * replicas, replicas, **SHORT)
    # Without the end of the process, which takes a framework up to a second.
    program = f"import os, sys; sys.path.insert(0, {LIBRARY!r}); import {framework}; os._exit(0)"
    import_line = [sys.executable, "-c", program]
    train(spec, data), elapsed(*import_line)
    pairs = in_turn(rounds, lambda: started(spec, data), lambda: elapsed(*import_line))
    above = [first - second for first, second in pairs]
    plural = f", {replicas} replicas" if replicas > 1 else ""
    return [
        Row(
            f"a worker's start to its first step, `{backend}`{plural}",
            f"`import {framework}`",
            f"{median(one for one, _ in pairs):.1f} s in all, {stated(above, 's')} above the import",
            "1.5 s above",
            at_most(1.5, above),
        )
    ]


def started(spec: Spec, data: Data) -> float:
    """The seconds of a run before its first step."""
    cold = train(spec, data).cold
    return cold.imports + cold.devices + cold.data + cold.compilation


def compilation(
    data: Data, backend: str, division: str, cache: str, more: Mapping[str, str]
) -> list[Row]:
    """The second run of a program whose compiler keeps what it has compiled."""
    spec = specification("fashion-cnn", backend, 128, division=division, **SHORT)
    pairs = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            variables = {cache: folder, **more}
            first, second = (compiled(spec, data, variables) for _ in range(2))
        pairs.append((second, first))
    found = [100 * share for share in quotients(pairs)]
    return [
        Row(
            f"compilation, second run, `{backend}`, {spec.division}, with {' and '.join(variables)}",
            "first run",
            f"{stated(found, '%', 0)}: {median(one for one, _ in pairs):.1f} s after "
            f"{median(one for _, one in pairs):.1f} s",
            "20 %",
            at_most(20, found),
        )
    ]


def compiled(spec: Spec, data: Data, variables: Mapping[str, str]) -> float:
    """The seconds of the clock `compilation`."""
    return train(spec, data, variables=variables).cold.compilation


def memory(data: Data) -> list[Row]:
    """Runs on one host share the pages of the arrays."""
    found = [inside("memory", specification("fashion-cnn", "torch", 128), data) / 1e6]
    return [
        Row(
            "private memory kept after reading all batches of Fashion-MNIST",
            "one copy for all, 47 MB",
            stated(found, "MB", 1),
            "10 MB",
            at_most(10, found),
        )
    ]


def inside(what: str, spec: Spec, data: Data, *rounds: int) -> Any:
    """A measurement of inside.py, in a process of its own."""
    manifest = data.manifest(spec.workload["dataset"])
    return output_of(INSIDE, what, spec.to_json(), manifest, data.folder, *rounds)
