"""Training steps of PyTorch/XLA under its own profiler; JAX reads the trace, as PyTorch/XLA cannot."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import torch_xla
from torch_xla.debug import profiler

from profilers import Profile
from profilers.jax import read


def profile(work: Callable[[], float], kind: str) -> Profile:
    """The operations of XLA's programs, as compiled."""
    with TemporaryDirectory() as folder:
        profiler.start_trace(folder)
        try:
            seconds = work()
        finally:
            profiler.stop_trace()
        operations_are, operations = read(Path(folder), kind)
    version = torch_xla.__version__
    return Profile("torch_xla.debug.profiler", version, operations_are, seconds, operations)
