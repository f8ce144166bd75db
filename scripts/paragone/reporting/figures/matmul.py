"""The speed of matrix products by size: one color per backend, one panel per precision."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from paragone.analysis.product_tables import NOT_HERE, SERIES, medians, peaks, spread, with_labels
from paragone.analysis.statistics import INTERVAL
from paragone.reporting import style
from paragone.reporting.inputs import Inputs
from paragone.reporting.interactive import MEDIAN, Chart, Panel, long
from paragone.reporting.marks import (
    dodged,
    draw_intervals,
    draw_lines,
    legend_mark,
    legend_series,
    plain_logarithms,
)
from paragone.reporting.style import Frame

HEIGHT = 1.65  # inches per row of panels
DODGE = 1.09  # between series of one size, so that intervals stand side by side
STATUS = {
    "out_of_memory": "out of memory",
    "too_slow": "too slow",
    "unavailable": "not available",
    "wrong": "wrong product",
}
RING = {"marker": "o", "markerfacecolor": "none", "markeredgewidth": 0.8}  # around a peak
Shape = tuple[int, int, int]


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per case: GFLOP/s (median, low, high), runs, and whether it is the series' peak."""
    cases = with_labels(medians(inputs.products, "flops_per_second"), inputs.labels)
    highest = peaks(inputs.products).rename(columns={"size": "m"})[[*SERIES, "precision", "m"]]
    cases = cases.merge(highest.assign(peak=True), how="left", on=[*SERIES, "precision", "m"])
    cases["peak"] = cases["peak"].eq(True) & cases["square"]
    for column in ("median", "low", "high"):
        cases[column] /= 1e9
    return cases.rename(columns={key: f"{key}_gflops" for key in ("median", "low", "high")})


def chart(points: pd.DataFrame) -> Chart:
    """Return a chart of the square products by size, with a panel per precision."""
    squares = points[points["square"]].drop(columns="runs").assign(kind=MEDIAN)
    names = {"panel": "precision", "series": "label", "x": "m", "value": "median_gflops"}
    names |= {"low": "low_gflops", "high": "high_gflops", "n": "cases", "runs": "names"}
    rows = long(squares.assign(cases=points["runs"]), **names)
    return Chart(
        rows,
        {
            precision: Panel("side of the matrices", f"GFLOP/s, {precision}", log_x=True)
            for precision in dict.fromkeys(rows["panel"])
        },
    )


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """Draw speed by size, both logarithmic; other products are to the right of the squares."""
    styles = style.series_styles(points["label"], points["backend"], inputs.palette)
    panels = dict(list(points.groupby("precision", sort=False)))
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    about = inputs.products.assign(**dict.fromkeys(NOT_HERE, pd.NA))
    peak = legend_mark("peak", markersize=6, **RING)
    handles, height = [*legend_series(styles), peak], HEIGHT * rows + 0.2
    frame = Frame(style.SINGLE, height, inputs.title, about, _remarks(points), handles)
    grid = frame.figure.subplots(rows, columns, sharey=True, squeeze=False).flat
    for axes, (precision, cases) in zip(grid, panels.items(), strict=False):
        places = _places(cases)  # not every product is measured in every precision
        _dress(axes, precision, places)
        _draw_panel(axes, cases.assign(series=cases["label"]), places, styles)
        axes.set_xlabel("side of the matrices")
        axes.set_ylabel("GFLOP/s" if axes.get_subplotspec().is_first_col() else "")
    for axes in list(grid)[len(panels) :]:
        axes.remove()
    return frame.figure


def _places(cases: pd.DataFrame) -> dict[Shape, float]:
    """Return the position of each shape: squares at their size, the others after them."""
    shapes = cases[["m", "k", "n", "square"]].drop_duplicates()
    sizes = sorted(int(size) for size in shapes.loc[shapes["square"], "m"])
    places = {(size, size, size): float(size) for size in sizes}
    at = 1.7 * sizes[-1] if sizes else 1.0
    for shape in _shapes(shapes[~shapes["square"]]):
        places[shape] = at * 2.2
        at *= 2.2**2
    return places


