"""Where the seconds of a run go: cold parts, training, evaluation, the rest."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from paragone.analysis import run_states
from paragone.analysis.grouping import Series
from paragone.analysis.statistics import INTERVAL, summarize
from paragone.reporting import footnotes, style
from paragone.reporting.inputs import Inputs
from paragone.reporting.marks import explain, row_axes, rows_height, write_value, write_words

ROW = 0.4  # inches per series
# Light to dark brown for the cold parts, violets for the rest: apart from every backend's color,
# and apart from each other in lightness or hatch.
PART_STYLES = {
    "imports": ("#F3E3C3", "", style.DARK),
    "devices": ("#DDBB80", "////", style.DARK),
    "data": ("#B98A3E", "", style.DARK),
    "compilation": ("#6E4A12", "", style.BRIGHT),
    "train": ("#463C78", "", style.BRIGHT),
    "evaluate": ("#9A8FC6", "", style.DARK),
    "checkpoint": ("#D8D3EA", "....", style.DARK),
    "other": ("#F0F0F0", "", style.DARK),
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
        lacking = run_states.no_speed(completed[completed["parity"] != "passed"])
        wording = "; ".join([*run_states.not_completed(series.runs), *lacking])
        run = _typical(series)
        if run is None:
            rows.append({"series": series.label, "backend": series.backend, "words": wording})
            continue
        total = vars(summarize(series.measured["end_to_end_seconds"]))
        shared = {
            "end_to_end_seconds": run["end_to_end_seconds"],
            "runs": " ".join(series.measured["run"]),
            **{f"end_to_end_{key}": value for key, value in total.items()},
            "words": wording,
        }
        first = {"series": series.label, "backend": series.backend, "run": run["run"]}
        rows += [
            {**first, "part": part, "seconds": run[f"{part}_seconds"], **shared}
            for part in PART_STYLES
        ]
    return pd.DataFrame(rows)


def _typical(series: Series) -> pd.Series | None:
    """Return the completed run with the median end-to-end time (the lower of two), None without any.

    Parts of one run add up to its total; medians of parts would not.
    """
    timed = series.measured.dropna(subset="end_to_end_seconds")
    ordered = timed.sort_values(["end_to_end_seconds", "run"])
    return None if timed.empty else ordered.iloc[(len(ordered) - 1) // 2]


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """Draw one stacked bar per series."""
    series = dict(list(points.groupby("series", sort=False)))
    handles = [
        Patch(facecolor=face, hatch=hatch, label=part, **EDGE)
        for part, (face, hatch, _) in PART_STYLES.items()
    ]
    counts = [int(curve.measured["end_to_end_seconds"].count()) for curve in inputs.series]
    remarks = [BARS, footnotes.repeats(counts)]
    height = rows_height(series, ROW) + 0.36
    frame = style.Frame(style.SINGLE, height, inputs.title, inputs.runs, remarks, handles)
    axes = frame.subplots()
    row_axes(axes, list(series), "time of the whole run (s)")
    bars = {row: parts for row, parts in enumerate(series.values()) if "part" in parts}
    bars = {row: parts for row, parts in bars.items() if parts["part"].notna().all()}
    for row, parts in bars.items():
        _draw_bar(axes, row, parts)
    for row, parts in enumerate(series.values()):
        if row not in bars:
            write_words(axes, row, parts["words"].iloc[0])
    axes.set_xlim(left=0)
    axes.figure.draw_without_rendering()
    for row, parts in bars.items():
        _label_parts(axes, row, parts)
    return frame


def _draw_bar(axes: Axes, row: int, parts: pd.DataFrame) -> None:
    faces, hatches, _ = zip(*map(PART_STYLES.get, parts["part"]), strict=True)
    shared = {"height": 0.56, "color": faces, "hatch": hatches, **EDGE}
    axes.barh(row, parts["seconds"], left=_starts(parts), **shared)
    middles = _starts(parts) + parts["seconds"] / 2
    rows = parts.assign(series=parts["series"] + ", " + parts["part"], runs=parts["run"])
    explain(axes, middles, [row] * len(parts), rows, "seconds", "s")
    total = parts.iloc[0]
    n, median, low, high = (total[f"end_to_end_{key}"] for key in ("n", "median", "low", "high"))
    if n > 1:
        axes.errorbar(median, row - 0.37, xerr=[[median - low], [high - median]], **WHISKER)
    text = f"{'median ' if n > 1 else ''}{median:,.1f} s (n = {n:.0f})"
    write_value(axes, row, parts["seconds"].cumsum().iloc[-1], text, total["words"])


def _starts(parts: pd.DataFrame) -> pd.Series:
    return parts["seconds"].cumsum().shift(fill_value=0.0)


def _label_parts(axes: Axes, row: int, parts: pd.DataFrame) -> None:
    """Write the seconds into every part that is wide enough for them."""
    pixels = axes.get_window_extent().width / (axes.get_xlim()[1] - axes.get_xlim()[0])
    for part, seconds, start in zip(parts["part"], parts["seconds"], _starts(parts), strict=True):
        face, hatch, ink = PART_STYLES[part]
        text = f"{seconds:,.1f}"
        if seconds * pixels > (len(text) * 4.4 + 4) * axes.figure.dpi / 72:
            box = {"facecolor": face, "edgecolor": "none", "pad": 0.8} if hatch else None
            place = {"ha": "center", "va": "center", "color": ink, "bbox": box}
            axes.text(start + seconds / 2, row, text, **place)
