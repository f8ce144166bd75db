"""Folders of users and of papers, in which the project finds by name what it finds by name in itself.

A plugin's folder looks as `scripts/paragone/` does. A new file is imported as the project's own are:
`engines/<engine>.py`, `data/forms/<form>.py`, `reporting/figures/<figure>.py`. A file of a name in `SHARED`
adds to the models of the project's file. Standard library only: the Snakefile imports this module when it is
parsed.
"""

import importlib
import importlib.util
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from paragone.base.errors import (
    PACKAGES,
    VARIABLE,
    Unavailable,
    UserError,
    first_line,
    folders,
    of_plugin,
    says_memory_is_full,
)

LIBRARY = Path(__file__).parents[1]
# Files that both have: a plugin's adds to their table `MODELS`.
SHARED = ("models/tensorflow.py", "models/torch.py", "models/jax.py")
_NAME = re.compile(r"[a-z_][a-z0-9_]*")
SEED = "the seed, so that what is drawn then is the same in each repeat,"
# Global switches: what returns the value of each, and what sets it. A framework's module of models adds its.
SWITCHES: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "the working directory": (os.getcwd, os.chdir),
    "the level of logging": (lambda: logging.root.level, logging.root.setLevel),
    "logging.disable": (lambda: logging.root.manager.disable, logging.disable),
}
# What files of plugins did to this process, for the report of the parity gate.
NOTICES: list[str] = []
# The file of each model that a plugin has added in this process.
_ORIGINS: dict[str, Path] = {}


def use(names: list[str], *, drawing: bool = False) -> None:
    """Let this process, and those that it starts, find the modules in these folders.

    `names`: of the config, relative to the working directory. With `drawing`, from records alone,
    folders may be absent. Raises `UserError` for a folder that does not exist or holds nothing, and for a
    file that has the name of another.
    """
    os.environ[VARIABLE] = ""
    used = [name for name in names if Path(name).is_dir() or not drawing]
    for name in used:
        if not Path(name).is_dir():
            raise UserError(f"plugins: there is no folder {name!r}; correct it, or leave it out")
        if os.pathsep in str(Path(name).resolve()):
            raise UserError(
                f"plugins: {Path(name).resolve()} has {os.pathsep!r} in its path; rename it"
            )
    paths = dict.fromkeys(str(Path(name).resolve()) for name in used)
    os.environ[VARIABLE] = os.pathsep.join(paths)
    for folder in folders():
        files = [
            file for package in PACKAGES for file in sorted((folder / package).glob("[!.]*.py"))
        ]
        if not files:
            places = ", ".join(f"{package}/" for package in PACKAGES)
            raise UserError(
                f"plugins: {folder} has no Python file in {places}; see docs/extending.md"
            )
        for file in files:
            _check(file, file.relative_to(folder).as_posix())
    environments: dict[str, Path] = {}
    for folder in (LIBRARY.parents[1], *folders()):
        for file in sorted((folder / "envs").glob("*.yaml")):
            # Otherwise one would be used in the place of the other.
            if (other := environments.setdefault(file.name, file)) != file:
                raise UserError(f"plugins: {file} has the name of {other}; rename it")


def _check(file: Path, inside: str) -> None:
    if file.name == "__init__.py":
        raise UserError(f"plugins: {file}: the project has this package; remove it")
    if not _NAME.fullmatch(file.stem):
        raise UserError(
            f"plugins: {file}: a module is named with small letters, digits and _; rename it"
        )
    owner = file_of(inside)
    if owner == LIBRARY / inside and inside not in SHARED:
        raise UserError(
            f"plugins: {file} has the name of a module of the project, which it cannot replace; rename it"
        )
    if owner not in (file, LIBRARY / inside):
        raise UserError(f"plugins: {file} has the name of {owner}; rename one of them")


def file_of(inside: str) -> Path | None:
    """The first of `files_of`; None if there is none."""
    return next(iter(files_of(inside)), None)


def files_of(inside: str) -> list[Path]:
    """The files with this path below `scripts/paragone/` and below the folders of plugins, in this order."""
    return [place / inside for place in (LIBRARY, *folders()) if (place / inside).is_file()]


def caption(kind: str, name: str) -> str | None:
    """The caption of a plugin's figure or table (`kind`); None for one of the project."""
    file = file_of(f"reporting/{kind}/{name}.py")
    if file is None or file.is_relative_to(LIBRARY):
        return None
    return str(file.with_suffix(".rst"))


def environment(name: str) -> str | None:
    """The environment file of that name in the first plugin that has it, if one does."""
    files = [folder / f"envs/{name}.yaml" for folder in folders()]
    return next((str(file) for file in files if file.is_file()), None)


