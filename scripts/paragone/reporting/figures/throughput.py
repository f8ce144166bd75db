"""Steady throughput by backend: every run, median and interval, and those without a speed."""

from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from paragone.analysis import run_states
from paragone.analysis.grouping import shares_cores
from paragone.analysis.statistics import summarize
from paragone.reporting import footnotes, style
from paragone.reporting.inputs import Inputs
from paragone.reporting.interactive import MEDIAN, RUN, Chart, Panel, long
from paragone.reporting.marks import (
    legend_line,
    legend_mark,
    make_room,
    row_axes,
    write_value,
    write_words,
)
from paragone.reporting.style import Frame

ROW = 0.36  # inches per series
PEAK = (
    "% of peak: FLOP/s of convolutions and products over those of the fastest matrix product "
    "of this machine's devices."
)
SPEED, SHARE = "steady_examples_per_second", "steady_peak_share"


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per run, with n, median and interval of its series."""
    parts = []
    for series in inputs.series:
        columns = ["run", "seed", "status", "parity", SPEED, "steady_flop_per_second", SHARE]
        about = {
            **vars(summarize(series.measured[SPEED])),
            "words": "; ".join(run_states.no_speed(series.runs)),
            "backend": series.backend,
        }
        parts.append(series.runs[columns].assign(series=series.label, **about))
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
    known = points[points["status"] == "completed"].dropna(subset=SPEED).astype({SPEED: float})
    frame = Frame(
        style.SINGLE,
        ROW * len(series) + 0.36,
        inputs.title,
        inputs.runs,
        _remarks(series["n"].tolist(), inputs.runs),
        _handles(series),
    )
    axes = frame.figure.subplots()
    colors = {
        name: style.color(inputs.palette, about["backend"]) for name, about in series.iterrows()
    }
    same: dict[str, Any] = {
        "y": "series",
        "order": list(colors),
        "hue": "series",
        "palette": colors,
    }
    same |= {"hue_order": list(colors), "legend": False, "linewidth": 0, "ax": axes}
    bars = series.reset_index()
    sns.barplot(bars, x="median", width=0.5, saturation=1, alpha=0.22, errorbar=None, **same)
    sns.stripplot(known, x=SPEED, jitter=False, alpha=0.6, size=3.2, **same)
    rows = range(len(series))
    lines = {"color": list(colors.values())}
    axes.hlines(rows, series["low"], series["high"], linewidth=1.2, **lines)
    middles = series["median"]
    axes.vlines(middles, [r - 0.25 for r in rows], [r + 0.25 for r in rows], linewidth=1.6, **lines)
    row_axes(axes, list(colors), "steady training throughput (examples/s)")
    axes.set_xlim(0, 1 if known.empty else known[SPEED].max() * 1.04)
    texts = []
    for row, (name, about) in enumerate(series.iterrows()):
        runs = known[known["series"] == name]
        if runs.empty:
            write_words(axes, row, about["words"])
            continue
        share = summarize(runs[SHARE]).median
        of_peak = "" if pd.isna(share) else f"\n{100 * share:.2g} % of peak"
        text = f"{about['median']:,.0f} (n = {about['n']}){of_peak}"
        texts.append(write_value(axes, row, runs[SPEED].max(), text, about["words"]))
    make_room(axes, texts)
    return frame.figure


def _handles(series: pd.DataFrame) -> list:
    handles = [
        legend_mark("one run", markersize=3.2, alpha=0.6),
        legend_mark("median", marker="|", markersize=8, markeredgewidth=1.6),
    ]
    if (series["n"] > 1).any():
        handles.append(legend_line("95 % interval", linewidth=1.2))
    return handles


def _remarks(counts: list[int], runs: pd.DataFrame) -> list[str]:
    texts = [footnotes.STEADY, footnotes.repeats(counts)]
    if runs[SHARE].notna().any():
        texts.append(PEAK)
    if shares_cores(runs) and runs["replicas"].max() > 1:
        texts.append(footnotes.SHARED_CORES)
    return texts
