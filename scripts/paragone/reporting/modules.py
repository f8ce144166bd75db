"""Figures and tables are modules that their programs load by name."""

from typing import Any

from paragone.base import plugins
from paragone.base.errors import UserError


def load(kind: str, name: str) -> Any:
    """The module `name` of the package `kind` ("figures" or "tables"), of the project or a plugin.

    Raises `UserError` that lists the known names.
    """
    known = plugins.names_in(f"reporting/{kind}")
    if name not in known:
        raise UserError(f"{name!r} is none of the {kind}: {', '.join(known)}")
    return plugins.load(f"reporting/{kind}", name)
