"""Which files of this project decide what a program does: the program and all that it imports.

Rules declare them as inputs, so that an edit reruns exactly what it can change. Standard library
only: the Snakefile imports this module at parse time.
"""

import ast
import os
from functools import cache
from pathlib import Path

from paragone.base import plugins
from paragone.base.source_files import parsed

SCRIPTS = Path(__file__).parents[2]


def code_inputs(program: str, *modules: str) -> list[str]:
    """`scripts/<program>`, then the modules of `scripts/` and of plugins in its import closure, sorted.

    `modules` (dotted names) are loaded by name at run time: no import statement shows them. Paths are
    relative to the working directory: a moved checkout must not look like a change of inputs.
    """
    folders = tuple(plugins.folders())
    return [os.path.relpath(path) for path in _closure(program, modules, folders)]


def loaded_by(module: str) -> set[Path]:
    """The files in the import closure of a module, by its dotted name."""
    return _reached(_paths(module))


@cache
def _closure(program: str, modules: tuple[str, ...], folders: tuple[Path, ...]) -> list[Path]:
    first = SCRIPTS / program
    found = _reached([first, *(path for name in modules for path in _paths(name))])
    return [first, *sorted(found - {first})]


def _reached(waiting: list[Path]) -> set[Path]:
    found: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [file for name in _imports(path) for file in _paths(name)]
    return found


@cache
def _imports(path: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(path, node)
            names.add(module)
            names.update(f"{module}.{alias.name}" for alias in node.names)
    return frozenset(names)


def _absolute(path: Path, node: ast.ImportFrom) -> str:
    """The dotted name of what a file imports from; `from .` begins at the file's package."""
    if not node.level:
        return str(node.module)
    package = _package(path)
    kept = package[: len(package) - node.level + 1]
    return ".".join([*kept, *([node.module] if node.module else [])])


def _package(path: Path) -> list[str]:
    """The package of a file of this project or a plugin, part by part."""
    if path.is_relative_to(SCRIPTS):
        return list(path.relative_to(SCRIPTS).parent.parts)
    folder = next(one for one in plugins.folders() if path.is_relative_to(one))
    return [plugins.LIBRARY.name, *path.relative_to(folder).parent.parts]


def _paths(name: str) -> list[Path]:
    """The files behind a dotted name: the module, the packages it belongs to, what plugins add to it."""
    parts = name.split(".")
    candidates = [
        SCRIPTS.joinpath(*parts[:depth], "__init__.py") for depth in range(1, len(parts) + 1)
    ]
    if parts[0] == plugins.LIBRARY.name:
        candidates += plugins.files_of(f"{'/'.join(parts[1:])}.py")
        for depth in range(2, len(parts) + 1):
            candidates += plugins.files_of(f"{'/'.join(parts[1:depth])}/__init__.py")
    else:  # a program that another one starts
        candidates.append(SCRIPTS.joinpath(*parts).with_suffix(".py"))
    return [path for path in candidates if path.is_file()]
