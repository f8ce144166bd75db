"""Lines and points of series, and the axes below them."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

# The dashes behind matplotlib's names of lines, in line widths.
_DASHES = {"-": "", "--": (3.7, 1.6), ":": (1, 1.65), "-.": (6.4, 1.6, 1, 1.6)}


def draw_lines(
    axes: Axes, rows: pd.DataFrame, x: str, y: str, looks: dict[str, dict[str, Any]], **more: Any
) -> None:
    """One line per series of the column `series`, through the values as they are.

    `looks`: color, marker and linestyle by series. `more`: of all lines, before their own look;
    `markers=False` leaves the markers out.
    """
    known = rows.dropna(subset=[x, y]).astype({x: float, y: float})
    if known.empty:
        return
    own = {key: {name: look[key] for name, look in looks.items()} for key in ("color", "marker")}
    sns.lineplot(
        known,
        x=x,
        y=y,
        hue="series",
        style="series",
        palette=own["color"],
        dashes={name: _DASHES[look["linestyle"]] for name, look in looks.items()},
        estimator=None,
        errorbar=None,
        legend=False,
        ax=axes,
        **{"markers": own["marker"], **more},
    )


def draw_intervals(
    axes: Axes, x: pd.Series, value: pd.Series, low: pd.Series, high: pd.Series, **look: Any
) -> None:
    """Points with their intervals; where `low` and `high` are missing, points alone."""
    errors = [(value - low).fillna(0), (high - value).fillna(0)]
    axes.errorbar(x, value, yerr=errors, **{**look, "linestyle": "none"})


def plain_numbers(axis: Axis) -> None:
    """Ticks as 1,000 and 0.5, never as powers."""
    axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))


def plain_logarithms(axis: Axis, subs: Sequence[int] = (1, 2, 5)) -> None:
    """Ticks of a logarithmic axis at `subs` times the powers of ten, as plain numbers."""
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_minor_locator(NullLocator())
    plain_numbers(axis)


def dodged(number: int, count: int, factor: float) -> float:
    """What to multiply a logarithmic position by, so that `count` series stand side by side."""
    return factor ** (number - (count - 1) / 2)
