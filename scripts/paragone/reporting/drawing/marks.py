"""Lines and points of series, and the axes below them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.text import Annotation
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from paragone.reporting.drawing import style

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


def write(
    axes: Axes, words: str, at: tuple[float, float], offset: tuple[float, float], **look: Any
) -> Annotation:
    """Words `offset` points from `at`, for which the layout makes no room."""
    text = axes.annotate(words, at, offset, textcoords="offset points", **look)
    text.set_in_layout(False)
    return text


def draw_level(axes: Axes, value: float, words: str, above: bool = False, **look: Any) -> None:
    """A line across the axes; its name is on the left below it, or on the right above it."""
    axes.axhline(value, linewidth=0.8, **look)
    x, offset, ha, va = (1, (-3, 2), "right", "bottom") if above else (0, (3, -2), "left", "top")
    write(axes, words, (x, value), offset, xycoords=("axes fraction", "data"), ha=ha, va=va)


def draw_targets(axes: Axes, runs: pd.DataFrame, above: bool = False) -> None:
    """A line at each accuracy that the runs try to reach, named as by `draw_level`."""
    for target in sorted(set(runs["target_accuracy"].dropna())):
        draw_level(axes, target, f"target {target:g}", above, color=style.MUTED, linestyle=":")


def draw_chance(axes: Axes, runs: pd.DataFrame) -> None:
    """A line at the accuracy of the most frequent class alone; beside the axis' name if far below."""
    for chance in sorted(set(runs["test_majority"].dropna().round(3))):
        low, high = axes.get_ylim()
        if chance > low - 0.25 * (high - low):
            draw_level(axes, chance, f"chance {chance:g}", True, color=style.MUTED, linestyle="-.")
        else:
            axes.set_ylabel(f"{axes.get_ylabel()}\nchance: {chance:g}, below")


def scale(axes: Axes, values: pd.Series) -> bool:
    """Make the y-axis logarithmic where the positive values differ a lot; whether it is."""
    values = values[np.isfinite(values) & (values > 0)]
    wide = len(values) > 0 and values.max() / values.min() > 8
    if wide:
        axes.set_yscale("log")
        plain_logarithms(axes.yaxis)
    return wide


def plain_numbers(axis: Axis) -> None:
    """Ticks as 1,000 and 0.5, never as powers."""
    axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))


def plain_logarithms(axis: Axis, subs: Sequence[int] = (1, 2, 5), most: int | None = None) -> None:
    """Ticks of a logarithmic axis at `subs` times the powers of ten, as plain numbers.

    Powers are left out so that there are `most` ticks at most; None: as many as Matplotlib finds room for.
    """
    axis.set_major_locator(LogLocator(subs=subs, numticks=most))
    axis.set_minor_locator(NullLocator())
    plain_numbers(axis)


def dodged(number: int, count: int, factor: float) -> float:
    """What to multiply a logarithmic position by, so that `count` series stand side by side."""
    return factor ** (number - (count - 1) / 2)
