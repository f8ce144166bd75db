"""Training steps of JAX under `jax.profiler`, and what it and PyTorch/XLA's profiler write."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import jax

from profilers import Line, Operation, Profile, of_device, operations_of, written


def profile(work: Callable[[], float], kind: str) -> Profile:
    """The operations of XLA's programs, as compiled."""
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0  # each call of a Python function would be traced
    with TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, profiler_options=options):
            seconds = work()
        operations_are, operations = read(Path(folder), kind)
    return Profile("jax.profiler", jax.__version__, operations_are, seconds, operations)


def read(folder: Path, kind: str) -> tuple[str, list[Operation]]:
    """What the operations are, in words, and the operations of the one trace in a folder.

    On a CPU, the operations of a thread are events that name their operation in `hlo_op`.
    """
    on_cpu = kind == "cpu"
    data = jax.profiler.ProfileData.from_file(str(written(folder)))
    lines = [
        Line(
            plane.name,
            line.name,
            [
                (event.name, 1e-9 * event.start_ns, 1e-9 * event.duration_ns)
                for event in line.events
                if not on_cpu or any(name == "hlo_op" for name, _ in event.stats)
            ],
        )
        for plane in data.planes
        for line in plane.lines
    ]
    if on_cpu:
        return "operations of compiled programs, in all threads", operations_of(lines)
    return "operations of compiled programs on the device", operations_of(of_device(lines))
