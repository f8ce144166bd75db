"""Where the seconds of a run go: cold parts, training, evaluation, the rest."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from paragone.analysis import grouping
from paragone.analysis.statistics import INTERVAL, summarize
from paragone.reporting import footnotes, style
from paragone.reporting.inputs import Inputs
from paragone.reporting.marks import explain, row_axes, rows_height, write_value, write_words

# Light to dark brown for the cold parts, violets for the rest: apart from every backend's color,
# and apart from each other in lightness or hatch.
PART_STYLES = {
    "imports": ("#F3E3C3", ""),
    "devices": ("#DDBB80", "////"),
    "data": ("#B98A3E", ""),
    "compilation": ("#6E4A12", ""),
    "train": ("#463C78", ""),
    "evaluate": ("#9A8FC6", ""),
    "checkpoint": ("#D8D3EA", "...."),
    "other": ("#F0F0F0", ""),
}
EDGE = {"edgecolor": style.MUTED, "linewidth": 0.4}
WHISKER = {"color": style.INK, "marker": "o", "markersize": 2.4, "linewidth": 0.8}
WHISKER |= {"capsize": 1.5, "capthick": 0.8}
BARS = (
    "Each bar is the completed run with the median end to end (of two, the lower), so that its parts "
    f"add up; dot, number: median end to end; whisker: its {INTERVAL}. Cold: imports, devices, data, "
    "compilation."
)


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per series and part: the seconds drawn, their run, and the total with its interval."""
    rows = []
    for series in inputs.series:
        completed = series.runs[series.runs["status"] == "completed"]
        lacking = grouping.no_speed(completed[completed["parity"] != "passed"])
        wording = "; ".join([*grouping.not_completed(series.runs), *lacking])
        shown = {"series": series.label, "backend": series.backend}
        timed = series.measured.dropna(subset="end_to_end_seconds")
        if timed.empty:
            rows.append({**shown, "words": wording})
            continue
        # Parts of one run add up to its total; medians of parts would not.
        run = timed.sort_values(["end_to_end_seconds", "run"]).iloc[(len(timed) - 1) // 2]
        total = vars(summarize(timed["end_to_end_seconds"]))
        shared = {
            "end_to_end_seconds": run["end_to_end_seconds"],
            "runs": " ".join(series.measured["run"]),
            **{f"end_to_end_{key}": value for key, value in total.items()},
            "words": wording,
        }
        rows += [
            {**shown, "run": run["run"], "part": part, "seconds": run[f"{part}_seconds"], **shared}
            for part in PART_STYLES
        ]
    return pd.DataFrame(rows)


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """Draw one stacked bar per series."""
    series = dict(list(points.groupby("series", sort=False)))
    handles = [
        Patch(facecolor=face, hatch=hatch, label=part, **EDGE)
        for part, (face, hatch) in PART_STYLES.items()
    ]
    counts = [int(curve.measured["end_to_end_seconds"].count()) for curve in inputs.series]
    remarks = [BARS, footnotes.repeats(counts)]
    height = rows_height(series, 0.4) + 0.36
    frame = style.Frame(style.SINGLE, height, inputs.title, inputs.runs, remarks, handles)
    axes = frame.subplots()
    row_axes(axes, list(series), "time of the whole run (s)")
    for row, parts in enumerate(series.values()):
        if "part" in parts and parts["part"].notna().all():
            _draw_bar(axes, row, parts)
        else:
            write_words(axes, row, parts["words"].iloc[0])
    axes.set_xlim(left=0)
    return frame


def _draw_bar(axes: Axes, row: int, parts: pd.DataFrame) -> None:
    faces, hatches = zip(*map(PART_STYLES.get, parts["part"]), strict=True)
    ends = parts["seconds"].cumsum()
    starts = ends - parts["seconds"]
    shared = {"height": 0.56, "color": faces, "hatch": hatches, **EDGE}
    axes.barh(row, parts["seconds"], left=starts, **shared)
    rows = parts.assign(series=parts["series"] + ", " + parts["part"], runs=parts["run"])
    explain(axes, (starts + ends) / 2, [row] * len(parts), rows, "seconds", "s")
    total = parts.iloc[0]
    n, median, low, high = (total[f"end_to_end_{key}"] for key in ("n", "median", "low", "high"))
    if n > 1:
        axes.errorbar(median, row - 0.37, xerr=[[median - low], [high - median]], **WHISKER)
    text = f"{'median ' if n > 1 else ''}{median:,.1f} s (n = {n:.0f})"
    write_value(axes, row, ends.iloc[-1], text, total["words"])
