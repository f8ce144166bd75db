"""Variants: speeds relative to the baseline and absolute, and time to the target where runs have one."""

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from paragone.analysis import grouping, pairwise
from paragone.analysis.grouping import Series, by_machine, is_usual, series_of, shares_cores
from paragone.analysis.pairwise import CRITERIA, Criterion
from paragone.analysis.statistics import ALPHA, Effects, summarize
from paragone.reporting import footnotes, marks, style
from paragone.reporting.inputs import Inputs
from paragone.reporting.sentences import with_interval

RATIOS = [CRITERIA["speed"], CRITERIA["time to target"]]
AXES = {"speed": "steady speed", "time to target": "quickness to the target"}
ABSOLUTE, SHARE = "examples/s", "steady_peak_share"
COLUMNS = ["work", "series", "backend", "baseline", "words", "metric", "value", "median"]
COLUMNS += ["low", "high", "n", SHARE, "runs"]
BAND = {"color": style.FAINT, "alpha": 0.6, "linewidth": 0}
PEAK = (
    "% of peak: FLOP/s of convolutions and products over those of the fastest matrix product "
    "of this machine's devices."
)


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per series, metric and contest or seed.

    `value` says how many times better than the baseline it was; of the metric `ABSOLUTE` it is the speed. A
    series without any value has one row of the metric "speed", and a reason in `words`.
    """
    rows, judged = [], pairwise.differences(inputs.runs, inputs.labels, inputs.rounds)
    for work, baseline, peers in _works(inputs):
        for series in peers:
            shared = {
                "work": work,
                "series": series.label,
                "backend": series.backend,
                "baseline": baseline.label,
                "words": "; ".join(grouping.not_timed(series)),
                SHARE: summarize(series.measured[SHARE]).median,
            }
            rivals = max(1, len(peers) - 1)
            values = [
                {"metric": ABSOLUTE, "value": speed, "runs": run, **vars(summarize(series.speeds))}
                for run, speed in series.by_name(series.speeds).items()
            ]
            for metric in RATIOS:
                values += _ratios(metric, series, baseline, judged, rivals)
            rows += [{**shared, **row} for row in values or [{"metric": "speed", "n": 0}]]
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def _works(inputs: Inputs) -> Iterator[tuple[str, Series, list[Series]]]:
    """Yield each workload and global batch on a machine: its name, the baseline's series, and all series.

    The baseline is the backend that the setting `baseline` names, in float32 as installed, on the same
    machine; where it has no speed, the first series that has one.
    """
    machines = list(by_machine(inputs.runs))
    works: dict[str, list[Series]] = {}
    for machine, runs in machines:
        suffix = f", {machine}" if len(machines) > 1 else ""
        for series in series_of(runs, inputs.labels, inputs.rounds):
            work = f"{series.workload}, batch {series.global_batch:,}{suffix}"
            works.setdefault(work, []).append(series)
    for work, peers in works.items():
        usual = [series for series in peers if is_usual(series.runs.iloc[0])] or peers
        name = inputs.settings["baseline"]
        baseline = min(usual, key=lambda series: (series.speeds.empty, series.backend != name))
        yield work, baseline, peers


def _ratios(
    metric: Criterion, series: Series, baseline: Series, judged: pd.DataFrame, rivals: int
) -> Iterator[dict[str, Any]]:
    """Yield the ratios of one metric by contest or seed; those of the baseline itself are 1.

    The interval is that of the table of differences; of a pair that is not among `judged`, it is adjusted for
    the `others` that the baseline is compared with.
    """
    ratios = pairwise.effects_of(metric, series, baseline)
    effects = Effects(ratios.to_numpy())
    low, high = map(metric.shown, effects.interval(ALPHA / rivals))
    machines = {"", *series.runs["machine_name"].dropna()}
    of_metric = judged[(judged["metric"] == metric.name) & judged["machine"].isin(machines)]
    for row in of_metric.to_dict("records"):
        if {row["first"], row["second"]} == {series.label, baseline.label} and row["n"]:
            _, low, high = pairwise.oriented(row, series.label)
    low, high = (end if 0 < end < math.inf else math.nan for end in (low, high))
    runs_of = [side.by_name(ratios).index for side in (series, baseline)]
    for ratio, *runs in zip(ratios, *runs_of, strict=True):
        yield {
            "metric": metric.name,
            "value": metric.shown(ratio),
            "median": metric.shown(effects.median),
            "low": low,
            "high": high,
            "n": len(ratios),
            "runs": " ".join(sorted(set(runs))),
        }


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """Draw a row of axes per workload and batch, and a column per metric."""
    works = dict(list(points.groupby("work", sort=False)))
    present = set(points["metric"])
    columns = [metric.name for metric in RATIOS if metric.name in present] or ["speed"]
    heights = [marks.rows_height(part["series"].unique(), 0.36) for part in works.values()]
    several = len(works) > 1 or len(columns) > 1
    height = sum(heights) + (0.55 if len(works) > 1 else 0.36) * len(works)
    units = " or ".join(sorted({series.unit for series in inputs.series}))
    n = " or ".join(map(str, sorted({int(n) for n in points["n"]} - {0}))) or 0
    remarks = [
        f"Right of 1: better than the baseline. Tick: median over n = {n} {units}s; line: its "
        "95 % interval, adjusted for the pairs of the question. Below: median examples/s.",
        footnotes.speeds(inputs.series),
        *([PEAK] if points[SHARE].notna().any() else []),
    ]
    if shares_cores(inputs.runs) and inputs.runs["replicas"].max() > 1:
        remarks.append(footnotes.SHARED_CORES)
    handles = [
        marks.legend_mark(f"one {units}", markersize=3, alpha=0.55),
        marks.legend_mark("median", marker="|", markersize=8, markeredgewidth=1.6),
        marks.legend_line("95 % interval", linewidth=1.2),
        Patch(label=f"equal within {pairwise.margin_words(CRITERIA['speed'])}", **BAND),
    ]
    width = style.SINGLE if len(columns) == 1 else style.DOUBLE
    frame = style.Frame(width, height, inputs.title, inputs.runs, remarks, handles)
    grid = frame.subplots(len(works), len(columns), squeeze=False, height_ratios=heights)
    for row, (work, part) in zip(grid, works.items(), strict=True):
        speeds = part[part["metric"] == ABSOLUTE].groupby("series")["median"].first()
        medians = speeds.reindex(dict.fromkeys(part["series"]))
        # The fastest first, those without a speed last.
        names = list(medians.sort_values(ascending=False, kind="stable").index)
        for axes, metric in zip(row, columns, strict=True):
            _draw_ratios(axes, part, metric, names, inputs.palette)
            axes.tick_params(labelleft=axes is row[0])
        row[0].set_title(work if several else "", loc="left")
    return frame


def _draw_ratios(
    axes: Axes, part: pd.DataFrame, metric: str, names: list[str], palette: dict[str, str]
) -> None:
    baseline = part["baseline"].iloc[0]
    marks.row_axes(axes, names, f"{AXES[metric]}, multiple of the baseline's")
    axes.set_xscale("log")
    margin = CRITERIA[metric].margin
    axes.axvspan(1 / margin, margin, zorder=0, **BAND)
    for row, name in enumerate(names):
        series = part[part["series"] == name]
        ratios = series[(series["metric"] == metric) & series["value"].notna()]
        wording = series["words"].iloc[0]
        speed = _absolute(series) if metric == "speed" else ""
        if ratios.empty:
            texts = [wording or f"no {metric}", speed]
            marks.write_words(axes, row, "; ".join(filter(None, texts)))
            continue
        first = ratios.iloc[0]
        ends = first["low"], first["high"]
        color, rows = style.color(palette, first["backend"]), [row] * len(ratios)
        dots = {"orient": "y", "native_scale": True, "jitter": False, "linewidth": 0, "size": 3}
        style.sns.stripplot(x=ratios["value"], y=rows, color=color, alpha=0.55, ax=axes, **dots)
        axes.hlines(row, *ends, color=color, linewidth=1.2)
        axes.vlines(first["median"], row - 0.25, row + 0.25, color=color, linewidth=1.6)
        pairs = ratios.drop(columns=["low", "high", "n"])
        marks.explain(axes, ratios["value"], rows, pairs, "value", "x")
        marks.explain(axes, [first["median"]], [row], ratios[:1], "median", "x")
        end = max(pd.Series([first["high"], ratios["value"].max()]).dropna())
        text = "baseline" if name == baseline else with_interval("{:.2f}", first["median"], *ends)
        marks.write_value(axes, row, end, text, "\n".join(filter(None, [speed, wording])))
    marks.plain_logarithms(axes.xaxis)


def _absolute(series: pd.DataFrame) -> str:
    speeds = series[series["metric"] == ABSOLUTE]
    if speeds.empty:
        return ""
    share = speeds[SHARE].iloc[0]
    of_peak = "" if pd.isna(share) else f", {100 * share:.2g} % of peak"
    return f"{speeds['median'].iloc[0]:,.0f}/s{of_peak}"
