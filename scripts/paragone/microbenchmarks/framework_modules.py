"""How a measurement finds its functions for a framework: the module that is named like the engine."""

import importlib
from types import ModuleType

from paragone.base.errors import UserError


def functions_of(engine: str, package: str, what: str, remedy: str) -> ModuleType:
    """The module of an engine in a package of this room.

    Raises `UserError` that names the remedy where there is none.
    """
    name = f"paragone.microbenchmarks.{package}.{engine}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise UserError(
            f"--backend: no {what} for engine {engine!r}; add "
            f"scripts/paragone/microbenchmarks/{package}/{engine}.py "
            f"or {remedy}"
        ) from None
