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
    validated,
)
from paragone.reporting.drawing import legend, style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.drawing.marks import plain_logarithms
from paragone.reporting.drawing.rows import name_rows
from paragone.reporting.inputs import Inputs

ACROSS = 3  # panels per row
ROW = 0.12  # inches per backend
COLUMNS = ["workload", "target", "target_label", "backend", "series", "status", "part", "seconds"]


def points(inputs: Inputs) -> pd.DataFrame:
    """One row per part of a bound, or published time of a step (`part` "published"); only training.

    A program that was not compiled has one row with its status, without a part. Raises `UserError` if
    nothing was compiled.
    """
    if not inputs.compilations:
        raise UserError("--compilations: missing; run `snakemake ahead_of_time` first")
    found = compiled.table(inputs.compilations)
    found = found[found["step"] == "train"]
    rows = []
    for one in found.to_dict("records"):
        series = inputs.labels.get(one["backend"], one["backend"])
        about = {key: one[key] for key in COLUMNS if key in one} | {"series": series}
        if one["status"] != "compiled":
            rows.append({**about, "part": "", "seconds": None, "binds": False})
            continue
        rows += [
            {**about, "part": part, "seconds": seconds, "binds": part == one["binds"]}
            for part in PARTS
            if (seconds := one[f"{part}_seconds"]) is not None and seconds > 0
        ]
    shown = set(found["workload"])
    targets = dict(zip(found["target"], found["target_label"], strict=True))
    for entry in beside_published(inputs):
        if entry.seconds is None or entry.workload not in shown or entry.target not in targets:
            continue
        about = {"workload": entry.workload, "target": entry.target}
        about |= {"target_label": targets[entry.target], "status": entry.verdict}
        rows.append(
            {**about, "series": entry.row.system, "part": "published", "seconds": entry.seconds}
        )
    return pd.DataFrame(rows).reindex(columns=[*COLUMNS, "binds"])


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """The figure: a panel per workload, a row per target, in it one line of marks per backend."""
    workloads = list(dict.fromkeys(points["workload"]))
    targets = dict(points[["target", "target_label"]].drop_duplicates().itertuples(index=False))
    backends = list(dict.fromkeys(points["backend"].dropna()))
    across = min(ACROSS, len(workloads))
    deep = -(-len(workloads) // across)
    height = deep * (len(targets) * (ROW * len(backends) + 0.1) + 0.5)
    labels = dict(points[["backend", "series"]].dropna().drop_duplicates().itertuples(index=False))
    handles = [
        *(_mark(NAMES[part], marker=shape) for part, shape in SHAPES.items()),
        _mark("published, per step", marker="D", color=style.PUBLISHED, markersize=3),
        *(legend.line(labels[name], color=style.color(inputs.palette, name)) for name in backends),
    ]
    remarks = [
        COMPILED,
        BOUND,
        validated(inputs),
        "Filled: what binds. Published: the source's clock over its steps.",
    ]
    frame = Frame(style.DOUBLE, height, inputs.title, None, remarks, handles)
    grid = frame.figure.subplots(deep, across, sharex=True, sharey=True, squeeze=False)
    for place, axes in enumerate(grid.flat):
        if place >= len(workloads):
            axes.set_axis_off()
            continue
        here = points[points["workload"] == workloads[place]]
        _draw_panel(axes, here, list(targets), backends, inputs)
        axes.set_title(workloads[place], loc="left")
        if axes.get_subplotspec().is_first_col():
            name_rows(axes, list(targets.values()))
    for axes in grid[-1]:
        axes.set_xlabel("least time of a step (ms)")
    return frame.figure


def _mark(label: str, **look: object) -> Line2D:
    return legend.mark(label, **{"markersize": 3.6, "color": style.MUTED, **look})


def _draw_panel(
    axes: Axes, here: pd.DataFrame, targets: list[str], backends: list[str], inputs: Inputs
) -> None:
    axes.set_xscale("log")
    axes.grid(axis="x")
    for row, target in enumerate(targets):
        of_target = here[here["target"] == target]
        for number, backend in enumerate(backends):
            y = row + 0.7 * ((number + 0.5) / len(backends) - 0.5)
            color = style.color(inputs.palette, backend)
            marks = of_target[of_target["backend"] == backend]
            for one in marks.dropna(subset="seconds").to_dict("records"):
                face = color if one["binds"] else "white"
                look = {"markerfacecolor": face, "markeredgecolor": color, "markersize": 3.6}
                axes.plot(1e3 * one["seconds"], y, SHAPES[one["part"]], **look)
        published = of_target.loc[of_target["part"] == "published", "seconds"]
        look = {"color": style.PUBLISHED, "markersize": 3, "markeredgewidth": 0}
        axes.plot(1e3 * published, [row] * len(published), "D", **look)
    plain_logarithms(axes.xaxis, (1,))
