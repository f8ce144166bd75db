"""Training steps of PyTorch/XLA under its own profiler; read by JAX, since PyTorch/XLA cannot read it."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import torch_xla
from torch_xla.debug import profiler

from paragone.engines import xla_profile
from paragone.engines.profiles import Profile


def profile(work: Callable[[], float], kind: str) -> Profile:
    """See `paragone.engines.profiles`."""
    with TemporaryDirectory() as folder:
        profiler.start_trace(folder)
        try:
            seconds = work()
        finally:
            profiler.stop_trace()
        of, operations = xla_profile.read(Path(folder), kind)
    return Profile("torch_xla.debug.profiler", torch_xla.__version__, of, seconds, operations)
