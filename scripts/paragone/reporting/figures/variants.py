"""Variants relative to the baseline: speed, time to the target, and the seconds of a whole run."""

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from paragone.analysis import run_states
from paragone.analysis.grouping import Series
from paragone.analysis.metrics import METRICS, Metric
from paragone.analysis.pairwise import effects_of
from paragone.analysis.statistics import summarize
from paragone.reporting import footnotes, style
from paragone.reporting.inputs import Inputs
from paragone.reporting.marks import (
    draw_row,
    legend_row,
    name_rows,
    plain_logarithms,
    plain_numbers,
    row_axes,
    rows_height,
    write,
    write_value,
    write_words,
)
from paragone.reporting.style import Frame

ROW = 0.3  # inches per series
RATIOS = [metric for metric in METRICS if metric.name in ("speed", "time to target")]
AXES = {"speed": "steady speed", "time to target": "quickness to the target"}
WHOLE, COMPILATION = "#D8D3EA", "#6E4A12"  # as in the figure `clocks`
EDGE = {"edgecolor": style.MUTED, "linewidth": 0.4}
_PATCHES = [
    Patch(facecolor=COMPILATION, label="compilation", **EDGE),
    Patch(facecolor=WHOLE, label="all else of a run", **EDGE),
]
COLUMNS = ["work", "series", "backend", "baseline", "words", "metric", "value", "mean"]
COLUMNS += ["low", "high", "n", "runs", "compilation"]
OF_PAIRS = "Dots: contests, or pairs of runs of a seed; tick: their geometric mean; line: its 95 % interval."


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per series, metric and contest or seed: how many times better than the baseline it was.

    The metric "whole run" has one row per series: median seconds, and those of compilation. Raises
    `UserError` where the baseline does none of the work.
    """
    rows = [row for work in inputs.with_baseline() for row in _of_work(*work)]
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def _of_work(work: str, baseline: Series, same: list[Series]) -> Iterator[dict[str, Any]]:
    for series in same:
        about = {
            "work": work,
            "series": series.label,
            "backend": series.backend,
            "baseline": baseline.label,
            "words": "; ".join(run_states.not_timed(series)),
        }
        for metric in RATIOS:
            yield from ({**about, **row} for row in _ratios(metric, series, baseline))
        runs = series.measured
        total = summarize(runs["end_to_end_seconds"])
        yield {
            **about,
            "metric": "whole run",
            "value": total.median,
            "n": total.n,
            "compilation": summarize(runs["compilation_seconds"]).median,
            "runs": " ".join(runs["run"]),
        }


def _ratios(metric: Metric, series: Series, baseline: Series) -> Iterator[dict[str, Any]]:
    """Yield the ratios of one metric by contest or seed; those of the baseline itself are 1."""
    effects, found = effects_of(metric, series, baseline)
    low, high = (metric.shown(end) if math.isfinite(end) else math.nan for end in found.interval())
    names = [each.named(effects).index for each in (series, baseline)]
    for effect, *runs in zip(effects, *names, strict=True):
        yield {
            "metric": metric.name,
            "value": metric.shown(effect),
            "mean": metric.shown(found.mean),
            "low": low,
            "high": high,
            "n": len(effects),
            "runs": " ".join(sorted(set(runs))),
        }


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """Draw a row of axes per workload and batch, and a column per metric."""
    works = dict(list(points.groupby("work", sort=False)))
    columns = [metric.name for metric in RATIOS if metric.name in set(points["metric"])]
    heights = [rows_height(part["series"].unique(), ROW) for part in works.values()]
    height = sum(heights) + 0.42 * len(works) + 0.2
    remarks, handles = (
        _remarks(points),
        [*legend_row("one contest or pair", "geometric mean"), *_PATCHES],
    )
    frame = Frame(style.DOUBLE, height, inputs.title, inputs.runs, remarks, handles)
    widths = [*[1.5] * len(columns), 1]
    shape = {"squeeze": False, "height_ratios": heights, "width_ratios": widths}
    grid = frame.figure.subplots(len(works), len(widths), **shape)
    for row, (work, part) in zip(grid, works.items(), strict=True):
        names = _ranked(part, columns)
        for axes, metric in zip(row, columns, strict=False):
            _draw_ratios(axes, part, metric, names, inputs)
        _draw_whole(row[-1], part, names)
        for axes in row[1:]:
            axes.tick_params(labelleft=False)
        row[0].set_title(work, loc="left")
    return frame.figure


def _ranked(part: pd.DataFrame, metrics: list[str]) -> list[str]:
    """Return the series, the best by the first metric first, those without a value last."""
    names = list(dict.fromkeys(part["series"]))
    means = part[part["metric"].isin(metrics[:1])].groupby("series")["mean"].first().reindex(names)
    return list(means.sort_values(ascending=False, kind="stable").index)


def _draw_ratios(
    axes: Axes, part: pd.DataFrame, metric: str, names: list[str], inputs: Inputs
) -> None:
    row_axes(axes, names, f"{AXES[metric]}, multiple of {part['baseline'].iloc[0]}")
    axes.set_xscale("log")
    plain_logarithms(axes.xaxis)
    axes.axvline(1, color=style.MUTED, linewidth=0.8)
    known = part[part["metric"] == metric]
    for row, name in enumerate(names):
        pairs = known[known["series"] == name]
        if pairs.empty:
            words = part.loc[part["series"] == name, "words"].iloc[0] or f"no {metric}"
            write_words(axes, row, words)
            continue
        first = pairs.iloc[0]
        color, ends = style.color(inputs.palette, first["backend"]), (first["low"], first["high"])
        draw_row(axes, row, pairs["value"], first["mean"], ends, color)
        text = "baseline" if name == first["baseline"] else f"{first['mean']:.2f} x"
        end = max(first["high"], pairs["value"].max())
        write_value(axes, row, end, f"{text} (n = {first['n']:.0f})", "")
    low, high = axes.get_xlim()
    axes.set_xlim(low, high * (high / low) ** 0.35)  # room for the values


def _draw_whole(axes: Axes, part: pd.DataFrame, names: list[str]) -> None:
    whole = part[part["metric"] == "whole run"].set_index("series").loc[names]
    name_rows(axes, names)
    places = range(len(names))
    axes.barh(places, whole["value"], color=WHOLE, height=0.56, **EDGE)
    axes.barh(places, whole["compilation"], color=COMPILATION, height=0.56, **EDGE)
    for row, seconds in zip(places, whole["value"], strict=True):
        if math.isfinite(seconds):
            write(axes, f"{seconds:,.1f}", (seconds, row), (3, 0), va="center", size=6)
    axes.set_xlabel("whole run (s)")
    plain_numbers(axes.xaxis)
    axes.margins(x=0.25)
    axes.grid(axis="x")


def _remarks(points: pd.DataFrame) -> list[str]:
    counts = points.loc[points["metric"] == "whole run", "n"].tolist()
    return [
        OF_PAIRS,
        "To the right of 1: better than the baseline. Whole run: medians, from process start to end, "
        "without the speed window.",
        footnotes.STEADY,
        f"n = {' or '.join(str(int(n)) for n in sorted(set(counts)))} runs (seeds) each.",
    ]
