"""Figures and tables are modules that their programs load by name."""

import importlib
from pathlib import Path
from typing import Any

from paragone.base.errors import UserError


def load(kind: str, name: str) -> Any:
    """The module `name` of the package `kind` ("figures" or "tables").

    Raises `UserError` that lists the known names.
    """
    files = (Path(__file__).parent / kind).glob("[!_]*.py")
    known = sorted(path.stem for path in files)
    if name not in known:
        raise UserError(f"{name!r} is none of the {kind}: {', '.join(known)}")
    return importlib.import_module(f"paragone.reporting.{kind}.{name}")
