"""Lists names that are parts of speech where a noun of the field belongs, and classes that share a name.

The status is 1 if there are any. Tests are not looked at.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("scripts", "benchmarks", "docs", "examples", "papers", "workflows")
BANNED = {"found", "each", "one", "own", "known", "words"}
BANNED |= {"about", "wanted", "others", "same", "named", "made"}
# Keys of users' configs, which the fields of their types are named after.
KEYS = {("dataset_keys.py", "about"), ("dataset_keys.py", "words")}


def bound(node: ast.AST) -> Iterator[str]:
    """Yield the name that a node binds: of a variable, a parameter, a function, a class or an alias."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.alias(asname=str(name)):
            yield name
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.MatchAs(name=str(name)):
            yield name


def main() -> None:
    """Print a line for each fault, and exit."""
    faults, classes = [], defaultdict(list)
    paths = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    for path in (path for path in paths if "tests" not in path.relative_to(ROOT).parts):
        shared = path.is_relative_to(ROOT / "scripts") and "models" not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            place = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            names = [name for name in bound(node) if (path.name, name) not in KEYS]
            faults += [f"{place}: {name}" for name in names if name in BANNED]
            if shared and isinstance(node, ast.ClassDef):
                classes[node.name].append(place)
    twice = {name: places for name, places in classes.items() if len(places) > 1}
    faults += [f"class {name}: {', '.join(places)}" for name, places in twice.items()]
    print(*faults, f"{len(faults)} names to change, {len(twice)} of classes", sep="\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
