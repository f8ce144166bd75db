"""Figures, a module each: `points(inputs)` returns what is drawn, `draw(points, inputs)` the figure.

`write` saves the points, a table, next to the figure; columns whose names begin with an underscore are for
`draw` alone.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paragone.analysis import tidy
from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.reporting import style
from paragone.reporting.inputs import Inputs

__path__ = plugins.extended(__path__, "reporting/figures")


def load(name: str) -> Any:
    """Return the module of a figure of the project or of a plugin.

    Raises `UserError` that lists the known names.
    """
    names = plugins.names_in("reporting/figures")
    if name not in names:
        raise UserError(f"{name!r} is none of the figures: {', '.join(names)}")
    return plugins.load("reporting/figures", name, "points", "draw")


def write(
    name: str, inputs: Inputs, folder: Path, suffixes: Sequence[str] = (".svg", ".pdf", ".png")
) -> None:
    """Draw a figure into a folder, in a file per suffix, and save its points as CSV."""
    figure = load(name)
    points = figure.points(inputs)
    shown = points.loc[:, ~points.columns.str.startswith("_")]
    style.use_fonts_for([inputs.title, *inputs.labels.values(), shown.to_csv()])
    style.save(figure.draw(points, inputs), [folder / f"{name}{suffix}" for suffix in suffixes])
    tidy.write(shown, folder / f"{name}.csv")
