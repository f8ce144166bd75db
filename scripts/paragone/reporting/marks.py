"""Parts that several figures draw: lines, intervals, cells, rows, words in place of values, legends."""

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

from paragone.analysis.grouping import Series
from paragone.analysis.statistics import summarize
from paragone.reporting import style

BAR_COLUMNS = ["panel", "series", "backend", "x", "kind", "value", "low", "high", "n", "runs"]
BAR_COLUMNS += ["words"]
STAR = {"color": style.PUBLISHED, "marker": "*", "markersize": 5.5}  # of published values
HOLLOW = {"markerfacecolor": "none"}  # those that count in no verdict

_LABEL, _WORDS = 23, 34  # characters per line that leave room for the rest in a single column
_CENTERED: dict[str, Any] = {"ha": "center", "va": "bottom", "size": 6}
_BOX = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}


# Lines and points


def dodged(x: pd.Series, series: pd.Series, apart: float) -> pd.Series:
    """Return places on a logarithmic axis of which those of a series are a factor `apart` from the next's."""
    names = list(dict.fromkeys(series))
    offsets = {name: apart ** aside(number, len(names), 1) for number, name in enumerate(names)}
    return x.astype(float) * series.map(offsets).astype(float)


def draw_series(
    axes: Axes, rows: pd.DataFrame, styles: dict[str, dict[str, Any]], unit: str, **more: Any
) -> None:
    """Draw a line with intervals per series: columns `value`, `low` and `high` over `x`; `more` overrides
    all styles."""
    for name, look in styles.items():
        here = rows[rows["series"] == name].dropna(subset="value").sort_values("x")
        errors = [(here["value"] - here["low"]).fillna(0), (here["high"] - here["value"]).fillna(0)]
        caps = {"elinewidth": 0.8, "capsize": 1.6, "capthick": 0.8}
        axes.errorbar(here["x"], here["value"], yerr=errors, **{**caps, **look, **more})
        explain(axes, here["x"], here["value"], here, "value", unit)


def draw_level(axes: Axes, value: float, wording: str, above: bool = False, **options: Any) -> None:
    """Draw a line across the axes, named on the left below it or, if `above`, on the right above it."""
    axes.axhline(value, linewidth=0.8, **options)
    x, offset, ha, va = (1, (-3, 2), "right", "bottom") if above else (0, (3, -2), "left", "top")
    write(axes, wording, (x, value), offset, xycoords=("axes fraction", "data"), ha=ha, va=va)


def write(
    axes: Axes, wording: str, at: tuple[float, float], offset: tuple[float, float], **options: Any
) -> Annotation:
    """Write words `offset` points from `at`, legible on a curve; the layout makes no room for them."""
    text = axes.annotate(wording, at, offset, textcoords="offset points", **options)
    text.set_path_effects([withStroke(linewidth=1.5, foreground="white")])
    text.set_in_layout(False)
    return text


def explain(
    axes: Axes, x: Iterable[float], y: Iterable[float], rows: pd.DataFrame, value: str, unit: str
) -> None:
    """Let a reader of the SVG file see, at each point, its series, value, interval, n and runs.

    `rows`: one per point, with the columns `series` and `value`, and with `low`, `high`, `n` and `runs` where
    these are known.
    """
    texts = [_explanation(row, row[value], unit) for row in rows.to_dict("records")]
    axes.figure.explained.append((axes, x, y, texts))


def _explanation(row: dict[str, Any], value: float, unit: str) -> str:
    low, high, n = (row.get(key, np.nan) for key in ("low", "high", "n"))
    interval = "" if pd.isna(low) or pd.isna(high) else f" (95 %: {_short(low)} to {_short(high)})"
    lines = [f"{row['series']}: {_short(value)} {unit}{interval}"]
    if not pd.isna(n):
        lines.append(f"n = {n:.0f}")
    if runs := str(row.get("runs", "")).split():
        more = f" and {len(runs) - 3} more" if len(runs) > 3 else ""
        lines.append(", ".join(runs[:3]) + more)
    return "\n".join(lines)


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


# Axes


