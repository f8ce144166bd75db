"""Which files of this project decide what a program does: the program and all that it imports.

Rules have a digest of them as a parameter, so that an edit reruns exactly what it can change. As inputs they
would be eighty files of each run, to be planned one by one and, without a shared file system, copied.
Standard library only: the Snakefile imports this module at parse time.
"""

import ast
import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from paragone.base import plugins
from paragone.base.digests import sha256
from paragone.base.source_files import parsed
from paragone.config.run_spec import Spec

SCRIPTS = Path(__file__).parents[2]
PROJECT = SCRIPTS.parent
# Where programs are, and the modules beside them.
ROOTS = (SCRIPTS, *sorted(PROJECT.glob("workflows/*/")))


def code_of(program: str, *modules: str) -> list[str]:
    """What a rule has as its parameter `code`: the path of the program, and a digest of `code_files`.

    program: a file of `scripts/`, or its path in this project (`workflows/profiles/profile_steps.py`). Its
    path is returned relative to the working directory: a moved checkout must not look like a change.
    """
    return [os.path.relpath(_file(program)), digest_of(program, *modules)]


def digest_of(program: str, *modules: str) -> str:
    """The digest of the names and contents of `code_files`, 16 hexadecimal digits."""
    lines = sorted(map(_line, code_files(program, *modules)))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def code_files(program: str, *modules: str) -> tuple[Path, ...]:
    """The program, then the modules of this project and of plugins in its import closure, sorted.

    `modules` (dotted names) are loaded by name at run time: no import statement shows them.
    """
    first = _file(program)
    return first, *sorted(loaded_by(*modules, begin=(first,)) - {first})


def loaded_by(*modules: str, begin: Iterable[Path] = ()) -> set[Path]:
    """The files in the import closure of modules, by their dotted names, and of files to `begin` with."""
    folders = tuple(plugins.folders())
    found: set[Path] = set()
    waiting = [*begin, *(path for module in modules for path in _paths(module, folders))]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imported_files(path, folders)
    return found


def loaded_modules(*specs: Spec) -> list[str]:
    """Dotted names of the modules that runs load by name: their engines."""
    return sorted({f"paragone.engines.{spec.backend.engine}" for spec in specs})


def _file(program: str) -> Path:
    return PROJECT / program if "/" in program else SCRIPTS / program


@cache
def _line(path: Path) -> str:
    return f"{'/'.join(_parts(path))} {sha256(path)}"


@cache
def _imported_files(path: Path, folders: tuple[Path, ...]) -> frozenset[Path]:
    names: set[str] = set()
    for node in _statements(parsed(path)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(path, node)
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return frozenset(file for name in names for file in _paths(name, folders))


def _statements(parent: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node. Expressions, most of a file's nodes, hold no imports."""
    for block in ("body", "handlers", "orelse", "finalbody", "cases"):
        for node in getattr(parent, block, ()):
            yield node
            yield from _statements(node)


def _absolute(path: Path, node: ast.ImportFrom) -> str:
    """The dotted name of what a file imports from; `from .` begins at the file's package."""
    if not node.level:
        return str(node.module)
    package = _parts(path)[:-1]
    kept = package[: len(package) - node.level + 1]
    return ".".join([*kept, *([node.module] if node.module else [])])


def _parts(path: Path) -> list[str]:
    """The packages that a module of this project or a plugin is in, outermost first, then its file name."""
    for root in ROOTS:
        if path.is_relative_to(root):
            return list(path.relative_to(root).parts)
    folder = next(one for one in plugins.folders() if path.is_relative_to(one))
    return [plugins.LIBRARY.name, *path.relative_to(folder).parts]


@cache
def _roots() -> dict[str, list[Path]]:
    """The roots that have a module or package of each name: most imports are of none, and need no search."""
    found: dict[str, list[Path]] = {}
    for root in ROOTS:
        for name in {path.stem for path in root.iterdir()}:
            found.setdefault(name, []).append(root)
    return found


@cache
def _paths(name: str, folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """The files behind a dotted name: the module, the packages it belongs to, what plugins add to it.

    `folders`: of the plugins in use. Rules ask for hundreds of closures of the same modules.
    """
    parts = name.split(".")
    places = [(root, parts) for root in _roots().get(parts[0], ())]
    if parts[0] == plugins.LIBRARY.name:
        places += [(folder, parts[1:]) for folder in folders]
    return tuple(
        path
        for place, names in places
        for depth in range(1, len(names) + 1)
        for inside in [place.joinpath(*names[:depth])]
        for path in (inside / "__init__.py", inside.with_suffix(".py"))
        if path.is_file()
    )
