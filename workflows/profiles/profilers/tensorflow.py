"""Training steps of TensorFlow, in its own loop or in Keras' `fit`, under `tf.profiler`."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from paragone.base.tensorflow import tf
from profilers import Line, Profile, of_device, operations_of, written

# isort: split
from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

# How the profiler names an operation of a graph: its name in the graph, then its type.
_OPERATION = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_./>-]*:(?P<type>[A-Z_][A-Za-z0-9_]*)")


def profile(work: Callable[[], float], kind: str) -> Profile:
    """The operations of a CPU by their types, the kernels and copies of a GPU, or the programs of a TPU."""
    # At a lower level the profiler leaves an operation out of some of its quick calls.
    options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=3)
    with TemporaryDirectory() as folder:
        with tf.profiler.experimental.Profile(folder, options):
            seconds = work()
        space = XSpace.FromString(written(Path(folder)).read_bytes())
    lines = [*_lines(space)]
    if kind == "cpu":
        operations_are = "operations, named by their types, in all threads"
        lines = [*map(_by_type, lines)]
    else:
        operations_are, lines = "kernels and copies of the device", of_device(lines)
    operations = operations_of(lines)
    return Profile("tf.profiler", tf.__version__, operations_are, seconds, operations)


def _lines(space: XSpace) -> Iterator[Line]:
    for plane in space.planes:
        names = {key: metadata.name for key, metadata in plane.event_metadata.items()}
        for line in plane.lines:
            events = [
                (names[event.metadata_id], 1e-12 * event.offset_ps, 1e-12 * event.duration_ps)
                for event in line.events
            ]
            yield Line(plane.name, line.name, events)


def _by_type(line: Line) -> Line:
    """The operations of a line, named by their types; other events are left out."""
    matches = [(_OPERATION.fullmatch(name), begin, length) for name, begin, length in line.events]
    events = [(match["type"], begin, length) for match, begin, length in matches if match]
    return Line(line.plane, line.name, events)
