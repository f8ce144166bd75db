"""What the config's `matmul` block asks each backend to measure.

Standard library only: the Snakefile imports this module at parse time.
"""

import json
from typing import Any

from paragone.base.errors import UserError


def plan(config: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Backend name -> name, engine, strategy, device. Raises `UserError` for an unknown name."""
    chosen = {}
    for name in config["matmul"]["backends"]:
        if name not in config["backends"]:
            known = ", ".join(config["backends"])
            raise UserError(f"matmul.backends: there is no {name!r}; known are {known}")
        backend = config["backends"][name]
        chosen[name] = {"name": name} | {
            key: backend[key] for key in ("engine", "strategy", "device")
        }
    return chosen


def read_backend(text: str) -> dict[str, str]:
    """The backend that the command line names as JSON; `UserError` if it is something else."""
    try:
        backend = json.loads(text)
        return {key: str(backend[key]) for key in ("name", "engine", "strategy", "device")}
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"--backend: {text!r} is not a backend ({error!r}); it needs name, engine, strategy, device"
        ) from None


def read_shape(text: str) -> tuple[int, int, int]:
    """`m,k,n` of an (m, k) @ (k, n) product; `UserError` if it is something else."""
    words = text.split(",")
    if len(words) != 3 or not all(word.isdecimal() and int(word) > 0 for word in words):
        raise UserError(f"--products: {text!r} is not m,k,n with three positive whole numbers")
    m, k, n = map(int, words)
    return m, k, n
