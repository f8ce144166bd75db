"""Training steps of TensorFlow, in the own loop or in Keras' `fit`, under `tf.profiler`."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from paragone.base.tensorflow import tf
from paragone.engines.profiles import Line, Profile, of_device, operations_of, written

# isort: split
from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

# How the profiler names an operation of a graph: its name in the graph, then its type.
_OPERATION = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_./>-]*:(?P<type>[A-Z_][A-Za-z0-9_]*)")


def profile(work: Callable[[], float], kind: str) -> Profile:
    """See `paragone.engines.profiles`. Operations of one type are one.

    Those of a GPU are its kernels and copies, those of a TPU what XLA has compiled.
    """
    # At a lower level an operation that was quick in its last calls is left out of some of them.
    options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=3)
    with TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder, options):
            seconds = work()
        space = XSpace.FromString(written(Path(folder)).read_bytes())
    lines = [*_lines(space)]
    if kind == "cpu":
        of, chosen = "operations, named by their types, in all threads", [*map(_by_type, lines)]
    else:
        of, chosen = "kernels and copies of the device", of_device(lines)
    return Profile("tf.profiler", tf.__version__, of, seconds, operations_of(chosen))


def _lines(space: XSpace) -> Iterator[Line]:
    for plane in space.planes:
        names = {key: one.name for key, one in plane.event_metadata.items()}
        for line in plane.lines:
            events = [
                (names[one.metadata_id], 1e-12 * one.offset_ps, 1e-12 * one.duration_ps)
                for one in line.events
            ]
            yield Line(plane.name, line.name, events)


def _by_type(line: Line) -> Line:
    """The operations of a line alone, named by their types; what else the profiler sees is left out."""
    named = [(_OPERATION.fullmatch(name), begin, length) for name, begin, length in line.events]
    events = [(match["type"], begin, length) for match, begin, length in named if match]
    return Line(line.plane, line.name, events)
