"""Figures, a module each: `points(inputs)` returns what is drawn, `draw(points, inputs)` the figure.

`plot.py` writes the points, a table, next to the figure; columns whose names begin with an underscore are for
`draw` alone. `chart(points)`, if a module has it, returns the interactive chart of the page.
"""

from typing import Any

from paragone.base import plugins
from paragone.base.errors import UserError

__path__ = plugins.extended(__path__, "reporting/figures")


def load(name: str) -> Any:
    """Return the module of a figure of the project or of a plugin.

    Raises `UserError` that lists the known names.
    """
    known = plugins.names_in("reporting/figures")
    if name not in known:
        raise UserError(f"{name!r} is none of the figures: {', '.join(known)}")
    return plugins.load("reporting/figures", name, "points", "draw")
