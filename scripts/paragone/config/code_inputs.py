"""Which files of this project decide what a program does: the program and all that it imports.

Rules declare them as inputs, so that an edit reruns exactly what it can change. Standard library
only: the Snakefile imports this module at parse time.
"""

import ast
import os
from functools import cache
from pathlib import Path

SCRIPTS = Path(__file__).parents[2]


def code_inputs(program: str, *modules: str) -> list[str]:
    """`scripts/<program>`, then the modules of `scripts/` in its import closure, sorted.

    `modules` (dotted names) are loaded by name at run time: no import statement shows them. Paths are
    relative to the working directory: a moved checkout must not look like a change of inputs.
    """
    return [os.path.relpath(path) for path in _closure(program, modules)]


@cache
def _closure(program: str, modules: tuple[str, ...]) -> list[Path]:
    first = SCRIPTS / program
    found: set[Path] = set()
    waiting = [first, *(path for name in modules for path in _paths(name))]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imports(path)
    return [first, *sorted(found - {first})]


@cache
def _imports(path: Path) -> tuple[Path, ...]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(path for name in names for path in _paths(name))


def _paths(name: str) -> list[Path]:
    """The files behind a dotted name: the module, and the packages it belongs to."""
    parts = name.split(".")
    candidates = [SCRIPTS.joinpath(*parts).with_suffix(".py")]
    for depth in range(1, len(parts) + 1):
        candidates.append(SCRIPTS.joinpath(*parts[:depth], "__init__.py"))
    return [path for path in candidates if path.is_file()]
