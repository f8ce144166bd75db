"""The least time of a compiled step by target: arithmetic, memory and links apart, published times beside."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from paragone.analysis.ahead_of_time import table as compiled
from paragone.analysis.ahead_of_time.roofline import PARTS
from paragone.base.errors import UserError
from paragone.reporting.compilations import (
    BOUND,
    COMPILED,
    NAMES,
    SHAPES,
    beside_published,
    not_divided,
    validated,
)
from paragone.reporting.drawing import legend, style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.drawing.marks import plain_logarithms
from paragone.reporting.drawing.rows import name_rows
from paragone.reporting.inputs import Inputs

ACROSS = 3  # panels per row
ROW = 0.12  # inches per backend
PUBLISHED = " Published: the source's clock over its steps."
COLUMNS = ["workload", "target", "place", "backend", "series", "status", "part", "seconds"]


def points(inputs: Inputs) -> pd.DataFrame:
    """One row per part of a bound, or published time of a step (`part` "published"); only training.

    A program that was not compiled has one row with its status, without a part. Raises `UserError` if
    nothing was compiled.
    """
    if not inputs.compilations:
        raise UserError("--compilations: missing; run `snakemake ahead_of_time` first")
    found = compiled.table(inputs.compilations)
    found = found[found["step"] == "train"]
    batches = found.groupby(["workload", "target"])["global_batch"].nunique()
    several = set(batches[batches > 1].index.get_level_values("target"))
    targets = dict(zip(found["target"], found["target_label"], strict=True))

    def place(target: str, batch: int | None) -> str:
        return targets[target] + (f", batch {batch:,}" if target in several else "")

    rows = []
    for one in found.to_dict("records"):
        series = inputs.labels.get(one["backend"], one["backend"])
        about = {key: one[key] for key in COLUMNS if key in one}
        about |= {"series": series, "place": place(one["target"], one["global_batch"])}
        if one["status"] != "compiled":
            rows.append({**about, "part": "", "seconds": None, "binds": False})
            continue
        rows += [
            {**about, "part": part, "seconds": seconds, "binds": part == one["binds"]}
            for part in PARTS
            if (seconds := one[f"{part}_seconds"]) is not None and seconds > 0
        ]
    shown = set(found["workload"])
    for entry in beside_published(inputs):
        if entry.seconds is None or entry.workload not in shown or entry.target not in targets:
            continue
        about = {"workload": entry.workload, "target": entry.target}
        about |= {"place": place(entry.target, entry.batch), "status": entry.verdict}
        rows.append(
            {**about, "series": entry.row.system, "part": "published", "seconds": entry.seconds}
        )
    return pd.DataFrame(rows).reindex(columns=[*COLUMNS, "binds"])


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """The figure: a panel per workload, a row per target and batch, in it one line of marks per backend."""
    workloads = list(dict.fromkeys(points["workload"]))
    places = list(dict.fromkeys(points["place"]))
    backends = list(dict.fromkeys(points["backend"].dropna()))
    across = min(ACROSS, len(workloads))
    deep = -(-len(workloads) // across)
    height = deep * (len(places) * (ROW * len(backends) + 0.1) + 0.5)
    labels = dict(points[["backend", "series"]].dropna().drop_duplicates().itertuples(index=False))
    published = (points["part"] == "published").any()
    mark = _mark("published, per step", marker="D", color=style.PUBLISHED, markersize=3)
    handles = [
        *(_mark(NAMES[part], marker=shape) for part, shape in SHAPES.items()),
        *([mark] if published else []),
        *(legend.line(labels[name], color=style.color(inputs.palette, name)) for name in backends),
    ]
    remarks = [
        COMPILED,
        BOUND,
        *not_divided(inputs),
        validated(inputs),
        f"Filled: what binds.{PUBLISHED if published else ''}",
    ]
    frame = Frame(style.DOUBLE, height, inputs.title, None, remarks, handles)
    grid = frame.figure.subplots(deep, across, sharex=True, sharey=True, squeeze=False)
    for number, axes in enumerate(grid.flat):
        if number >= len(workloads):
            axes.set_axis_off()
            continue
        here = points[points["workload"] == workloads[number]]
        _draw_panel(axes, here, places, backends, inputs)
        axes.set_title(workloads[number], loc="left")
        if axes.get_subplotspec().is_first_col():
            name_rows(axes, places)
    for number, axes in enumerate(grid.flat):
        if number < len(workloads) <= number + across:  # the last of its column
            axes.set_xlabel("least time of a step (ms)")
            axes.tick_params(labelbottom=True)
    return frame.figure


def _mark(label: str, **look: object) -> Line2D:
    return legend.mark(label, **{"markersize": 3.6, "color": style.MUTED, **look})


def _draw_panel(
    axes: Axes, here: pd.DataFrame, places: list[str], backends: list[str], inputs: Inputs
) -> None:
    axes.set_xscale("log")
    axes.grid(axis="x")
    for row, place in enumerate(places):
        of_place = here[here["place"] == place]
        present = [name for name in backends if name in set(of_place["backend"])]
        for number, backend in enumerate(present):
            y = row + 0.7 * (number + 0.5 - len(present) / 2) / len(backends)
            color = style.color(inputs.palette, backend)
            marks = of_place[of_place["backend"] == backend]
            known = marks.dropna(subset="seconds").sort_values("binds")  # what binds is on top
            for one in known.to_dict("records"):
                face = color if one["binds"] else "white"
                look = {"markerfacecolor": face, "markeredgecolor": color, "markersize": 3.6}
                axes.plot(1e3 * one["seconds"], y, SHAPES[one["part"]], **look)
        published = of_place.loc[of_place["part"] == "published", "seconds"]
        look = {"color": style.PUBLISHED, "markersize": 3, "markeredgewidth": 0}
        axes.plot(1e3 * published, [row] * len(published), "D", **look)
    plain_logarithms(axes.xaxis, (1,), most=5)  # a label as 0.0001 is wide
