"""The compilers of devices that are not there: one module each, which describes the devices of a target."""

import importlib
from importlib.util import find_spec
from typing import Any

from paragone.config.compilations import compiler_of

Target = dict[str, Any]  # as `paragone.config.compilations.target_of` makes it


class NoCompiler(Exception):
    """The compiler of a target is not installed here."""


class Refused(Exception):
    """The compiler does not know the target, or refuses the program; its reason in one line.

    `excess_bytes`: by how much the program is larger than the memory of a device, if that is the reason.
    """

    def __init__(self, reason: str, excess_bytes: int | None = None) -> None:
        super().__init__(reason)
        self.excess_bytes = excess_bytes


def describe(target: Target) -> list[Any]:
    """The devices of a target, as its compiler describes them: as many as the target has.

    Raises `NoCompiler`; `Refused` for a topology that the compiler does not know.
    """
    module: Any = importlib.import_module(compiler_of(target["compiler"]))
    found = list(module.describe(target))
    if len(found) < target["devices"]:
        raise Refused(
            f"topology {target['topology']} has {len(found)} devices, "
            f"{target['devices']} are asked for"
        )
    return found[: target["devices"]]


def installed(module: str) -> bool:
    """Whether a module could be imported; a missing package around it is no error."""
    package = module.rpartition(".")[0]
    return (not package or installed(package)) and find_spec(module) is not None
