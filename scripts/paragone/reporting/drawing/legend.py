"""Entries of legends that several figures have."""

from typing import Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from paragone.reporting.drawing import style


def line(label: str, **look: Any) -> Line2D:
    """A line, grey unless `look` says otherwise."""
    return Line2D([], [], label=label, **{"color": style.MUTED, **look})


def mark(label: str, **look: Any) -> Line2D:
    """A marker without a line: a grey dot unless `look` says otherwise."""
    return line(label, **{"linestyle": "none", "marker": "o", **look})


def band(alpha: float) -> Patch:
    """An interval that is drawn as an area."""
    return Patch(color=style.MUTED, alpha=alpha, linewidth=0, label="95 % interval")


def over_bars() -> list[Line2D]:
    """Single runs and intervals over bars."""
    return [
        mark("one run", markersize=1.8, color=style.INK),
        line("95 % interval", color=style.INK, linewidth=0.9),
    ]


def series(looks: dict[str, dict[str, Any]]) -> list[Line2D]:
    """One entry per series, in its look."""
    return [line(label, **look) for label, look in looks.items()]