def scale(axes: Axes, values: pd.Series) -> bool:
    """Make the y-axis logarithmic if positive values differ more than 8 times; return whether it is."""
    values = values[np.isfinite(values) & (values > 0)]
    wide = len(values) > 0 and values.max() / values.min() > 8
    if wide:
        axes.set_yscale("log")
        plain_logarithms(axes.yaxis)
    return wide


def plain_numbers(axis: Axis) -> None:
    """Write ticks as 1,000 and 0.5, not as powers."""
    axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))


def plain_logarithms(axis: Axis, subs: Sequence[int] = (1, 2, 5)) -> None:
    """Put the ticks of a logarithmic axis at `subs` times the powers of ten, as plain numbers; at the powers
    alone where numbers beside each other would overlap, and evenly where there would be one at most."""
    low, high = axis.get_view_interval()
    is_wide = axis.axis_name == "x" and high > 50 * low
    locator = LogLocator(subs=(1,) if is_wide else subs)
    are_in_view = [low <= tick <= high for tick in locator.tick_values(low, high)]
    axis.set_major_locator(locator if sum(are_in_view) > 1 else MaxNLocator(4, steps=[1, 2, 5, 10]))
    axis.set_minor_locator(NullLocator())
    plain_numbers(axis)


# Entries of legends


def legend_line(label: str, **options: Any) -> Line2D:
    """Return a legend entry with a line, gray unless `options` have another color."""
    return Line2D([], [], label=label, **{"color": style.MUTED, **options})


def legend_mark(label: str, **options: Any) -> Line2D:
    """Return a legend entry with a marker, a gray dot unless `options` say otherwise."""
    return legend_line(label, **{"linestyle": "none", "marker": "o", **options})


def legend_band() -> Patch:
    """Return the entry of intervals that are drawn as areas."""
    return Patch(color=style.MUTED, alpha=0.25, linewidth=0, label="95 % interval")


# Points over categories


def bar_rows(
    panel: str, series: str, backend: str, x: object, values: pd.Series, wording: list[str]
) -> list[dict[str, Any]]:
    """Return the rows of one cell: its median and, of several, each of the `values`, which run names index.

    Without values it is one row of kind "words"; `words` say why runs have none.
    """
    shared = {"panel": panel, "series": series, "backend": backend, "x": x}
    shared["words"] = "; ".join(wording)
    present = values.dropna()
    summary = vars(summarize(present))
    if not summary["n"]:
        return [{**shared, "kind": "words", "n": 0}]
    median = {"kind": "median", "value": summary.pop("median"), **summary}
    rows = [{**shared, **median, "runs": " ".join(sorted(present.index))}]
    if len(present) > 1:
        rows += [{**shared, "kind": "run", "value": v, "runs": run} for run, v in present.items()]
    return rows


def published_row(panel: str, x: object, value: float, printed: str) -> dict[str, Any]:
    """Return the row of a published value; `printed` is the number as its source has it."""
    shared = {"panel": panel, "series": "published", "x": x, "kind": "published"}
    return {**shared, "value": value, "runs": printed, "words": ""}


def cell_styles(
    points: pd.DataFrame, sweeps: Sequence[Series], palette: dict[str, str], **more: Any
) -> dict[str, dict[str, Any]]:
    """Return the style of each series of cells, that of published values first; `more` overrides."""
    labels, backends = [sweep.label for sweep in sweeps], [sweep.backend for sweep in sweeps]
    styles = style.series_styles(labels, backends, palette, **more)
    star = {**STAR, "linestyle": "--", **more}
    return {"published": star, **styles} if "published" in set(points["series"]) else styles


def aside(number: int, count: int, apart: float) -> float:
    """Return by how much series `number` of `count` is moved aside of its category."""
    return apart * (number - (count - 1) / 2)


