"""Curves over epochs: one panel per metric, and one column of panels per variant of the workload."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from paragone.analysis import run_states
from paragone.analysis.grouping import Series
from paragone.reporting import footnotes
from paragone.reporting.drawing import legend, style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.drawing.marks import draw_lines, plain_logarithms
from paragone.reporting.inputs import Inputs

METRICS = {
    "train_loss": "training loss (nats)",
    "test_loss": "test loss (nats)",
    "test_accuracy": "test accuracy (fraction)",
}
STARS = ("*", "X", "P")  # published systems


def draw(points: pd.DataFrame, inputs: Inputs, remarks: list[str]) -> Figure:
    """The figure of the `points`; `remarks` go below it, after its own."""
    series = inputs.series
    looks = {one.label: style.look(inputs.palette, one.backend, one.number) for one in series}
    published = points.loc[points["kind"] == "published", "series"].unique()
    stars = {system: _star(STARS[at % len(STARS)]) for at, system in enumerate(published)}
    workloads = sorted({one.workload for one in series})
    metrics = [name for name in METRICS if (points["metric"] == name).any()]
    several = len(workloads) > 1
    frame = Frame(
        style.DOUBLE,
        1.45 * len(metrics) + 0.2 if several else 2.15,
        inputs.title,
        inputs.runs,
        [*_remarks(series), *remarks],
        _handles(series, points, looks, stars),
    )
    shape = (len(metrics), len(workloads)) if several else (1, len(metrics))
    share = {"sharex": True, "sharey": "row"} if several else {}
    panels = iter(frame.figure.subplots(*shape, squeeze=False, **share).flat)
    last = _last_epoch(points)
    for metric in metrics:
        of_metric = points[points["metric"] == metric]
        for workload in workloads:
            axes = next(panels)
            _draw_panel(axes, of_metric[of_metric["workload"] == workload], looks)
            here = of_metric[
                (of_metric["workload"] == workload) & (of_metric["kind"] == "published")
            ]
            _draw_published(axes, here, last, stars)
            _name_axes(axes, metric, last, inputs.runs, of_metric)
            if several:
                axes.label_outer()
                axes.set_title(workload if metric == metrics[0] else "", loc="left")
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
        for target in sorted(set(runs["target_accuracy"].dropna())):
            axes.axhline(target, color=style.MUTED, linewidth=0.8, linestyle=":")
            _note_level(axes, target, f"target {target:g}")
    else:
        _scale_loss(axes, of_metric)


def _last_epoch(points: pd.DataFrame) -> int:
    measured = points.loc[points["kind"] != "published", "epoch"]
    return int(measured.max()) if len(measured) else 1


def _handles(
    series: list[Series], points: pd.DataFrame, looks: dict[str, Any], stars: dict[str, Any]
) -> list[Artist]:
    handles: list[Artist] = []
    for name in dict.fromkeys(one.name for one in series):
        same = [one for one in series if one.name == name]
        nothing = all(one.measured.empty for one in same)
        words = run_states.not_completed(same[0].runs) if nothing else []
        label = name + (f": {'; '.join(words)}" if words else "")
        handles.append(legend.line(label, **looks[same[0].label]))
    if (points["kind"] == "stopped").any():
        handles.append(legend.line("stopped run", linewidth=0.7, marker="x", markeredgewidth=1))
    if points["low"].notna().any():
        handles.append(legend.band(0.25))
    early = points[(points["kind"] == "published") & (points["epoch"] <= _last_epoch(points))]
    for system in early["series"].unique():
        label = f"published: {system}" if len(stars) > 1 else "published"
        handles.append(legend.mark(label, **stars[system]))
    return handles


def _star(marker: str) -> dict[str, Any]:
    size = 6 if marker == "*" else 4.2
    look = {"color": style.PUBLISHED, "linestyle": "none", "markeredgewidth": 0}
    return {**look, "marker": marker, "markersize": size}


def _draw_panel(axes: Axes, here: pd.DataFrame, looks: dict[str, dict[str, Any]]) -> None:
    medians = here[here["kind"] == "median"]
    few = medians["epoch"].nunique() <= 12  # with many epochs markers would hide the line
    edge = {"markeredgecolor": "white", "markeredgewidth": 0.4}
    more = edge if few else {"markers": False}
    draw_lines(axes, medians, "epoch", "value", looks, alpha=0.9, **more)
    for name, band in medians.dropna(subset=["low", "high"]).groupby("series", sort=False):
        look = {"color": looks[name]["color"], "alpha": 0.18, "linewidth": 0}
        axes.fill_between(band["epoch"].astype(float), band["low"], band["high"], **look)
    stopped = here[here["kind"] == "stopped"].dropna(subset="value")
    for (name, _), run in stopped.groupby(["series", "runs"], sort=False):
        look = {**looks[name], "linewidth": 0.7, "marker": "x", "markersize": 4.5}
        end = {"markevery": [len(run) - 1], "markeredgewidth": 1.1}
        axes.plot(run["epoch"].astype(float), run["value"], **look, **end)


def _draw_published(
    axes: Axes, rows: pd.DataFrame, last: int, stars: dict[str, dict[str, Any]]
) -> None:
    for system, points in rows.groupby("series", sort=False):
        inside = points[points["epoch"] <= last]
        if len(inside):
            place = {"zorder": 4, "clip_on": False, "alpha": 0.85}
            axes.plot(inside["epoch"].astype(float), inside["value"], **place, **stars[system])
        else:
            # The published epoch lies beyond the measured ones: a level, not a point.
            row = points.iloc[-1]
            axes.axhline(row["value"], color=style.PUBLISHED, linewidth=0.8, linestyle=(0, (4, 2)))
            _note_level(axes, row["value"], f"published: {row['runs']} after epoch {row['epoch']}")


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
        plain_logarithms(axes.yaxis)
