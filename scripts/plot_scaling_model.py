"""Draw what the cost model is made from, and how far off it is on steps left out of the fit."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, LogLocator, NullLocator, StrMethodFormatter

from paragone.analysis import tidy
from paragone.analysis.grouping import shares_cores
from paragone.analysis.scaling.measured import SHARED
from paragone.base.errors import entry_point
from paragone.reporting import footnotes
from paragone.reporting.drawing import style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.options import figure_parser, pairs

ACROSS = 3  # panels a row
HEIGHT = 1.9  # inches a row
UNITS = ((2**20, "MiB"), (2**10, "KiB"), (1, "B"))


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Draw the figure and write what it shows."""
    parser = figure_parser(__doc__, several=True)
    parser.add_argument("--steps", type=Path, required=True, help="predicted and measured steps")
    parser.add_argument("--cases", type=Path, required=True, help="measured all-reduces")
    options = parser.parse_args(arguments)
    runs = pd.concat([tidy.read(path) for path in options.runs], ignore_index=True)
    shown = points(pd.read_csv(options.steps), pd.read_csv(options.cases), pairs(options.labels))
    style.save(draw(shown, runs, pairs(options.palette), options.title), options.output)
    tidy.write(shown, options.sidecar)


def points(steps: pd.DataFrame, cases: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """One row a point: `panel` allreduce (by bytes) or steps (predicted against measured)."""
    told = {"median": "measured", "seconds": "measured"}
    found = [
        cases.rename(columns=told).assign(panel="allreduce"),
        steps.rename(columns=told).assign(panel="steps"),
    ]
    whole = pd.concat(found, ignore_index=True)
    return whole.assign(series=whole["backend"].map(lambda name: labels.get(name, name)))


def draw(shown: pd.DataFrame, runs: pd.DataFrame, palette: dict[str, str], title: str) -> Figure:
    """The figure: the all-reduces of each backend, and all steps against their prediction."""
    series = list(dict.fromkeys(shown["series"]))
    charts = [name for name in series if _timed(shown, name)]
    deep = -(-(len(charts) + 1) // ACROSS)
    frame = Frame(style.DOUBLE, HEIGHT * deep, title, runs, _remarks(shown, runs), _handles())
    grid = frame.figure.add_gridspec(deep, min(ACROSS, len(charts) + 1))
    first = None
    for at, name in enumerate(charts):
        axes = frame.figure.add_subplot(grid[divmod(at, ACROSS)], sharey=first)
        first = first or axes
        here = shown[(shown["panel"] == "allreduce") & (shown["series"] == name)]
        _draw_all_reduces(axes, here, style.color(palette, here["backend"].iloc[0]))
        axes.set_title(f"all-reduce, {name}", loc="left")
    axes = frame.figure.add_subplot(grid[divmod(len(charts), ACROSS)])
    _draw_steps(axes, shown[shown["panel"] == "steps"], palette)
    return frame.figure


def _timed(shown: pd.DataFrame, name: str) -> bool:
    return bool(((shown["series"] == name) & (shown["panel"] == "allreduce")).any())


def _handles() -> list[Line2D]:
    grey = {"color": style.MUTED}
    return [
        Line2D([], [], marker="o", linestyle="none", label="median, 95 % interval", **grey),
        Line2D([], [], linestyle="--", linewidth=0.9, label="fitted all-reduce", **grey),
        Line2D(
            [],
            [],
            marker="o",
            markerfacecolor="white",
            linestyle="none",
            label="predicted from the other cells",
            **grey,
        ),
    ]


def _draw_all_reduces(axes: Axes, here: pd.DataFrame, color: str) -> None:
    counts = sorted(set(here["replicas"]))
    sizes = sorted(set(here["bytes"]))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    for place, count in enumerate(counts):
        part = here[here["replicas"] == count].sort_values("bytes")
        alpha = 0.35 + 0.65 * (place + 1) / len(counts)
        marker = style.MARKERS[place % len(style.MARKERS)]
        errors = [
            1e3 * (part["measured"] - part["low"]).fillna(0),
            1e3 * (part["high"] - part["measured"]).fillna(0),
        ]
        axes.errorbar(
            part["bytes"],
            1e3 * part["measured"],
            yerr=errors,
            linestyle="none",
            marker=marker,
            color=color,
            alpha=alpha,
            elinewidth=0.8,
        )
        grid = np.geomspace(min(sizes), max(sizes), 50)
        fitted = np.interp(grid, part["bytes"], part["fitted"])  # the model is straight in bytes
        axes.plot(grid, 1e3 * fitted, linestyle="--", linewidth=0.8, color=color, alpha=alpha)
        last = part.iloc[-1]
        axes.annotate(
            f"{count} replica" + ("s" if count > 1 else ""),
            (last["bytes"], 1e3 * last["measured"]),
            (5, 0),
            textcoords="offset points",
            va="center",
            size=6,
            color=style.INK,
        )
    axes.set_xlim(min(sizes) / 2, max(sizes) * 18)  # room for the names of the lines
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.set_xticks(sizes, [_size(size) for size in sizes], size=6)
    axes.xaxis.set_minor_locator(NullLocator())
    _name_logarithms(axes.yaxis)
    axes.grid(axis="y")
    axes.set_xlabel("size of each replica's gradients")
    axes.set_ylabel("ms" if axes.get_subplotspec().is_first_col() else "")


def _size(size: float) -> str:
    unit, name = next(each for each in UNITS if size >= each[0])
    return f"{size / unit:g} {name}"


def _draw_steps(axes: Axes, here: pd.DataFrame, palette: dict[str, str]) -> None:
    known = here.dropna(subset=["measured", "predicted"])
    axes.set_title("steps left out of the fit", loc="left")
    axes.set_xlabel("measured step (ms)")
    axes.set_ylabel("predicted step (ms)")
    if known.empty:
        axes.set_xticks([])
        axes.set_yticks([])
        words = "too few cells to leave one out"
        axes.text(0.5, 0.5, words, ha="center", style="italic", color=style.ALARM)
        return
    axes.set_xscale("log")
    axes.set_yscale("log")
    values = 1e3 * pd.concat([known["measured"], known["predicted"]])
    ends = [0.8 * values.min(), 1.25 * values.max()]
    axes.plot(ends, ends, color=style.MUTED, linewidth=0.7)
    for backend, part in known.groupby("backend", sort=False):
        axes.plot(
            1e3 * part["measured"],
            1e3 * part["predicted"],
            linestyle="none",
            marker=style.marker(palette, backend),
            markersize=3.6,
            markerfacecolor="white",
            markeredgewidth=0.9,
            color=style.color(palette, backend),
        )
    axes.set_xlim(ends)
    axes.set_ylim(ends)
    for axis in (axes.xaxis, axes.yaxis):
        _name_logarithms(axis)
    axes.set_aspect("equal")
    axes.grid()


def _name_logarithms(axis: object) -> None:
    axis.set_major_locator(LogLocator(subs=(1, 3)))
    axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    axis.set_minor_locator(NullLocator())


def _remarks(shown: pd.DataFrame, runs: pd.DataFrame) -> list[str]:
    steps = shown[shown["panel"] == "steps"]
    known = steps.dropna(subset="relative_error")
    known = known.drop_duplicates(
        ["series", "workload", "machine", "replicas", "per_replica_batch"]
    )
    found = [SHARED] if shares_cores(runs) else []
    for name, part in known.groupby("series", sort=False):
        worst = 100 * part["relative_error"].abs()
        found.append(
            f"{name}: predictions off by {worst.median():.0f} % (median), {worst.max():.0f} % (most) "
            f"in {len(part)} cells."
        )
    timed = sorted(set(shown.loc[shown["panel"] == "allreduce", "n"].astype(int)))
    if timed:
        found.append(f"All-reduce: n = {' or '.join(map(str, timed))} timed calls each.")
    return [
        *found,
        "Line: predicted equals measured.",
        f"Steps: {footnotes.repeats(steps['n'].astype(int).tolist())}",
    ]


if __name__ == "__main__":
    main()
