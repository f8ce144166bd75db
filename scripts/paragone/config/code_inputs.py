"""Which files of this project decide what a program does: the program and all that it imports.

Rules declare them as inputs, so that an edit reruns exactly what it can change. Standard library
only: the Snakefile imports this module at parse time.
"""

import ast
from functools import cache
from pathlib import Path

ROOT = Path("scripts")  # relative: a moved checkout must not look like a change of inputs


@cache
def sources(program: str, *modules: str) -> list[str]:
    """The program, then the modules of `scripts/` in its import closure, sorted.

    `modules` (dotted names) are loaded by name at run time: no import statement shows them.
    """
    found: set[Path] = set()
    waiting = [Path(program), *(path for name in modules for path in _paths(name))]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imports(path)
    return [program, *sorted(str(path) for path in found - {Path(program)})]


@cache
def _imports(path: Path) -> tuple[Path, ...]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(path for name in names for path in _paths(name))


def _paths(name: str) -> list[Path]:
    """The files behind a dotted name: the module, and the packages it lies in."""
    parts = name.split(".")
    candidates = [ROOT.joinpath(*parts).with_suffix(".py")]
    for depth in range(1, len(parts) + 1):
        candidates.append(ROOT.joinpath(*parts[:depth], "__init__.py"))
    return [path for path in candidates if path.is_file()]
