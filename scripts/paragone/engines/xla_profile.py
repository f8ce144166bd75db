"""Reads what the profilers of JAX and PyTorch/XLA write: the operations of XLA's programs, as compiled."""

from pathlib import Path

from jax.profiler import ProfileData

from paragone.engines.profiles import Line, Operation, of_device, operations_of, written


def read(folder: Path, kind: str) -> tuple[str, list[Operation]]:
    """What the operations are, in words, and they themselves, of the one profile in a folder.

    On a CPU those of a thread are events that name their operation in `hlo_op`.
    """
    on_cpu = kind == "cpu"
    data = ProfileData.from_file(str(written(folder)))
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
