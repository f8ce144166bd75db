"""What the cost model is made from, and how far off it is on steps left out of the fit."""

from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from paragone.analysis.grouping import shares_cores
from paragone.analysis.scaling.measured import SHARED
from paragone.reporting import footnotes
from paragone.reporting.drawing import legend, style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.drawing.marks import draw_intervals, plain_logarithms, write
from paragone.reporting.inputs import Inputs
from paragone.reporting.twin import MEDIAN, MODEL, Panel, Twin, long

ACROSS = 3  # panels per row
HEIGHT = 1.9  # inches per row
UNITS = ((2**20, "MiB"), (2**10, "KiB"), (1, "B"))
CELL = ["series", "workload", "machine", "replicas", "per_replica_batch"]


def points(inputs: Inputs) -> pd.DataFrame:
    """One row per point: `panel` allreduce (by bytes) or steps (predicted against measured)."""
    whole = pd.concat(
        [
            inputs.all_reduce_fit.rename(columns={"median": "measured"}).assign(panel="allreduce"),
            inputs.steps.rename(columns={"seconds": "measured"}).assign(panel="steps"),
        ],
        ignore_index=True,
    )
    return whole.assign(series=whole["backend"].map(lambda name: inputs.labels.get(name, name)))


def twin(points: pd.DataFrame) -> Twin:
    """The all-reduces with their fit, and each step against its prediction."""
    timed = points[points["panel"] == "allreduce"]
    counts = timed["replicas"].astype(int).astype(str)
    timed = timed.assign(series=timed["series"] + ", " + counts + " replicas", panel="all-reduce")
    steps = points[points["panel"] == "steps"].assign(kind=MEDIAN, n=1)
    names = {"x": "bytes", "runs": "series"}
    measured = long(timed.assign(kind=MEDIAN), value="measured", **names)
    fitted = long(timed.drop(columns=["low", "high"]).assign(kind=MODEL), value="fitted", **names)
    predicted = long(steps.drop(columns=["low", "high"]), x="measured", value="predicted")
    size = Panel("gradients of each replica (bytes)", "time of an all-reduce (s)", log_x=True)
    return Twin(
        pd.concat([measured, fitted, predicted], ignore_index=True),
        {"all-reduce": size, "steps": Panel("measured step (s)", "predicted step (s)", log_x=True)},
    )


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """The figure: the all-reduces of each backend, and all steps against their prediction."""
    timed = points[points["panel"] == "allreduce"]
    charts = [part for _, part in timed.groupby("series", sort=False)]
    deep = -(-(len(charts) + 1) // ACROSS)
    about = _remarks(points, inputs.runs)
    frame = Frame(style.DOUBLE, HEIGHT * deep, inputs.title, inputs.runs, about, _handles())
    grid = frame.figure.add_gridspec(deep, min(ACROSS, len(charts) + 1))
    first = None
    for at, here in enumerate(charts):
        axes = frame.figure.add_subplot(grid[divmod(at, ACROSS)], sharey=first)
        first = first or axes
        _draw_all_reduces(axes, here, style.color(inputs.palette, here["backend"].iloc[0]))
        axes.set_title(f"all-reduce, {here['series'].iloc[0]}", loc="left")
    axes = frame.figure.add_subplot(grid[divmod(len(charts), ACROSS)])
    looks = style.looks(points["series"], points["backend"], inputs.palette)
    _draw_steps(axes, points[points["panel"] == "steps"], looks)
    return frame.figure


def _handles() -> list[Line2D]:
    return [
        legend.mark("median, 95 % interval"),
        legend.line("fitted all-reduce", linestyle="--", linewidth=0.9),
        legend.mark("predicted from the other cells", markerfacecolor="white"),
    ]


def _draw_all_reduces(axes: Axes, here: pd.DataFrame, color: str) -> None:
    sizes = sorted(set(here["bytes"]))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    counts = here.sort_values("bytes").groupby("replicas", sort=True)
    for place, (count, part) in enumerate(counts):
        look = {"color": color, "alpha": 0.35 + 0.65 * (place + 1) / len(counts)}
        marker = style.MARKERS[place % len(style.MARKERS)]
        times = [1e3 * part[name] for name in ("measured", "low", "high")]
        draw_intervals(axes, part["bytes"], *times, marker=marker, elinewidth=0.8, **look)
        grid = np.geomspace(min(sizes), max(sizes), 50)
        fitted = np.interp(grid, part["bytes"], part["fitted"])  # the model is straight in bytes
        axes.plot(grid, 1e3 * fitted, linestyle="--", linewidth=0.8, **look)
        end = part["bytes"].iloc[-1], times[0].iloc[-1]
        words = f"{count} replica" + ("s" if count > 1 else "")
        write(axes, words, end, (5, 0), va="center", size=6, color=style.INK)
    axes.set_xlim(min(sizes) / 2, max(sizes) * 18)  # room for the names of the lines
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.set_xticks(sizes, [_size(size) for size in sizes], size=6)
    axes.xaxis.set_minor_locator(NullLocator())
    plain_logarithms(axes.yaxis, (1, 3))
    axes.grid(axis="y")
    axes.set_xlabel("size of each replica's gradients")
    axes.set_ylabel("ms" if axes.get_subplotspec().is_first_col() else "")


def _size(size: float) -> str:
    unit, name = next(each for each in UNITS if size >= each[0])
    return f"{size / unit:g} {name}"


def _draw_steps(axes: Axes, here: pd.DataFrame, looks: dict[str, dict[str, Any]]) -> None:
    known = here.dropna(subset=["measured", "predicted"])
    known = known.assign(**{name: 1e3 * known[name] for name in ("measured", "predicted")})
    axes.set_title("steps left out of the fit", loc="left")
    if known.empty:
        axes.set_xticks([])
        axes.set_yticks([])
        words = "too few cells to leave one out"
        axes.text(0.5, 0.5, words, ha="center", style="italic", color=style.ALARM)
    else:
        _draw_predicted(axes, known, looks)
    axes.set_xlabel("measured step (ms)")
    axes.set_ylabel("predicted step (ms)")


def _draw_predicted(axes: Axes, known: pd.DataFrame, looks: dict[str, dict[str, Any]]) -> None:
    values = known[["measured", "predicted"]].to_numpy(float)
    ends = [0.8 * values.min(), 1.25 * values.max()]
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
    axes.plot(ends, ends, color=style.MUTED, linewidth=0.7)
    for name, part in known.groupby("series", sort=False):
        look = {"marker": looks[name]["marker"], "edgecolor": looks[name]["color"]}
        open_ = {"color": "white", "s": 3.6**2, "linewidth": 0.9}
        sns.scatterplot(part, x="measured", y="predicted", ax=axes, **open_, **look)
    for axis in (axes.xaxis, axes.yaxis):
        plain_logarithms(axis, (1, 3))
    axes.grid()


def _remarks(points: pd.DataFrame, runs: pd.DataFrame) -> list[str]:
    steps = points[points["panel"] == "steps"]
    known = steps.dropna(subset="relative_error").drop_duplicates(CELL)
    found = [SHARED] if shares_cores(runs) else []
    for name, part in known.groupby("series", sort=False):
        worst = 100 * part["relative_error"].abs()
        found.append(
            f"{name}: predictions off by {worst.median():.0f} % (median), {worst.max():.0f} % (most) "
            f"in {len(part)} cells."
        )
    timed = sorted(set(points.loc[points["panel"] == "allreduce", "n"].astype(int)))
    if timed:
        found.append(f"All-reduce: n = {' or '.join(map(str, timed))} timed calls each.")
    return [
        *found,
        "Line: predicted equals measured.",
        f"Steps: {footnotes.repeats(steps['n'])}",
    ]
