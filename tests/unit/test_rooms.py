"""The rooms of scripts/paragone/: which of them each may import, and that no program imports another."""

import ast
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
LIBRARY = SCRIPTS / "paragone"

# Directly below each room. Whatever lies below those is open to it as well: see `below`.
NEXT_BELOW = {
    "base": [],
    "tasks": ["base"],
    "machine": ["records"],
    "config": ["tasks"],
    "plan": ["config"],
    "data": ["records"],
    "models": ["data"],
    "engines": ["models", "machine"],
    "parity": ["engines"],
    "workers": ["machine"],
    "records": ["config"],
    "training": ["parity", "workers", "records"],
    "timing": ["workers"],
    "microbenchmarks": ["engines"],
    "analysis": ["records"],
    "reporting": ["analysis"],
}


def below(room: str) -> set[str]:
    """The rooms that `room` may import."""
    return {*NEXT_BELOW[room], *(deeper for each in NEXT_BELOW[room] for deeper in below(each))}


def imported(path: Path) -> list[str]:
    """Dotted names of this project's modules and programs that a file imports."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "paragone":
            names += [f"paragone.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module)
    return names


def test_every_room_is_listed():
    rooms = {path.parent.name for path in LIBRARY.glob("*/__init__.py")}
    assert rooms == set(NEXT_BELOW)
    assert [path.name for path in LIBRARY.glob("*.py")] == ["__init__.py"]


@pytest.mark.parametrize("room", sorted(NEXT_BELOW))
def test_no_room_imports_one_above_it(room):
    upward = [
        f"{path.relative_to(LIBRARY)} imports {name}"
        for path in (LIBRARY / room).rglob("*.py")
        for name in imported(path)
        if name.startswith("paragone.") and name.split(".")[1] not in below(room) | {room}
    ]
    assert upward == []


def test_no_program_imports_a_program():
    programs = {path.stem for path in SCRIPTS.glob("*.py")}
    for path in SCRIPTS.rglob("*.py"):
        assert not programs & set(imported(path)), path
