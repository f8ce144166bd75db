"""Horizontal figures: one row per series, values from zero on, words where there are none."""

import re
import textwrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.text import Annotation

from paragone.reporting.drawing import style
from paragone.reporting.drawing.marks import plain_numbers, write

_LABEL, _WORDS = 21, 34  # characters per line that leave room for the rest in a single column
_BESIDE: dict[str, Any] = {"va": "center", "linespacing": 1.05}
_OVER_THE_GRID = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}


def name_rows(axes: Axes, names: list[str]) -> None:
    """Name the rows, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_ylabel("")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def row_axes(axes: Axes, names: list[str], quantity: str) -> None:
    """Name the rows by series, and the x-axis from zero on."""
    name_rows(axes, [_lines(name.replace(" (", "\n(", 1), _LABEL) for name in names])
    axes.set_xlabel(quantity)
    plain_numbers(axes.xaxis)
    axes.locator_params(axis="x", nbins=4 if axes.figure.get_figwidth() < 5 else 8)
    axes.grid(axis="x")


def write_words(axes: Axes, row: int, words: str) -> None:
    """Say in a row why nothing is drawn there."""
    place = {"xycoords": axes.get_yaxis_transform(), "bbox": _OVER_THE_GRID, **_BESIDE}
    write(axes, _lines(words, _WORDS), (0, row), (4, 0), style="italic", color=style.ALARM, **place)


def write_value(axes: Axes, row: int, end: float, value: str, words: str) -> Annotation:
    """Write a row's value beyond `end`, and below it what became of its other runs."""
    lines = [value, *([_lines(words, _WORDS)] if words else [])]
    return write(axes, "\n".join(lines), (end, row), (4, 0), bbox=_OVER_THE_GRID, **_BESIDE)


def make_room(axes: Axes, texts: list[Annotation]) -> None:
    """Widen the x-axis until the values written into it end before its right edge."""
    figure = axes.figure
    for _ in range(6):
        figure.draw_without_rendering()
        box = axes.get_window_extent()
        excess = max((text.get_window_extent().x1 - box.x1 for text in texts), default=0)
        if excess <= 0:
            return
        # Positions shrink with a longer axis, the texts' own widths do not.
        axes.set_xlim(0, axes.get_xlim()[1] * (1 + 1.1 * excess / box.width))


def _lines(text: str, width: int) -> str:
    text = re.sub(r"(\d) (replica)", "\\1\N{NO-BREAK SPACE}\\2", text)
    return "\n".join(
        line
        for part in text.splitlines()
        for line in textwrap.wrap(part, width, break_long_words=False)
    )
