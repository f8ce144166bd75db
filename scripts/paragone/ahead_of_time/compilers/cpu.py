"""XLA's compiler for the CPU of this machine: what is predicted by it can be measured here."""

from typing import Any

from paragone.ahead_of_time.compilers import Target


def describe(target: Target) -> list[Any]:
    """Virtual devices that share the cores of this machine."""
    import jax

    jax.config.update("jax_num_cpu_devices", target["devices"])
    return list(jax.devices("cpu"))
