"""Strong and weak scaling over described devices, from the collectives of compiled programs."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, StrMethodFormatter

from paragone.analysis.ahead_of_time import table as compiled
from paragone.analysis.ahead_of_time.roofline import PARTS
from paragone.analysis.ahead_of_time.scaling import STRONG, scaling
from paragone.base.errors import UserError
from paragone.reporting.compilations import BOUND, COMPILED, NAMES, SHAPES, validated
from paragone.reporting.drawing import legend, style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.drawing.marks import plain_logarithms
from paragone.reporting.inputs import Inputs

HEIGHT = 1.5  # inches per row
TILES = (
    "Efficiency: throughput at the bound over that of one device times their number. Arrays fill whole "
    "tiles: a device with few examples reads and writes no less, and may do more."
)
ENDS = {"bound": "-", "apart": "--"}


def points(inputs: Inputs) -> pd.DataFrame:
    """One row per program: workload, backend, scaling, devices, parts of a step, efficiency.

    Raises `UserError` if nothing was compiled over several numbers of devices.
    """
    found = scaling(compiled.table(inputs.compilations)) if inputs.compilations else pd.DataFrame()
    if found.empty:
        raise UserError("--compilations: no workload was compiled for several numbers of devices")
    return found.assign(series=found["backend"].map(lambda name: inputs.labels.get(name, name)))


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """The figure: a row per workload; for each way of scaling the parts of a step, and the efficiency."""
    workloads = list(dict.fromkeys(points["workload"]))
    ways = list(dict.fromkeys(points["scaling"]))
    handles = [
        *(legend.line(NAMES[part], marker=SHAPES[part], markersize=3) for part in PARTS),
        legend.line("efficiency of bounds, all overlaps", color=style.INK),
        legend.line("nothing overlaps", color=style.INK, linestyle="--"),
    ]
    remarks = [COMPILED, BOUND, TILES, validated(inputs)]
    height = HEIGHT * len(workloads)
    frame = Frame(style.DOUBLE, height, inputs.title, None, remarks, handles)
    grid = frame.figure.subplots(len(workloads), 2 * len(ways), squeeze=False, sharex=True)
    for row, workload in zip(grid, workloads, strict=True):
        for place, way in enumerate(ways):
            chosen = (points["workload"] == workload) & (points["scaling"] == way)
            here = points[chosen].sort_values("devices")
            if here.empty:  # scaled the other way alone
                row[2 * place].set_axis_off()
                row[2 * place + 1].set_axis_off()
            else:
                _draw_parts(row[2 * place], here, inputs)
                _draw_efficiency(row[2 * place + 1], here, inputs)
                row[2 * place].set_title(_title(here), loc="left")
    for axes in grid[-1]:
        axes.set_xlabel("devices")
    return frame.figure


def _title(here: pd.DataFrame) -> str:
    first = here.iloc[0]
    fixed = f"{first['fixed']:,.0f}" + (" in all" if first["scaling"] == STRONG else " per device")
    return f"{first['workload']}, {first['scaling']}: {fixed}"


def _draw_parts(axes: Axes, here: pd.DataFrame, inputs: Inputs) -> None:
    for backend, rows in here.groupby("backend", sort=False):
        for part in PARTS:
            known = rows[rows[f"{part}_seconds"] > 0]
            look = {"color": style.color(inputs.palette, str(backend)), "marker": SHAPES[part]}
            axes.plot(known["devices"], 1e3 * known[f"{part}_seconds"], linewidth=0.8, **look)
    axes.set_yscale("log")
    plain_logarithms(axes.yaxis, (1,))
    axes.set_ylabel("ms per step")
    _devices(axes)


def _draw_efficiency(axes: Axes, here: pd.DataFrame, inputs: Inputs) -> None:
    for backend, rows in here.groupby("backend", sort=False):
        color = style.color(inputs.palette, str(backend))
        for end, line in ENDS.items():
            axes.plot(rows["devices"], rows[f"{end}_efficiency"], line, color=color)
    axes.set_ylim(0, 1.08)
    axes.set_ylabel("efficiency of bounds")
    _devices(axes)


def _devices(axes: Axes) -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks([1, 8, 64, 1024])
    axes.grid(axis="both")