def draw_cells(
    axes: Axes,
    rows: pd.DataFrame,
    styles: dict[str, dict[str, Any]],
    apart: float,
    unit: str,
    digits: int | None = None,
) -> None:
    """Draw `rows` of `BAR_COLUMNS` over their categories: values in a unit, intervals, why one is missing.

    Series are `apart`, in widths of a category, from each other; a line of their style breaks where one has
    no value. `digits`: of the number over each value; None writes none.
    """
    rows, xs = rows[rows["kind"] != "run"], list(dict.fromkeys(rows["x"]))
    for number, (name, look) in enumerate(styles.items()):
        here = rows[rows["series"] == name].set_index("x").reindex(xs)
        at = np.arange(len(xs)) + aside(number, len(styles), apart)
        axes.plot(at, here["value"], **{**look, "linewidth": 0.9})
        axes.vlines(at, here["low"], here["high"], color=look["color"], linewidth=0.9)
        present = here["value"].notna().to_numpy()
        explain(axes, at[present], here["value"][present], here[present], "value", unit)
        ends = here[["value", "high"]].max(axis=1)
        for x, value, end, wording in zip(at, here["value"], ends, here["words"], strict=True):
            if digits is not None and not pd.isna(value):
                write(axes, f"{value:,.{digits}f}", (x, end), (0, 3), **_CENTERED)
            if isinstance(wording, str) and wording:
                write_upright(axes, x, wording, look["color"])
    name_categories(axes, xs)


def name_categories(axes: Axes, names: Iterable[object]) -> None:
    """Name the categories of the x-axis, 0 and up."""
    texts = [str(name).replace(", ", "\n") for name in names]
    axes.set_xticks(range(len(texts)), texts)
    axes.set_xlim(-0.5, len(texts) - 0.5)
    axes.grid(axis="y")


def write_upright(axes: Axes, at: float, wording: str, color: str) -> None:
    """Write on the lower edge at `at` why nothing, or not all, is drawn there."""
    place = {"rotation": 90, "bbox": {**_BOX, "alpha": 0.7}, "xycoords": axes.get_xaxis_transform()}
    font = {"style": "italic", "color": color, **_CENTERED}
    write(axes, wording.replace("; ", "\n"), (at, 0), (0, 2), **font, **place)


# Horizontal rows, one per series


def name_rows(axes: Axes, names: list[str]) -> None:
    """Name the rows, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def rows_height(names: Iterable[str], least: float) -> float:
    """Return the height of rows in inches, `least` each or as much as the longest name takes."""
    lines = [_row_name(name).count("\n") + 1 for name in names]
    return len(lines) * max(least, 0.115 * max(lines, default=1) + 0.05)


def row_axes(axes: Axes, names: list[str], quantity: str) -> None:
    """Name the rows by series, and let the x-axis show `quantity`."""
    name_rows(axes, [_row_name(name) for name in names])
    axes.set_xlabel(quantity)
    plain_numbers(axes.xaxis)
    axes.locator_params(axis="x", nbins=4 if axes.figure.get_figwidth() < 5 else 8)
    axes.grid(axis="x")


def write_words(axes: Axes, row: int, wording: str) -> None:
    """Write in a row why nothing is drawn there."""
    font = {"style": "italic", "color": style.ALARM, "linespacing": 1.05}
    place = {"xycoords": axes.get_yaxis_transform(), "bbox": _BOX, "va": "center"}
    write(axes, _lines(wording, _WORDS), (0, row), (4, 0), **font, **place)


def write_value(axes: Axes, row: int, end: float, value: str, wording: str) -> None:
    """Write a row's value beyond `end`, and below it what became of its other runs.

    The layout makes room for it, to the right of the axes where they end.
    """
    text = "\n".join(filter(None, [value, _lines(wording, _WORDS)]))
    place = {"bbox": _BOX, "va": "center", "linespacing": 1.05}
    write(axes, text, (end, row), (4, 0), **place).set_in_layout(True)


def _row_name(name: str) -> str:
    return _lines(name.replace(" (", "\n(", 1), _LABEL)


def _lines(text: str, width: int) -> str:
    text = re.sub(r"(\d) (replica)", "\\1\N{NO-BREAK SPACE}\\2", text)
    return "\n".join(
        line
        for part in text.splitlines()
        for line in textwrap.wrap(part, width, break_long_words=False, break_on_hyphens=False)
    )