def _draw_panel(
    axes: Axes, cases: pd.DataFrame, places: dict[Shape, float], styles: dict[str, dict[str, Any]]
) -> None:
    offsets = {
        name: dodged(at, len(styles), DODGE)
        for at, name in enumerate(dict.fromkeys(cases["label"]))
    }
    x = [places[shape] for shape in _shapes(cases)]
    cases = cases.assign(x=x * cases["label"].map(offsets).astype(float)).sort_values("x")
    draw_lines(axes, cases[cases["square"]], "x", "median_gflops", styles, marker="none")
    words = []
    for name in offsets:
        part, own = cases[cases["label"] == name], styles[name]
        shown, gone = part[part["runs"] > 0], part[part["runs"] == 0]
        value, low, high = (shown[f"{key}_gflops"] for key in ("median", "low", "high"))
        caps = {"elinewidth": 0.8, "capsize": 1.6, "capthick": 0.8}
        draw_intervals(axes, shown["x"], value, low, high, **caps, **own)
        top, ring = shown[shown["peak"]], {"markersize": 7, "linestyle": "none", **RING}
        axes.plot(top["x"], top["median_gflops"], color=own["color"], **ring)
        if shown.empty:
            words.append(f"{name}:\n{_words(gone)}")
        elif len(gone):
            cross = {"linestyle": "none", "marker": "x", "color": own["color"]}
            axes.plot(gone["x"], [0.04] * len(gone), transform=axes.get_xaxis_transform(), **cross)
    if words:
        low = 0.5 if len(words) == len(offsets) else 0.06
        own = {"style": "italic", "size": 6, "color": style.ALARM, "ha": "center", "va": "bottom"}
        axes.text(0.5, low, "\n".join(words), transform=axes.transAxes, **own)


def _dress(axes: Axes, precision: str, places: dict[Shape, float]) -> None:
    axes.set_title(precision, loc="left")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(list(places.values()), [_name(shape) for shape in places])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="x", labelsize=6)
    plain_logarithms(axes.yaxis)
    axes.grid(axis="y")
    squares = [at for (m, k, n), at in places.items() if m == k == n]
    right = 1.4 if len(squares) == len(places) else 3
    axes.set_xlim(min(places.values()) / 1.4, max(places.values()) * right)
    if squares and len(squares) < len(places):
        axes.axvline(max(squares) * 1.55, color=style.FAINT, linewidth=0.6)


def _name(shape: Shape) -> str:
    m, k, n = shape
    if m == k == n:
        return f"{m // 1024}k" if m % 1024 == 0 else str(m)
    return f"({m},{k})\n@({k},{n})"


def _shapes(cases: pd.DataFrame) -> list[Shape]:
    return [(int(m), int(k), int(n)) for m, k, n in cases[["m", "k", "n"]].itertuples(index=False)]


def _remarks(cases: pd.DataFrame) -> list[str]:
    counts = cases.loc[cases["runs"] > 0, "runs"]
    interval = f"Median and {INTERVAL}" if counts.max() > 1 else "One run each, no interval"
    remarks = [
        f"{interval}, n = {spread(counts)} timed runs of one process.",
        "Peak: highest median over the squares.",
    ]
    # What is missing as a whole is written into its panel.
    some = cases.groupby(["label", "precision"])["runs"].transform("max") > 0
    gone = cases[(cases["runs"] == 0) & some]
    words = [
        f"{row['label']}, {row['precision']}, {_name(shape)}".replace("\n", " ")
        + f": {STATUS[row['status']]}"
        for (_, row), shape in zip(gone.iterrows(), _shapes(gone), strict=True)
    ]
    if words:
        remarks.append(f"No speed (x): {'; '.join(words)}.")
    return [*remarks, "Normal random matrices."]


def _words(gone: pd.DataFrame) -> str:
    return ", ".join(STATUS[status] for status in dict.fromkeys(gone["status"]))
