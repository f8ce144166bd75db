"""Steady throughput by backend: every run, median and interval, and those without a speed."""

import pandas as pd
from matplotlib.figure import Figure

from paragone.analysis import run_states
from paragone.analysis.grouping import CONTEST, shares_cores
from paragone.analysis.statistics import summarize
from paragone.reporting import footnotes, style
from paragone.reporting.inputs import Inputs
from paragone.reporting.interactive import MEDIAN, RUN, Chart, Panel, long
from paragone.reporting.marks import (
    draw_row,
    legend_row,
    row_axes,
    rows_height,
    write_value,
    write_words,
)

ROW = 0.36  # inches per series
PEAK = (
    "% of peak: FLOP/s of convolutions and products over those of the fastest matrix product "
    "of this machine's devices."
)
SPEED, SHARE = "steady_examples_per_second", "steady_peak_share"


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per contest, or per run of a variant that was in none, with n, median and interval.

    `SHARE` is the median over runs. A variant that no contest could time has one row without a speed.
    """
    parts = []
    for series in inputs.series:
        rows = series.runs[["run", SPEED]]
        if series.unit == CONTEST:
            speeds = series.named(series.speeds).rename_axis("run").rename(SPEED).reset_index()
            rows = speeds if len(speeds) else rows[:1]
        about = {
            **vars(summarize(series.speeds)),
            SHARE: summarize(series.measured[SHARE]).median,
            "words": "; ".join(run_states.not_timed(series)),
            "backend": series.backend,
        }
        parts.append(rows.assign(series=series.label, **about))
    return pd.concat(parts, ignore_index=True)


def chart(points: pd.DataFrame) -> Chart:
    """Return a chart of every run and of the median of each series."""
    points = points.assign(panel="speed", x=points["series"])
    names = points.groupby("series")["run"].agg(" ".join)
    medians = points.drop_duplicates("series").assign(
        kind=MEDIAN, runs=lambda table: table["series"].map(names)
    )
    runs = points.drop(columns=["low", "high"]).assign(kind=RUN, n=1)
    rows = [long(medians, value="median"), long(runs, value=SPEED, runs="run")]
    return Chart(
        pd.concat(rows, ignore_index=True),
        {"speed": Panel("variant", "steady training throughput (examples/s)")},
    )


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """Draw one row per series."""
    series = points.drop_duplicates("series").set_index("series")
    known = points.dropna(subset=SPEED)
    names = list(series.index)
    units = " or ".join(sorted({one.unit for one in inputs.series}))
    remarks = [footnotes.speeds(inputs.series), footnotes.repeats(series["n"], inputs.series)]
    remarks += [PEAK] if inputs.runs[SHARE].notna().any() else []
    if shares_cores(inputs.runs) and inputs.runs["replicas"].max() > 1:
        remarks.append(footnotes.SHARED_CORES)
    handles = legend_row(f"one {units}", "median")[: 3 if (series["n"] > 1).any() else 2]
    height = rows_height(names, ROW) + 0.36
    frame = style.Frame(style.SINGLE, height, inputs.title, inputs.runs, remarks, handles)
    axes = frame.subplots()
    row_axes(axes, names, "steady training throughput (examples/s)")
    axes.set_xlim(0, 1 if known.empty else known[SPEED].max() * 1.04)
    for row, (name, about) in enumerate(series.iterrows()):
        runs = known[known["series"] == name]
        if runs.empty:
            write_words(axes, row, about["words"])
            continue
        color = style.color(inputs.palette, about["backend"])
        median, ends = about["median"], (about["low"], about["high"])
        axes.barh(row, median, height=0.5, color=color, alpha=0.22, linewidth=0)
        draw_row(axes, row, runs[SPEED], median, ends, color)
        share = about[SHARE]
        of_peak = "" if pd.isna(share) else f"\n{100 * share:.2g} % of peak"
        text = f"{median:,.0f} (n = {about['n']}){of_peak}"
        write_value(axes, row, runs[SPEED].max(), text, about["words"])
    return frame
