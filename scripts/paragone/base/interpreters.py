"""The Pythons of backends that have an environment of their own."""

import sys
from pathlib import Path

from paragone.base.errors import Unavailable, UserError
from paragone.base.typed_json import Part, read


class Interpreter(Part, frozen=True):
    """The Python of a backend, or why there is none; what `make_environment.py` writes."""

    python: str | None = None
    reason: str | None = None


def python_of(files: tuple[Path, ...], backend: str = "") -> str:
    """Return the Python that runs a backend: that of its file, <backend>.json, or that of this process.

    Without a `backend` the first file is the one. Raises `Unavailable` where the environment could not be
    made, `UserError` where its Python is not on this host.
    """
    path = next((path for path in files if backend in ("", path.stem)), None)
    if path is None:
        return sys.executable
    result = read(Interpreter, path, "environment")
    if result.python is None:
        raise Unavailable(result.reason)
    if not Path(result.python).exists():
        raise UserError(f"{path}: there is no {result.python} here; delete the file and run again")
    return result.python