def names_in(package: str) -> list[str]:
    """The modules of a package, sorted: the project's and those of plugins."""
    places = [place / package for place in (LIBRARY, *folders())]
    return sorted({path.stem for place in places for path in place.glob("[!_.]*.py")})


def extended(package: list[str], inside: str) -> list[str]:
    """The `__path__` of a package to which plugins add modules."""
    return [*package, *(str(folder / inside) for folder in folders())]


def load(package: str, name: str, *needed: str) -> Any:
    """Import a module of a package to which plugins add modules.

    Raises `UserError` with file and line if it is a plugin's and cannot be imported, and with its file if it
    lacks one of the names that are `needed`.
    """
    with explaining():
        module = importlib.import_module(".".join((LIBRARY.name, *package.split("/"), name)))
    for attribute in needed:
        if not hasattr(module, attribute):
            raise UserError(
                f"{module.__file__}: has no `{attribute}`, which the project calls; add it"
            )
    return module


def extend(inside: str, models: dict[str, Any]) -> dict[str, Any]:
    """Return the project's models in the file of this path with what plugins add to them.

    Raises `UserError` for a file that cannot be imported or has no such table, and for a name that two have.
    """
    table = dict(models)
    for file in files_of(inside)[1:]:
        added = getattr(_imported(file), "MODELS", None)
        if added is None:
            raise UserError(f"{file}: has no `MODELS = {{...}}`; add it")
        for name, model in added.items():
            if name in table:
                place = _ORIGINS.get(name, LIBRARY / inside)
                raise UserError(
                    f"plugins: MODELS of {file} has {name!r}, which {place} has; rename it"
                )
            table[name], _ORIGINS[name] = model, file
    return table


def origin(model: str) -> Path | None:
    """Return the plugin's file that has added a model in this process, if one has."""
    return _ORIGINS.get(model)


def users(*names: str) -> list[Path]:
    """Return the folders with a module of models, engines or data that has one of these names, or has it in
    quotes.

    A name that neither a folder nor the project has in quotes is put together in some module: then all are.
    """
    chosen: set[Path] = set()
    for name in names:
        having = {folder for folder in folders() if _has(folder, name)}
        chosen |= having or (set() if _has(LIBRARY, name) else {*folders()})
    return [folder for folder in folders() if folder in chosen]


def _has(folder: Path, name: str) -> bool:
    return any(
        f'"{name}"' in (text := _text(file, file.stat().st_mtime_ns))
        or f"'{name}'" in text
        or (file.stem == name and file.parent.name != "models")
        for part in ("models", "engines", "data")
        for file in (folder / part).rglob("*.py")
    )


@cache
def _text(file: Path, _: int) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


@contextmanager
def explaining() -> Iterator[None]:
    """Raise an error of the block that comes out of a plugin as a `UserError` with file and line.

    So is an end of the program. Out-of-memory errors and errors of the file system are raised unchanged: they
    become a run's status, or a message of their own.
    """
    try:
        yield
    except (UserError, Unavailable, MemoryError, OSError):
        raise
    except SystemExit as error:
        if message := of_plugin(error):
            raise UserError(
                f"{message}: it would end this program; execute it under `if __name__ == '__main__':`"
            ) from None
        raise
    except SyntaxError as error:
        if any(str(folder) in str(error.filename) for folder in folders()):
            line = f", line {error.lineno}" if error.lineno else ""
            raise UserError(f"{error.filename}{line}: {error.msg}; correct it") from None
        raise
    except Exception as error:
        if not says_memory_is_full(str(error)) and (message := of_plugin(error)):
            raise message from error
        raise


@contextmanager
def unchanged(file: Path | None) -> Iterator[None]:
    """Set back what a plugin's file changes of this process in the block, with a notice.

    Raises `UserError` for what cannot be set back, as it may decide how fast others are.
    """
    before = {name: value() for name, (value, _) in SWITCHES.items()}
    yield
    for name, old in before.items():
        value, restore = SWITCHES[name]
        if file is None or (new := value()) == old:
            continue
        notice = f"{file}: sets {name} to {new}"
        try:
            restore(old)
        except Exception as error:
            reason = first_line(error)
            raise UserError(f"{notice}, which cannot be undone ({reason}); remove it") from None
        if (notice := f"{notice}; set back") not in NOTICES:
            NOTICES.append(notice)


def _imported(file: Path) -> Any:
    """The module of a file that has a namesake in the project, under a name of its own."""
    name = "plugin" + re.sub(r"\W", "_", str(file.with_suffix("")))
    if name not in sys.modules:
        spec: Any = importlib.util.spec_from_file_location(name, file)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            with explaining(), unchanged(file):
                spec.loader.exec_module(sys.modules[name])
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]
