"""Step time and speed-up by replicas: measured and ideal."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, StrMethodFormatter

from paragone.analysis.grouping import shares_cores
from paragone.analysis.scaling import SHARED, scaling_kind, scaling_table
from paragone.reporting import footnotes, marks, style
from paragone.reporting.inputs import Inputs

PANELS = {  # column: name of its axis, factor to its unit, unit
    "step_seconds": ("step time (ms)", 1e3, "ms"),
    "speed_up": ("speed-up over 1 replica", 1.0, "x"),
}
SHARED_IDEAL = {"linestyle": (0, (6, 2)), "linewidth": 0.7}


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per backend and number of replicas."""
    return scaling_table(inputs.runs, inputs.labels, inputs.rounds)


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """Draw two panels over the number of replicas, one color per backend."""
    styles = style.series_styles(points["series"], points["backend"], inputs.palette)
    shared = shares_cores(inputs.runs)
    handles = [marks.legend_line(name, **look) for name, look in styles.items()]
    handles.append(marks.legend_line("ideal, a device each", linestyle=":"))
    if shared:
        handles.append(marks.legend_line("ideal, shared cores", **SHARED_IDEAL))
    texts = _remarks(points, inputs)
    frame = style.Frame(style.SINGLE, 1.7, inputs.title, inputs.runs, texts, handles)
    counts = sorted(set(points["replicas"]))
    times, speed_ups = frame.subplots(1, len(PANELS))
    # The ideal: the work divided over n devices, or over the same cores.
    speed_ups.plot(counts, counts, linestyle=":", color=style.MUTED, linewidth=1.2)
    if shared:
        speed_ups.plot(counts, [1] * len(counts), color=style.MUTED, **SHARED_IDEAL)
    for axes, (column, (_, factor, unit)) in zip((times, speed_ups), PANELS.items(), strict=True):
        values = {key: factor * points[f"{column}{key}"] for key in ("", "_low", "_high")}
        rows = points.assign(value=values[""], low=values["_low"], high=values["_high"])
        # Backends are side by side, so that intervals do not overlap.
        rows["x"] = marks.dodged(points["replicas"], points["series"], 1.035)
        marks.draw_series(axes, rows, styles, unit, markersize=4.6, linestyle="none", zorder=3)
        _dress(axes, column, counts)
    return frame


def _dress(axes: Axes, column: str, counts: list[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(min(counts) / 1.2, max(counts) * 1.2)
    axes.set_xlabel("replicas")
    axes.set_ylabel(PANELS[column][0])
    axes.grid(axis="y")
    if column == "speed_up":
        axes.set_yscale("log", base=2)
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    else:
        axes.set_ylim(0, 1.05 * axes.get_ylim()[1])  # of equal steps the margin would cut the marks
        marks.plain_numbers(axes.yaxis)


def _remarks(points: pd.DataFrame, inputs: Inputs) -> list[str]:
    runs = inputs.runs
    how = scaling_kind(runs)
    fixed = "global batch" if how == "strong" else "batch per replica"
    batch = runs["global_batch" if how == "strong" else "per_replica_batch"].iloc[0]
    texts = [f"{how.capitalize()} scaling: {fixed} {int(batch):,}."]
    texts.append(footnotes.speeds(inputs.series))
    if shares_cores(runs):
        texts.append(SHARED)
    gone = points[points["words"].astype(bool)]
    texts += [f"{row.series}, {row.replicas} replica(s): {row.words}." for row in gone.itertuples()]
    return [*texts, footnotes.repeats(points["n"], inputs.series)]
