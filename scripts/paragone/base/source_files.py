"""What a Python file says of itself, read without importing it. Standard library only: read at parse time."""

import ast
from pathlib import Path

from paragone.base.errors import UserError


def keys_of(file: Path, table: str) -> list[str]:
    """The keys of the table of one file; `UserError` if it has none, or a computed one."""
    value = _values(file).get(table)
    if value is None:
        raise UserError(f"{file}: has no `{table} = {{...}}`; add it")
    found = next((node for node in ast.walk(value) if isinstance(node, ast.Dict)), None)
    if found is None:
        raise UserError(f"{file}, line {value.lineno}: {table} is computed; write it out, {{...}}")
    for key in found.keys:  # None: of `**other`
        if not isinstance(key, ast.Constant):
            line = key.lineno if key else value.lineno
            raise UserError(f"{file}, line {line}: a key of {table} is computed; write it out")
    return [str(key.value) for key in found.keys if isinstance(key, ast.Constant)]


def _values(file: Path) -> dict[str, ast.expr]:
    """The expressions that a module's statements give to names."""
    found: dict[str, ast.expr] = {}
    for statement in parsed(file).body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                found |= {one.id: value for one in targets if isinstance(one, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found[name] = value
    return found


def parsed(file: Path) -> ast.Module:
    """The syntax of a file; `UserError` with the line that is wrong, or for what cannot be read."""
    try:
        return ast.parse(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        words = (error.strerror or str(error)).lower()
        raise UserError(f"{file}: {words}; correct it, or move it away") from None
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""  # not of bytes of value 0
        raise UserError(f"{file}{line}: {error.msg}; correct it") from None
    except ValueError as error:  # another encoding; other versions of Python: bytes of value 0
        raise UserError(f"{file}: {error}; save it as UTF-8 text") from None
