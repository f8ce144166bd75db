"""Variants relative to the baseline: speed, and time to the target where runs have one."""

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from paragone.analysis import run_states
from paragone.analysis.grouping import Series
from paragone.analysis.metrics import METRICS, Metric, margin_words, named
from paragone.analysis.pairwise import differences, effects_of, oriented
from paragone.analysis.statistics import ALPHA, Effects, summarize
from paragone.reporting import footnotes, style
from paragone.reporting.inputs import Inputs
from paragone.reporting.marks import (
    draw_row,
    legend_row,
    plain_logarithms,
    row_axes,
    rows_height,
    write_value,
    write_words,
)
from paragone.reporting.sentences import with_interval

ROW = 0.3  # inches per series
RATIOS = [metric for metric in METRICS if metric.name in ("speed", "time to target")]
AXES = {"speed": "steady speed", "time to target": "quickness to the target"}
COLUMNS = ["work", "series", "backend", "baseline", "words", "metric", "value", "mean"]
COLUMNS += ["low", "high", "n", "examples_per_second", "runs"]
BAND = {"color": style.FAINT, "alpha": 0.6, "linewidth": 0}


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per series, metric and contest or seed: how many times better than the baseline it was.

    A series without any value has one row of the metric "speed", with the reason in `words`. Raises
    `UserError` where the baseline does none of the work.
    """
    rows, judged = [], differences(inputs.runs, inputs.labels, inputs.windows)
    for work, baseline, same in inputs.with_baseline():
        for series in same:
            about = {
                "work": work,
                "series": series.label,
                "backend": series.backend,
                "baseline": baseline.label,
                "words": "; ".join(run_states.not_timed(series)),
                "examples_per_second": summarize(series.speeds).median,
            }
            others = max(1, len(same) - 1)
            ratios = [
                row
                for metric in RATIOS
                for row in _ratios(metric, series, baseline, judged, others)
            ]
            rows += [{**about, **row} for row in ratios or [{"metric": "speed", "n": 0}]]
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def _ratios(
    metric: Metric, series: Series, baseline: Series, judged: pd.DataFrame, others: int
) -> Iterator[dict[str, Any]]:
    """Yield the ratios of one metric by contest or seed; those of the baseline itself are 1.

    The interval is that of the table of differences; of a pair that is not among `judged`, it is adjusted for
    the `others` that the baseline is compared with.
    """
    effects = effects_of(metric, series, baseline)
    tested = Effects(effects.to_numpy())
    low, high = map(metric.shown, tested.interval(ALPHA / others))
    machines = {"", *series.runs["machine_name"].dropna()}
    of_metric = judged[(judged["metric"] == metric.name) & judged["machine"].isin(machines)]
    for row in of_metric.to_dict("records"):
        if {row["first"], row["second"]} == {series.label, baseline.label} and row["n"]:
            _, low, high = oriented(row, series.label)
    low, high = (end if 0 < end < math.inf else math.nan for end in (low, high))
    names = [each.named(effects).index for each in (series, baseline)]
    for effect, *runs in zip(effects, *names, strict=True):
        yield {
            "metric": metric.name,
            "value": metric.shown(effect),
            "mean": metric.shown(tested.mean),
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
    several = len(works) > 1 or len(columns) > 1
    height = sum(heights) + (0.42 if len(works) > 1 else 0.36) * len(works)
    units = " or ".join(sorted({series.unit for series in inputs.series}))
    n = " or ".join(map(str, sorted({int(n) for n in points["n"]} - {0}))) or 0
    remark = (
        f"Right of 1: better than the baseline. Tick: geometric mean over n = {n} {units}s; line: its "
        "95 % interval, adjusted for the pairs of the question. Below: median steady speed."
    )
    band = Patch(label=f"equal within {margin_words(named('speed'))}", **BAND)
    handles = [*legend_row(f"one {units}", "geometric mean"), band]
    width = style.SINGLE if len(columns) == 1 else style.DOUBLE
    frame = style.Frame(
        width, height, inputs.title, inputs.runs, [remark, footnotes.speeds(inputs.series)], handles
    )
    shape = {"squeeze": False, "height_ratios": heights}
    grid = frame.subplots(len(works), len(columns), **shape)
    for row, (work, part) in zip(grid, works.items(), strict=True):
        names = _ranked(part, columns)
        for axes, metric in zip(row, columns, strict=True):
            _draw_ratios(axes, part, metric, names, inputs)
            axes.tick_params(labelleft=axes is row[0])
        row[0].set_title(work if several else "", loc="left")
    return frame


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
    margin = named(metric).margin
    axes.axvspan(1 / margin, margin, zorder=0, **BAND)
    known = part[(part["metric"] == metric) & part["value"].notna()]
    for row, name in enumerate(names):
        pairs = known[known["series"] == name]
        if pairs.empty:
            words = part.loc[part["series"] == name, "words"].iloc[0] or f"no {metric}"
            write_words(axes, row, words)
            continue
        first = pairs.iloc[0]
        color, ends = style.color(inputs.palette, first["backend"]), (first["low"], first["high"])
        draw_row(axes, row, pairs["value"], first["mean"], ends, color)
        end = max(pd.Series([first["high"], pairs["value"].max()]).dropna())
        speed = f"{first['examples_per_second']:,.0f} examples/s" if metric == "speed" else ""
        text = with_interval("{:.2f}", first["mean"], *ends)
        if name == first["baseline"]:
            text = "baseline"
        write_value(axes, row, end, text, speed)
    plain_logarithms(axes.xaxis, (1, 2, 3, 5))
