"""Training steps of JAX under `jax.profiler`."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import jax

from paragone.engines import xla_profile
from paragone.engines.profiles import Profile


def profile(work: Callable[[], float], kind: str) -> Profile:
    """See `paragone.engines.profiles`."""
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0  # each call of a Python function would be traced
    with TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, profiler_options=options):
            seconds = work()
        of, operations = xla_profile.read(Path(folder), kind)
    return Profile("jax.profiler", jax.__version__, of, seconds, operations)
