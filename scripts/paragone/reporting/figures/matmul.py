"""The speed of matrix products by size: one color per backend, one panel per precision."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from paragone.analysis.product_tables import NOT_HERE, SERIES, medians, peaks, with_labels
from paragone.analysis.statistics import INTERVAL
from paragone.reporting import footnotes, marks, style
from paragone.reporting.inputs import Inputs

STATUS = {
    "out_of_memory": "out of memory",
    "too_slow": "too slow",
    "unavailable": "not available",
    "wrong": "wrong product",
}
RING = {"marker": "o", "markerfacecolor": "none", "markeredgewidth": 0.8}  # around a peak


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per case: GFLOP/s (median, low, high), runs, and whether it is the series' peak."""
    cases = with_labels(medians(inputs.products, "flops_per_second"), inputs.labels)
    highest = peaks(inputs.products).rename(columns={"size": "m"})[[*SERIES, "precision", "m"]]
    cases = cases.merge(highest.assign(peak=True), how="left", on=[*SERIES, "precision", "m"])
    cases["peak"] = cases["peak"].eq(True) & cases["square"]
    for column in ("median", "low", "high"):
        cases[column] /= 1e9
    return cases.rename(columns={key: f"{key}_gflops" for key in ("median", "low", "high")})


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """Draw the speed of square products by size, both logarithmic; tables have the others."""
    squares = points[points["square"]]
    styles = style.series_styles(squares["label"], squares["backend"], inputs.palette)
    panels = dict(list(squares.groupby("precision", sort=False)))
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    measured = inputs.products.assign(**dict.fromkeys(NOT_HERE, pd.NA))
    handles = [marks.legend_line(name, **look) for name, look in styles.items()]
    handles.append(marks.legend_mark("peak", markersize=6, **RING))
    height, remarks = 1.65 * rows + 0.2, _remarks(squares)
    frame = style.Frame(style.SINGLE, height, inputs.title, measured, remarks, handles)
    grid = frame.subplots(rows, columns, sharey=True, squeeze=False).flat
    for axes, (precision, cases) in zip(grid, panels.items(), strict=False):
        _draw_panel(axes, cases.assign(series=cases["label"]), styles)
        axes.set_title(precision, loc="left")
        axes.set_ylabel("GFLOP/s" if axes.get_subplotspec().is_first_col() else "")
    for axes in list(grid)[len(panels) :]:
        axes.remove()
    return frame


def _draw_panel(axes: Axes, cases: pd.DataFrame, styles: dict[str, dict[str, Any]]) -> None:
    sides = sorted({int(side) for side in cases["m"]})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    names = [f"{side // 1024}k" if side % 1024 == 0 else str(side) for side in sides]
    axes.set_xticks(sides, names, size=6)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("side of the matrices")
    axes.set_xlim(sides[0] / 1.4, sides[-1] * 1.4)
    marks.plain_logarithms(axes.yaxis)
    axes.grid(axis="y")
    present = {name: styles[name] for name in dict.fromkeys(cases["series"])}
    columns = {"value": "median_gflops", "low": "low_gflops", "high": "high_gflops"}
    columns |= {"n": "runs", "runs": "names"}
    shown = cases.assign(**{name: cases[column] for name, column in columns.items()})
    # Series are side by side, so that intervals do not overlap.
    shown["x"] = marks.dodged(cases["m"], cases["series"], 1.09)
    marks.draw_series(axes, shown, present, "GFLOP/s")
    marks.draw_series(axes, shown[shown["peak"]], present, "GFLOP/s", markersize=7, **RING)
    wordings = []
    for name, look in present.items():
        part = shown[shown["series"] == name]
        gone = part[part["n"] == 0]
        if len(gone) == len(part):
            states = dict.fromkeys(STATUS[status] for status in gone["status"])
            wordings.append(f"{name}:\n{', '.join(states)}")
        elif len(gone):
            cross = {"linestyle": "none", "marker": "x", "color": look["color"]}
            axes.plot(gone["x"], [0.04] * len(gone), transform=axes.get_xaxis_transform(), **cross)
    if wordings:
        low = 0.5 if len(wordings) == len(present) else 0.06
        look = {"style": "italic", "size": 6, "color": style.ALARM, "ha": "center", "va": "bottom"}
        axes.text(0.5, low, "\n".join(wordings), transform=axes.transAxes, **look)


def _remarks(cases: pd.DataFrame) -> list[str]:
    counts = cases.loc[cases["runs"] > 0, "runs"]
    interval = f"Median and {INTERVAL}" if counts.max() > 1 else "One run each, no interval"
    # What is missing as a whole is written into its panel.
    some = cases.groupby(["label", "precision"])["runs"].transform("max") > 0
    gone = [
        f"{row['label']}, {row['precision']}, {row['m']}: {STATUS[row['status']]}"
        for row in cases[(cases["runs"] == 0) & some].to_dict("records")
    ]
    return [
        f"{interval}, n = {footnotes.spread(counts)} timed runs of one process.",
        "Square products; peak: the highest median.",
        *([f"No speed (x): {'; '.join(gone)}."] if gone else []),
        "Normal random matrices.",
    ]
