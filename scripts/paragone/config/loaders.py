"""What a loader's module declares, read without importing it, and the modules that a run loads by name.

Each has `ENGINES`, the engines that it feeds, whose environments have what it imports, and `AUGMENTS`,
whether it applies the shifts and flips that are drawn. Standard library only: the Snakefile imports this
module at parse time.
"""

from functools import cache
from pathlib import Path
from typing import Any

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.base.source_files import literal, names_of
from paragone.config.run_spec import RESIDENT, Spec


def check_loader(backend: dict[str, Any], where: str) -> None:
    """Raise `UserError` naming the key for a loader that is not there, or does not feed a backend's engine.

    backend: its block; where: what its keys begin with.
    """
    if (name := backend.get("loader")) is None:
        return
    file, engine = _file(name, where), backend["engine"]
    for wanted in ("ENGINES", "AUGMENTS", "LOADER"):
        if wanted not in names_of(file):
            raise UserError(f"{file}: has no `{wanted} = ...`; see docs/extending.md#a-loader")
    if engine not in (fed := _declared(file, "ENGINES")):
        raise UserError(f"{where}.loader: {name} feeds {', '.join(fed)} alone, not engine {engine}")
    if backend.get("feed") == RESIDENT:
        raise UserError(
            f"{where}.loader: {RESIDENT} inputs are on the device already; leave out loader or feed"
        )


def check_augmentation(backend: dict[str, str], workload: dict[str, Any], where: str) -> None:
    """Raise `UserError` naming the key for a loader that does not augment what a workload wants augmented.

    where: the key that asks for both. What is drawn from records alone may name a loader that is not here.
    """
    name = backend.get("loader")
    if name is None or "augmentation" not in workload:
        return
    file = plugins.file_of(f"data/loaders/{name}.py")
    if file and not _declared(file, "AUGMENTS"):
        raise UserError(
            f"backends.{backend['name']}.loader: {name} does not augment, and workload "
            f"{workload['name']} has an augmentation ({where}); name another loader, or leave it out"
        )


def loaded_modules(spec: Spec) -> list[str]:
    """Dotted names of the modules that a run loads by name: its engine, and its loader if it has one."""
    loader = [f"paragone.data.loaders.{spec.loader}"] if spec.loader else []
    return [f"paragone.engines.{spec.backend['engine']}", *loader]


def _file(name: str, where: str) -> Path:
    file = plugins.file_of(f"data/loaders/{name}.py")
    if file is None:
        known = ", ".join(plugins.names_in("data/loaders"))
        raise UserError(f"{where}.loader: there is no loader {name!r}; there are {known}")
    return file


_declared = cache(literal)  # a matrix asks for each of its runs
