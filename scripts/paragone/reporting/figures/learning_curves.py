"""Losses and the quality metric by epoch: one curve per series, variants of the workload side by side."""

import textwrap
from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from paragone.analysis import grouping
from paragone.analysis.grouping import Series
from paragone.analysis.statistics import summarize
from paragone.reporting import footnotes, marks, style
from paragone.reporting.inputs import Inputs
from paragone.reporting.sentences import noun
from paragone.tasks import KINDS, METRICS

CONDITIONS = "What differs from the published conditions: table of published and measured."
OF_SOURCE = ["published", "best", "flawed", "flawed best"]  # kinds of points
COLUMNS = ["kind", "workload", "series", "backend", "metric", "epoch"]
COLUMNS += ["value", "low", "high", "n", "runs", "unit"]


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per epoch, metric and curve: `value`, its interval, `n` and the names of the `runs`.

    `kind` is median (over completed runs), stopped (a run that was not completed) or one of `OF_SOURCE`.
    `metric` is the training loss and the quality of the task in the test, in the workload's `unit`; also each
    that the source prints, and loss and quality of a validation split.
    """
    protocols = inputs.numbers.protocols
    printed = [row.metric for row in inputs.numbers.rows if row.is_outcome and row.epoch]
    drawn = {
        series.workload: [
            "train_loss",
            *map("test_{}".format, series.runs["quality"].dropna()),
            *(metric for metric in printed if metric in inputs.epochs),
        ]
        for series in inputs.series
    }
    by_epoch = [row for row in inputs.numbers.rows if row.epoch and row.system in protocols]
    published = [(row, protocols[row.system].workload) for row in by_epoch]
    validated = (series for series in inputs.series if series.runs["validation_examples"].any())
    for name in {series.workload for series in validated}:
        of_test = [metric.replace("test_", "validation_") for metric in drawn[name][1:]]
        drawn[name] = [*drawn[name], "validation_loss", *of_test]
    rows = [
        row
        for series in inputs.series
        for metric in dict.fromkeys(drawn[series.workload])
        for row in _measured(series, inputs.epochs, metric)
    ]
    rows += [
        {"workload": workload, "series": row.system, "metric": row.metric, "epoch": row.epoch}
        | {"value": row.number, "runs": row.printed}
        | {"kind": " ".join(["flawed"] * bool(row.flaws) + ["best"] * row.best) or "published"}
        for row, workload in published
        if row.metric in drawn.get(workload, ())
    ]
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def _measured(series: Series, epochs: pd.DataFrame, metric: str) -> Iterator[dict[str, Any]]:
    name, task = metric.partition("_")[2], series.runs["task"].dropna()
    unit = KINDS[task.iloc[0]].unit if name == "loss" and len(task) else METRICS[name].unit
    shared = {"workload": series.workload, "series": series.label, "backend": series.backend}
    shared |= {"metric": metric, "unit": unit}
    epochs = epochs[epochs["run"].isin(series.runs["run"])]
    completed = epochs["run"].isin(series.measured["run"])
    for epoch, part in epochs[completed].groupby("epoch"):
        summary = vars(summarize(part[metric]))
        median = {"kind": "median", "value": summary.pop("median"), **summary}
        yield {**shared, "epoch": epoch, **median, "runs": " ".join(sorted(part["run"]))}
    for row in epochs[~completed].to_dict("records"):
        stopped = {"kind": "stopped", "value": row[metric], "n": 1}
        yield {**shared, "epoch": row["epoch"], **stopped, "runs": row["run"]}


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """Draw a row of panels per metric, losses first, and a column per workload."""
    series = inputs.series
    styles = {
        curve.label: style.series_style(inputs.palette, curve.backend, curve.number)
        for curve in series
    }
    workloads = sorted({curve.workload for curve in series})
    metrics = sorted(
        points["metric"].unique(),
        key=lambda name: (not name.endswith("loss"), name != "train_loss"),
    )
    of_source = points["kind"].isin(OF_SOURCE)
    last = points.loc[~of_source, "epoch"].max()
    last = 1 if pd.isna(last) else int(last)
    remark = footnotes.repeats([len(curve.measured) for curve in series])
    states = {curve.label: "; ".join(grouping.not_completed(curve.runs)) for curve in series}
    if stopped := [f"{label}: {wording}" for label, wording in states.items() if wording]:
        remark += f" Not completed, not in any median: {' | '.join(stopped)}."
    remarks = [remark]
    if unproven := [shown.label for shown in series if (shown.runs["parity"] != "passed").any()]:
        remarks.append(f"Parity failed or not checked: {', '.join(unproven)}.")
    if of_source.any():
        remarks.append(CONDITIONS)
    handles, height = _handles(series, points, styles, last), 1.2 * len(metrics) + 0.2
    frame = style.Frame(style.SINGLE, height, inputs.title, inputs.runs, remarks, handles)
    grid = frame.subplots(len(metrics), len(workloads), squeeze=False, sharex=True, sharey="row")
    for row, metric in zip(grid, metrics, strict=True):
        of_metric = points[points["metric"] == metric]
        for axes, workload in zip(row, workloads, strict=True):
            here = of_metric[of_metric["workload"] == workload]
            _draw_measured(axes, here, styles)
            _draw_published(axes, here[here["kind"].isin(OF_SOURCE)], last)
            _name_axes(axes, metric, last, inputs.runs, of_metric)
            axes.label_outer()
    for axes, workload in zip(grid[0], workloads, strict=True):
        if len(workloads) > 1:
            axes.set_title("\n".join(textwrap.wrap(workload, 16)), loc="left")
    return frame


def _name_axes(
    axes: Axes, metric: str, last: int, runs: pd.DataFrame, of_metric: pd.DataFrame
) -> None:
    axes.set_xlabel("epoch")
    title, units = noun(metric), of_metric["unit"].dropna().unique()
    if any(units):
        title += f" ({' or '.join(units)})"
    fits = len(title) < 28  # characters, on the height of a panel
    axes.set_ylabel(title if fits else title.replace(" (", "\n("))
    margin = 0.04 * max(last - 1, 1)
    axes.set_xlim(1 - margin, last + margin)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    axes.grid(axis="y")
    split, _, name = metric.partition("_")
    if not METRICS[name].more_is_better:
        marks.scale(axes, of_metric["value"].astype(float))
    if split == "test":
        targets = runs.loc[runs["target_metric"].eq(name).fillna(False), "target_value"]
        for target in sorted(set(targets.dropna())):
            marks.draw_level(axes, target, f"target {target:g}", color=style.MUTED, linestyle=":")
    if name not in ("accuracy", "f1"):
        return
    for chance in sorted(set(runs[f"{split}_majority"].dropna().round(3))):
        low, high = axes.get_ylim()
        if chance > low - 0.25 * (high - low):
            text = f"chance {chance:g}"
            marks.draw_level(axes, chance, text, True, color=style.MUTED, linestyle="-.")
        else:
            axes.set_ylabel(f"{axes.get_ylabel()}\nchance: {chance:g}, below")


def _handles(
    series: list[Series], points: pd.DataFrame, styles: dict[str, Any], last: int
) -> list[Artist]:
    handles: list[Artist] = []
    for name in dict.fromkeys(curve.name for curve in series):
        curves = [curve for curve in series if curve.name == name]
        nothing = all(curve.measured.empty for curve in curves)
        states = ["; ".join(grouping.not_completed(curves[0].runs))] if nothing else []
        handles.append(marks.legend_line(": ".join([name, *states]), **styles[curves[0].label]))
    if (points["kind"] == "stopped").any():
        handles.append(
            marks.legend_line("stopped run", linewidth=0.7, marker="x", markeredgewidth=1)
        )
    if points["low"].notna().any():
        handles.append(marks.legend_band())
    drawn = points.loc[points["epoch"] <= last, "kind"].to_numpy()
    if "published" in drawn:
        handles.append(marks.legend_mark("published", **marks.STAR))
    if "flawed" in drawn:
        handles.append(marks.legend_mark("published, flawed", **marks.STAR, **marks.HOLLOW))
    return handles


def _draw_measured(axes: Axes, here: pd.DataFrame, styles: dict[str, dict[str, Any]]) -> None:
    here = here.dropna(subset=["epoch", "value"]).astype({"epoch": float, "value": float})
    medians = here[here["kind"] == "median"]
    count, names = medians["epoch"].nunique(), list(dict.fromkeys(medians["series"]))
    more: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.4, "alpha": 0.9}
    if count > 12:
        more["markevery"] = -(-count // 5)  # more markers would hide the line
    if count <= 2:
        more["linewidth"] = 0  # two points are no curve
    for number, name in enumerate(names):
        line = medians[medians["series"] == name].sort_values("epoch")
        # Each series is moved a little, so that equal curves are side by side.
        at = line["epoch"] + marks.aside(number, len(names), 0.016 * max(count - 1, 1))
        axes.plot(at, line["value"], **{**styles[name], **more})
        if line["low"].notna().any():
            area = {"color": styles[name]["color"], "alpha": 0.18, "linewidth": 0}
            axes.fill_between(at, line["low"], line["high"], **area)
        marks.explain(axes, at, line["value"], line, "value", noun(line["metric"].iloc[0]))
    stopped = here[here["kind"] == "stopped"]
    for (name, _), run in stopped.groupby(["series", "runs"], sort=False):
        look = {**styles[name], "linewidth": 0.7, "marker": "x", "markersize": 4.5}
        end = {"markevery": [len(run) - 1], "markeredgewidth": 1.1}
        axes.plot(run["epoch"], run["value"], **look, **end)
        marks.explain(axes, run["epoch"], run["value"], run, "value", noun(run["metric"].iloc[0]))


def _draw_published(axes: Axes, rows: pd.DataFrame, last: int) -> None:
    for (_, kind), points in rows.groupby(["series", "kind"], sort=False):
        inside = points[points["epoch"] <= last]
        if len(inside) and not kind.endswith("best"):
            mark = marks.STAR | (marks.HOLLOW if kind == "flawed" else {})
            look = {"zorder": 4, "clip_on": False, "alpha": 0.85, "linestyle": "none", **mark}
            axes.plot(inside["epoch"].astype(float), inside["value"], **look)
            printed = inside.drop(columns=["runs", "n"])
            marks.explain(axes, inside["epoch"], inside["value"], printed, "value", "published")
        else:
            # The published epoch lies beyond the measured ones, or is not known: a level, not a point.
            row = points.iloc[-1]
            epoch = "in the best epoch" if kind.endswith("best") else f"after epoch {row['epoch']}"
            source = "flawed" if kind.startswith("flawed") else "published"
            wording = f"{source}: {row['runs']} {epoch}"
            marks.draw_level(axes, row["value"], wording, color=style.PUBLISHED, linestyle="--")
