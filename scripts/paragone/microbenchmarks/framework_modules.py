"""The module of a measurement for a framework: named like the engine."""

from importlib.util import find_spec

from paragone.base.errors import UserError


def module_of(engine: str, package: str, what: str, remedy: str) -> str:
    """The dotted name of the module of an engine in a package of this room, not imported.

    Raises `UserError` that names the remedy where there is none.
    """
    name = f"paragone.microbenchmarks.{package}.{engine}"
    if find_spec(name) is None:
        raise UserError(
            f"--backend: no {what} for engine {engine!r}; add "
            f"scripts/paragone/microbenchmarks/{package}/{engine}.py "
            f"or {remedy}"
        )
    return name
