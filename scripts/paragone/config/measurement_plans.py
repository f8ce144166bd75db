"""The matrix products to measure, and what makes an experiment one of scaling.

Standard library only: the Snakefile imports this module at parse time.
"""

from collections.abc import Iterable
from typing import Any

from paragone.config.expand import named_backend

STRONG, WEAK = "strong", "weak"


def products(config: dict[str, Any]) -> dict[str, dict[str, str]]:
    """What the block `matmul` asks for: backend name -> name, engine, strategy, device.

    Raises `UserError` for an unknown name.
    """
    names = config["matmul"]["backends"]
    return {name: named_backend(config, name, "matmul.backends") for name in names}


def squares(config: dict[str, Any], backend: dict[str, str]) -> list[int]:
    """The sides of the square products that are multiplied on the device of a backend."""
    key = "squares" if backend["device"] == "cpu" else "accelerator_squares"
    return config["matmul"][key]


def kind(batches: Iterable[tuple[int, int]]) -> str | None:
    """`strong` for one global batch, `weak` for one per-replica batch, None for neither.

    `batches`: (global, per replica) of each run.
    """
    whole, each = (set(sizes) for sizes in zip(*batches, strict=True))
    if len(whole) == 1:
        return STRONG
    return WEAK if len(each) == 1 else None
