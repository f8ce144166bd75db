"""Losses and the quality metric by epoch: one curve per series, variants of the workload side by side."""

import textwrap
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from paragone.analysis import run_states
from paragone.analysis.grouping import Series
from paragone.analysis.statistics import summarize
from paragone.config.numbers import Row
from paragone.reporting import footnotes, marks, style
from paragone.reporting.inputs import Inputs
from paragone.reporting.sentences import noun
from paragone.tasks import KINDS, METRICS

LONG = 28  # characters that are more than a panel is high
CONDITIONS = "What differs from the published conditions: table of published and measured."
COLUMNS = ["kind", "workload", "series", "backend", "metric", "epoch"]
COLUMNS += ["value", "low", "high", "n", "runs", "unit"]


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per epoch, metric and curve: `value`, its interval, `n` and the names of the `runs`.

    `kind` is median (over completed runs), stopped (a run that was not completed) or published. `metric` is
    the training loss and the quality of the task in the test, in the workload's `unit`; also the test loss,
    if the sources print it by epoch.
    """
    drawn = {series.workload: _metrics(series.runs) for series in inputs.series}
    published = _published(inputs, drawn)
    if len({row.epoch for row, _ in published if row.metric == "test_loss"}) > 1:
        drawn = {name: ["train_loss", "test_loss", *metrics[1:]] for name, metrics in drawn.items()}
    parts = [
        part
        for series in inputs.series
        for metric in dict.fromkeys(drawn[series.workload])
        for part in _measured(series, inputs.epochs, metric)
    ]
    rows = [
        {"workload": workload, "series": row.system, "metric": row.metric, "epoch": row.epoch}
        | {"value": row.number, "runs": row.printed, "kind": "published"}
        for row, workload in published
        if row.metric in drawn[workload]
    ]
    filled = [part for part in [*parts, pd.DataFrame(rows)] if len(part)]
    return pd.concat(filled, ignore_index=True).reindex(columns=COLUMNS)


def _metrics(runs: pd.DataFrame) -> list[str]:
    """Return the metrics of a workload that are drawn: its training loss, and its quality in the test."""
    return ["train_loss", *(f"test_{name}" for name in runs["quality"].dropna().unique())]


def _unit(runs: pd.DataFrame, metric: str) -> str:
    """Return the unit of a metric of a workload."""
    name, task = metric.partition("_")[2], runs["task"].dropna()
    return KINDS[task.iloc[0]].unit if name == "loss" and len(task) else METRICS[name].unit


def _title(points: pd.DataFrame, metric: str) -> str:
    """Return the name of an axis: split, metric and unit."""
    units = points.loc[points["metric"] == metric, "unit"].dropna().unique()
    unit = f" ({' or '.join(units)})" if any(units) else ""
    return f"{noun(metric)}{unit}"


def _measured(series: Series, epochs: pd.DataFrame, metric: str) -> list[pd.DataFrame]:
    """Return the medians of the completed runs, and each run that stopped."""
    completed = epochs["run"].isin(series.measured["run"])
    rows = [
        {"epoch": epoch, **vars(summarize(part[metric])), "runs": " ".join(sorted(part["run"]))}
        for epoch, part in epochs[completed].groupby("epoch")
    ]
    median = pd.DataFrame(rows, columns=["epoch", "n", "median", "low", "high", "runs"])
    median = median.rename(columns={"median": "value"})
    stopped = epochs[epochs["run"].isin(series.runs["run"]) & ~completed]
    stopped = stopped.rename(columns={metric: "value", "run": "runs"})[["epoch", "value", "runs"]]
    shared = {"workload": series.workload, "series": series.label, "backend": series.backend}
    shared |= {"metric": metric, "unit": _unit(series.runs, metric)}
    return [median.assign(kind="median", **shared), stopped.assign(n=1, kind="stopped", **shared)]


def _published(inputs: Inputs, drawn: dict[str, list[str]]) -> list[tuple[Row, str]]:
    """Return the published values by epoch, each with the measured workload that it is drawn with.

    `drawn`: metrics by workload.
    """
    protocols = inputs.numbers.protocols
    rows = [row for row in inputs.numbers.rows if row.epoch and row.system in protocols]
    pairs = [(row, protocols[row.system].workload) for row in rows]
    return [
        (row, workload)
        for row, workload in pairs
        if workload in drawn and row.metric in ("test_loss", *drawn[workload])
    ]


def _in_order(points: pd.DataFrame) -> list[str]:
    """Return the metrics that there are, losses first."""
    return sorted(
        points["metric"].unique(),
        key=lambda name: (not name.endswith("loss"), name != "train_loss"),
    )


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """Draw a row of panels per metric, a column per workload."""
    series = inputs.series
    styles = {
        curve.label: style.series_style(inputs.palette, curve.backend, curve.number)
        for curve in series
    }
    workloads = sorted({curve.workload for curve in series})
    metrics = _in_order(points)
    last = points.loc[points["kind"] != "published", "epoch"].max()
    last = 1 if pd.isna(last) else int(last)
    height = 1.2 * len(metrics) + 0.2
    remark = footnotes.repeats([len(curve.measured) for curve in series])
    states = {curve.label: "; ".join(run_states.not_completed(curve.runs)) for curve in series}
    if stopped := [f"{label}: {wording}" for label, wording in states.items() if wording]:
        remark += f" Not completed, not in any median: {' | '.join(stopped)}."
    remarks = [remark, *footnotes.unproven(series)]
    if (points["kind"] == "published").any():
        remarks.append(CONDITIONS)
    handles = _handles(series, points, styles, last)
    frame = style.Frame(style.SINGLE, height, inputs.title, inputs.runs, remarks, handles)
    shape = {"squeeze": False, "sharex": True, "sharey": "row"}
    panels = iter(frame.subplots(len(metrics), len(workloads), **shape).flat)
    for metric in metrics:
        of_metric = points[points["metric"] == metric]
        for workload in workloads:
            axes = next(panels)
            here = of_metric[of_metric["workload"] == workload]
            _draw_measured(axes, here, styles)
            _draw_published(axes, here[here["kind"] == "published"], last)
            _name_axes(axes, metric, last, inputs.runs, of_metric)
            axes.label_outer()
            if len(workloads) > 1 and metric == metrics[0]:
                axes.set_title("\n".join(textwrap.wrap(workload, 16)), loc="left")
    return frame


def _name_axes(
    axes: Axes, metric: str, last: int, runs: pd.DataFrame, of_metric: pd.DataFrame
) -> None:
    axes.set_xlabel("epoch")
    title = _title(of_metric, metric)
    axes.set_ylabel(title if len(title) < LONG else title.replace(" (", "\n("))
    axes.set_xlim(1 - 0.04 * max(last - 1, 1), last + 0.04 * max(last - 1, 1))
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    axes.grid(axis="y")
    split, name = metric.split("_")
    if name not in ("accuracy", "f1", "r2"):
        marks.scale(axes, of_metric["value"].astype(float))
    if split == "test":
        targets = runs.loc[runs["target_metric"].eq(name).fillna(False), "target_value"]
        for target in sorted(set(targets.dropna())):
            marks.draw_level(axes, target, f"target {target:g}", color=style.MUTED, linestyle=":")
    if name not in ("accuracy", "f1"):
        return
    for chance in sorted(set(runs["test_majority"].dropna().round(3))):
        low, high = axes.get_ylim()
        if chance > low - 0.25 * (high - low):
            marks.draw_level(
                axes, chance, f"chance {chance:g}", True, color=style.MUTED, linestyle="-."
            )
        else:
            axes.set_ylabel(f"{axes.get_ylabel()}\nchance: {chance:g}, below")


def _handles(
    series: list[Series], points: pd.DataFrame, styles: dict[str, Any], last: int
) -> list[Artist]:
    handles: list[Artist] = []
    for name in dict.fromkeys(curve.name for curve in series):
        curves = [curve for curve in series if curve.name == name]
        nothing = all(curve.measured.empty for curve in curves)
        states = ["; ".join(run_states.not_completed(curves[0].runs))] if nothing else []
        handles.append(marks.legend_line(": ".join([name, *states]), **styles[curves[0].label]))
    if (points["kind"] == "stopped").any():
        handles.append(
            marks.legend_line("stopped run", linewidth=0.7, marker="x", markeredgewidth=1)
        )
    if points["low"].notna().any():
        handles.append(marks.legend_band())
    if ((points["kind"] == "published") & (points["epoch"] <= last)).any():
        handles.append(marks.legend_mark("published", **marks.STAR))
    return handles


def _draw_measured(axes: Axes, here: pd.DataFrame, styles: dict[str, dict[str, Any]]) -> None:
    if here.empty:
        return
    medians = here[here["kind"] == "median"].dropna(subset="epoch")  # a series may have none
    count, names = medians["epoch"].nunique(), list(dict.fromkeys(medians["series"]))
    more: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.4}
    if count > 12:
        more["markevery"] = -(-count // 5)  # more markers would hide the line
    # Each series is moved a little, so that equal curves are side by side.
    width = 0.016 * max(count - 1, 1)
    moved = medians["series"].map(names.index).sub((len(names) - 1) / 2).mul(width)
    medians = medians.assign(epoch=medians["epoch"] + moved.astype(float))
    lines = {name: styles[name] for name in names}
    if count <= 2:
        more["linewidth"] = 0  # two points are no curve
    marks.draw_lines(axes, medians, "epoch", "value", lines, alpha=0.9, **more)
    drawn_rows = pd.concat([medians, here[here["kind"] == "stopped"]]).dropna(
        subset=["epoch", "value"]
    )
    marks.explain(
        axes,
        drawn_rows["epoch"],
        drawn_rows["value"],
        drawn_rows,
        "value",
        noun(here["metric"].iloc[0]),
    )
    for name, band in medians.dropna(subset=["low", "high"]).groupby("series", sort=False):
        look = {"color": styles[name]["color"], "alpha": 0.18, "linewidth": 0}
        axes.fill_between(band["epoch"].astype(float), band["low"], band["high"], **look)
    stopped = here[here["kind"] == "stopped"].dropna(subset="value")
    for (name, _), run in stopped.groupby(["series", "runs"], sort=False):
        look = {**styles[name], "linewidth": 0.7, "marker": "x", "markersize": 4.5}
        end = {"markevery": [len(run) - 1], "markeredgewidth": 1.1}
        axes.plot(run["epoch"].astype(float), run["value"], **look, **end)


def _draw_published(axes: Axes, rows: pd.DataFrame, last: int) -> None:
    for _, points in rows.groupby("series", sort=False):
        inside = points[points["epoch"] <= last]
        if len(inside):
            look = {"zorder": 4, "clip_on": False, "alpha": 0.85, "linestyle": "none", **marks.STAR}
            axes.plot(inside["epoch"].astype(float), inside["value"], **look)
            printed = inside.drop(columns=["runs", "n"])
            marks.explain(axes, inside["epoch"], inside["value"], printed, "value", "published")
        else:
            # The published epoch lies beyond the measured ones: a level, not a point.
            row = points.iloc[-1]
            wording = f"published: {row['runs']} after epoch {row['epoch']}"
            marks.draw_level(
                axes, row["value"], wording, color=style.PUBLISHED, linestyle=(0, (4, 2))
            )
