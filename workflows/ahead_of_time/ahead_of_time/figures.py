"""The figures: bounds of published steps, and what collectives leave of the scaling."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, StrMethodFormatter

from ahead_of_time.bounds import PARTS, STRONG, scaling
from ahead_of_time.shown import BOUND, COMPILED, STATUS, Shown
from paragone.base.errors import UserError
from paragone.reporting import style
from paragone.reporting.marks import (
    legend_line,
    legend_mark,
    name_rows,
    plain_logarithms,
    write_words,
)

SHAPES = dict(zip(PARTS, ("s", "o", "^"), strict=True))
ROW, LINE = 0.1, 0.11  # inches between rows, and per backend
PANEL = 1.5  # inches, height of a scaling panel
ENDS = {"bound": "-", "apart": "--"}
TILES = (
    "Efficiency: throughput at the bound over that of one device times their number. Arrays fill whole "
    "tiles: a device with few examples reads and writes no less, and may do more."
)


def published_bounds(shown: Shown) -> pd.DataFrame:
    """One row per part of a bound, or published time of a step (`part` "published").

    A step that was not compiled has one row with its status, without a part.
    """
    key = ["target", "workload", "global_batch"]
    steps = shown.table.melt(
        [*key, "label", "backend", "series", "status", "binds"],
        [f"{part}_seconds" for part in PARTS],
        "part",
        "seconds",
    )
    steps["part"] = steps["part"].str.removesuffix("_seconds").where(steps["status"] == "compiled")
    steps["binds"] = steps["binds"] == steps["part"]
    steps = steps[steps["part"].isna() | (steps["seconds"] > 0)].drop_duplicates()
    published = shown.published.dropna(subset="step_seconds")
    published = published.rename(columns={"system": "series", "step_seconds": "seconds"})
    labels = shown.table.drop_duplicates(key).set_index(key)["label"]
    published = published.join(labels, on=key, how="inner").assign(part="published", binds=False)
    rows = pd.concat([steps, published])[list(steps)]
    batches = rows["global_batch"].map("{:,}".format)
    return rows.assign(place=rows["label"] + ", batch " + batches + ": " + rows["target"])


def draw_published_bounds(points: pd.DataFrame, shown: Shown) -> Figure:
    """A row per step and target, in it one line of marks per backend, and the published times."""
    places = list(dict.fromkeys(points["place"]))
    backends = list(dict.fromkeys(points["backend"].dropna()))
    mark = {"markersize": 3.6, "color": style.MUTED}
    handles = [
        *(legend_mark(part, **{**mark, "marker": shape}) for part, shape in SHAPES.items()),
        legend_mark("published, per step", marker="D", color=style.PUBLISHED, markersize=3),
        *(
            legend_line(shown.label(name), color=style.color(shown.heading.palette, name))
            for name in backends
        ),
    ]
    filled = "Filled: what binds. Published: the source's clock over its steps."
    remarks = [COMPILED, BOUND, shown.validated, filled]
    lines = points.groupby("place")["backend"].nunique().clip(lower=1).sum()
    height = LINE * lines + ROW * len(places) + 0.4
    title = f"{shown.heading.title}: published times and lower bounds"
    frame = style.Frame(style.DOUBLE, height, title, None, remarks, handles)
    axes = frame.subplots()
    axes.set_xscale("log")
    axes.grid(axis="x")
    for row, place in enumerate(places):
        of_place = points[points["place"] == place]
        present = list(dict.fromkeys(of_place["backend"].dropna()))
        for number, backend in enumerate(present):
            y = row + 0.7 * (number + 0.5 - len(present) / 2) / max(len(present), 1)
            color = style.color(shown.heading.palette, backend)
            marks = of_place[of_place["backend"] == backend].dropna(subset="seconds")
            for mark in marks.sort_values("binds").to_dict("records"):  # what binds is on top
                face = color if mark["binds"] else "white"
                look = {"markerfacecolor": face, "markeredgecolor": color, "markersize": 3.6}
                axes.plot(1e3 * mark["seconds"], y, SHAPES[mark["part"]], **look)
        published = of_place.loc[of_place["part"] == "published", "seconds"]
        look = {"color": style.PUBLISHED, "markersize": 3, "markeredgewidth": 0}
        axes.plot(1e3 * published, [row] * len(published), "D", **look)
    plain_logarithms(axes.xaxis, (1,))
    for row, place in enumerate(places):
        of_place = points[points["place"] == place]
        if not of_place["part"].isin(PARTS).any():
            statuses = of_place["status"].dropna().map(STATUS).unique()
            write_words(axes, row, ", ".join(statuses))
    name_rows(axes, places)
    axes.set_xlabel("time of a step (ms)")
    return frame


def compiled_scaling(shown: Shown) -> pd.DataFrame:
    """One row per step: workload, scaling, devices, parts of a step, efficiency.

    Raises `UserError` if nothing was compiled over several numbers of devices.
    """
    rows = scaling(shown.table)
    if rows.empty:
        raise UserError("--records: no workload was compiled for several numbers of devices")
    return rows


def draw_compiled_scaling(points: pd.DataFrame, shown: Shown) -> Figure:
    """A row per workload; for strong and weak scaling the parts of a step, and the efficiency."""
    workloads = list(dict.fromkeys(points["label"]))
    handles = [
        *(legend_line(part, marker=SHAPES[part], markersize=3) for part in PARTS),
        legend_line("efficiency of bounds, all overlaps", color=style.INK),
        legend_line("nothing overlaps", color=style.INK, linestyle="--"),
    ]
    remarks = [COMPILED, BOUND, TILES, shown.validated]
    title = f"{shown.heading.title}: strong and weak scaling"
    frame = style.Frame(style.DOUBLE, PANEL * len(workloads), title, None, remarks, handles)
    grid = frame.subplots(len(workloads), 4, squeeze=False, sharex=True)
    series = points.sort_values("devices").groupby(["label", "scaling", "backend"], sort=False)
    for (workload, kind, backend), rows in series:
        column = 0 if kind == STRONG else 2
        parts, efficiency = grid[workloads.index(workload)][column : column + 2]
        fixed = f"{rows['fixed'].iloc[0]:,.0f} {'in all' if kind == STRONG else 'per device'}"
        parts.set_title(f"{workload}, {kind}: {fixed}", loc="left")
        _draw_series(parts, efficiency, rows, style.color(shown.heading.palette, backend))
    for axes in grid[-1]:
        axes.set_xlabel("devices")
    return frame


def _draw_series(parts: Axes, efficiency: Axes, rows: pd.DataFrame, color: str) -> None:
    for part in PARTS:
        seconds = rows[f"{part}_seconds"].where(rows[f"{part}_seconds"] > 0)
        look = {"color": color, "marker": SHAPES[part], "linewidth": 0.8}
        parts.plot(rows["devices"], 1e3 * seconds, **look)
    for end, line in ENDS.items():
        efficiency.plot(rows["devices"], rows[f"{end}_efficiency"], line, color=color)
    parts.set(yscale="log", ylabel="ms per step")
    plain_logarithms(parts.yaxis, (1,))
    efficiency.set(ylim=(0, 1.08), ylabel="efficiency of bounds")
    for axes in (parts, efficiency):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks([1, 8, 64, 1024])
        axes.grid(axis="both")


# What is drawn, by name: the points, and the figure made of them.
FIGURES = {
    "published_bounds": (published_bounds, draw_published_bounds),
    "compiled_scaling": (compiled_scaling, draw_compiled_scaling),
}
