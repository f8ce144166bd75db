"""Curves over epochs: a panel a metric, and a column of panels a variant of the workload."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

from paragone.analysis import run_states
from paragone.analysis.grouping import Series
from paragone.reporting import footnotes
from paragone.reporting.drawing import style
from paragone.reporting.drawing.frame import Frame

METRICS = {
    "train_loss": "training loss (nats)",
    "test_loss": "test loss (nats)",
    "test_accuracy": "test accuracy (fraction)",
}
STARS = ("*", "X", "P")  # published systems


def draw(
    series: list[Series],
    shown: pd.DataFrame,
    runs: pd.DataFrame,
    palette: dict[str, str],
    title: str,
    remarks: Sequence[str] = (),
) -> Figure:
    """The figure of the `shown` points: one row of panels, or with several workloads a row a metric
    and a column a workload. `remarks` go below it, after its own."""
    looks = {
        one.label: {
            "color": style.color(palette, one.backend),
            "linestyle": style.LINES[one.number % len(style.LINES)],
            "marker": style.marker(palette, one.backend),
        }
        for one in series
    }
    published = shown.loc[shown["kind"] == "published", "series"].unique()
    stars = {system: STARS[at % len(STARS)] for at, system in enumerate(published)}
    workloads = sorted({one.workload for one in series})
    metrics = [name for name in METRICS if (shown["metric"] == name).any()]
    several = len(workloads) > 1
    frame = Frame(
        style.DOUBLE,
        1.45 * len(metrics) + 0.2 if several else 2.15,
        title,
        runs,
        [*_remarks(series), *remarks],
        _handles(series, shown, looks, stars),
    )
    shape = (len(metrics), len(workloads)) if several else (1, len(metrics))
    share = {"sharex": True, "sharey": "row"} if several else {}
    grid = frame.figure.subplots(*shape, squeeze=False, **share)
    last = _last_epoch(shown)
    for row, metric in enumerate(metrics):
        of_metric = shown[shown["metric"] == metric]
        for column, workload in enumerate(workloads):
            axes = grid[row, column] if several else grid[0, row]
            here = of_metric[of_metric["workload"] == workload]
            for label, look in looks.items():
                _draw_series(axes, here[here["series"] == label], look)
            _draw_published(axes, here[here["kind"] == "published"], last, stars)
            _name_axes(axes, metric, last, runs, of_metric)
            if several:
                axes.label_outer()
                axes.set_title(workload if row == 0 else "", loc="left")
    return frame.figure


def _remarks(series: list[Series]) -> list[str]:
    stopped = [
        f"{one.label}: {'; '.join(words)}"
        for one in series
        if (words := run_states.not_completed(one.runs))
    ]
    remark = footnotes.repeats([len(one.measured) for one in series])
    if stopped:
        remark += f" Not completed, not in any median: {' | '.join(stopped)}."
    return [remark, *footnotes.unproven(series)]


def _name_axes(
    axes: Axes, metric: str, last: int, runs: pd.DataFrame, of_metric: pd.DataFrame
) -> None:
    axes.set_xlabel("epoch")
    axes.set_ylabel(METRICS[metric])
    axes.set_xlim(1 - 0.04 * max(last - 1, 1), last + 0.04 * max(last - 1, 1))
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    axes.grid(axis="y")
    if metric == "test_accuracy":
        _draw_target(axes, runs)
    else:
        _scale_loss(axes, of_metric)


def _last_epoch(shown: pd.DataFrame) -> int:
    measured = shown.loc[shown["kind"] != "published", "epoch"]
    return int(measured.max()) if len(measured) else 1


def _handles(series: list[Series], shown: pd.DataFrame, looks: dict, stars: dict) -> list:
    handles: list = []
    for name in dict.fromkeys(one.name for one in series):
        same = [one for one in series if one.name == name]
        nothing = all(one.measured.empty for one in same)
        words = run_states.not_completed(same[0].runs) if nothing else []
        label = name + (f": {'; '.join(words)}" if words else "")
        handles.append(Line2D([], [], label=label, **looks[same[0].label]))
    kinds = set(shown["kind"])
    if "stopped" in kinds:
        cross = {"color": style.MUTED, "linewidth": 0.7, "marker": "x", "markeredgewidth": 1}
        handles.append(Line2D([], [], label="stopped run", **cross))
    if shown["low"].notna().any():
        handles.append(Patch(color=style.MUTED, alpha=0.25, linewidth=0, label="95 % interval"))
    points = shown[(shown["kind"] == "published") & (shown["epoch"] <= _last_epoch(shown))]
    for system in points["series"].unique():
        label = f"published: {system}" if len(stars) > 1 else "published"
        handles.append(Line2D([], [], label=label, **_star(stars[system])))
    return handles


def _star(marker: str) -> dict:
    return {
        "linestyle": "none",
        "marker": marker,
        "markersize": 6 if marker == "*" else 4.2,
        "color": style.PUBLISHED,
        "markeredgewidth": 0,
    }


def _draw_series(axes: Axes, here: pd.DataFrame, look: dict) -> None:
    median = here[here["kind"] == "median"].dropna(subset="value")
    few = len(median) <= 12  # with many epochs markers would hide the line
    axes.plot(
        median["epoch"].astype(float),
        median["value"],
        alpha=0.9,
        markeredgecolor="white",
        markeredgewidth=0.4,
        **{**look, "marker": look["marker"] if few else "none"},
    )
    band = median.dropna(subset=["low", "high"])
    axes.fill_between(
        band["epoch"].astype(float),
        band["low"],
        band["high"],
        color=look["color"],
        alpha=0.18,
        linewidth=0,
    )
    for _, run in here[here["kind"] == "stopped"].groupby("runs"):
        finite = run.dropna(subset="value")
        axes.plot(
            finite["epoch"].astype(float),
            finite["value"],
            color=look["color"],
            linewidth=0.7,
            linestyle=look["linestyle"],
        )
        axes.plot(
            finite["epoch"].astype(float)[-1:],
            finite["value"][-1:],
            marker="x",
            markersize=4.5,
            markeredgewidth=1.1,
            color=look["color"],
            linestyle="none",
        )


def _draw_published(axes: Axes, rows: pd.DataFrame, last: int, stars: dict) -> None:
    for system, points in rows.groupby("series", sort=False):
        inside = points[points["epoch"] <= last]
        if len(inside):
            epochs = inside["epoch"].astype(float)
            look = _star(stars[system])
            axes.plot(epochs, inside["value"], zorder=4, clip_on=False, alpha=0.85, **look)
        else:
            # The published epoch lies beyond the measured ones: a level, not a point.
            row = points.iloc[-1]
            axes.axhline(row["value"], color=style.PUBLISHED, linewidth=0.8, linestyle=(0, (4, 2)))
            _note_level(axes, row["value"], f"published: {row['runs']} after epoch {row['epoch']}")


def _draw_target(axes: Axes, runs: pd.DataFrame) -> None:
    for target in sorted(set(runs["target_accuracy"].dropna())):
        axes.axhline(target, color=style.MUTED, linewidth=0.8, linestyle=":")
        _note_level(axes, target, f"target {target:g}")


def _note_level(axes: Axes, value: float, text: str) -> None:
    note = axes.annotate(
        text,
        (0, value),
        xycoords=("axes fraction", "data"),
        xytext=(3, -2),
        textcoords="offset points",
        va="top",
    )
    note.set_in_layout(False)


def _scale_loss(axes: Axes, here: pd.DataFrame) -> None:
    values = here["value"].astype(float)
    values = values[np.isfinite(values) & (values > 0)]
    if len(values) and values.max() / values.min() > 8:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
