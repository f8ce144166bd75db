"""Draw where the seconds of a run go: cold parts, training, evaluation, the rest, by backend."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.text import Annotation

from paragone.analysis import run_states, tidy
from paragone.analysis.grouping import Series, series_of
from paragone.analysis.statistics import INTERVAL, summarize
from paragone.base.errors import entry_point
from paragone.reporting import footnotes
from paragone.reporting.drawing import style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.drawing.rows import make_room, row_axes, write_value, write_words
from paragone.reporting.options import figure_parser, pairs

ROW = 0.4  # inches a series
# Light to dark brown for the cold parts, violets for the rest: apart from every backend's colour,
# and apart from each other in lightness or hatch.
LOOK = {
    "imports": ("#F3E3C3", "", style.INK),
    "devices": ("#DDBB80", "////", style.INK),
    "data": ("#B98A3E", "", style.INK),
    "compilation": ("#6E4A12", "", "white"),
    "train": ("#463C78", "", "white"),
    "evaluate": ("#9A8FC6", "", style.INK),
    "checkpoint": ("#D8D3EA", "....", style.INK),
    "other": ("#F0F0F0", "", style.INK),
}


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Draw the figure and write what it shows."""
    options = figure_parser(__doc__).parse_args(arguments)
    runs = tidy.read(options.runs)
    series = series_of(runs, pairs(options.labels))
    style.save(draw(series, runs, options.title), options.output)
    tidy.write(points(series), options.sidecar)


def typical(one: Series) -> pd.Series | None:
    """The completed run with the median end to end (the lower of two), None without any clock.

    A run's own parts add up to its total; medians of parts would not.
    """
    timed = one.measured.dropna(subset="end_to_end_seconds")
    ordered = timed.sort_values(["end_to_end_seconds", "run"])
    return None if timed.empty else ordered.iloc[(len(ordered) - 1) // 2]


def points(series: list[Series]) -> pd.DataFrame:
    """One row a series and part: the seconds drawn, of which run, and the total with interval."""
    rows = []
    for one in series:
        run = typical(one)
        total = summarize(one.measured["end_to_end_seconds"])
        if run is None:
            rows.append({"series": one.label, "words": "; ".join(_words(one))})
            continue
        rows += [
            {
                "series": one.label,
                "run": run["run"],
                "part": part,
                "seconds": run[f"{part}_seconds"],
                "end_to_end_seconds": run["end_to_end_seconds"],
                "runs": " ".join(one.measured["run"]),
                **{f"end_to_end_{key}": value for key, value in vars(total).items()},
                "words": "; ".join(_words(one)),
            }
            for part in LOOK
        ]
    return pd.DataFrame(rows)


def draw(series: list[Series], runs: pd.DataFrame, title: str) -> Figure:
    """The figure, one stacked bar a series."""
    handles = [
        Patch(facecolor=face, hatch=hatch, edgecolor=style.MUTED, linewidth=0.4, label=part)
        for part, (face, hatch, _) in LOOK.items()
    ]
    remarks = [
        "Each bar is the completed run with the median end to end (of two, the lower), so that its "
        f"parts add up; dot, number: median end to end; whisker: its {INTERVAL}. Cold: imports, "
        "devices, data, compilation.",
        footnotes.repeats([int(one.measured["end_to_end_seconds"].count()) for one in series]),
    ]
    frame = Frame(style.DOUBLE, ROW * len(series) + 0.36, title, runs, remarks, handles)
    axes = frame.figure.subplots()
    row_axes(axes, series, "time of the whole run (s)")
    texts = []
    for row, one in enumerate(series):
        run = typical(one)
        if run is None:
            write_words(axes, row, _words(one))
        else:
            texts.append(_draw_row(axes, row, one, run))
    axes.set_xlim(left=0)
    make_room(axes, texts)
    _label_parts(axes, series)
    return frame.figure


def _words(one: Series) -> list[str]:
    words = run_states.not_completed(one.runs)
    unproven = one.runs[one.runs["status"] == "completed"]
    return words + [word for word in run_states.no_speed(unproven) if "parity" in word]


def _draw_row(axes: Axes, row: int, one: Series, run: pd.Series) -> Annotation:
    start = 0.0
    for part, (face, hatch, _) in LOOK.items():
        seconds = run[f"{part}_seconds"]
        look = {"color": face, "hatch": hatch, "edgecolor": style.MUTED, "linewidth": 0.4}
        axes.barh(row, seconds, left=start, height=0.56, **look)
        start += seconds
    total = summarize(one.measured["end_to_end_seconds"])
    if total.has_interval:
        axes.errorbar(
            total.median,
            row - 0.37,
            xerr=[[total.median - total.low], [total.high - total.median]],
            color=style.INK,
            marker="o",
            markersize=2.4,
            linewidth=0.8,
            capsize=1.5,
            capthick=0.8,
        )
    name = "median " if total.n > 1 else ""
    text = f"{name}{total.median:,.1f} s (n = {total.n})"
    return write_value(axes, row, start, text, _words(one))


def _label_parts(axes: Axes, series: list[Series]) -> None:
    """Write the seconds into every part that is wide enough for them."""
    axes.figure.draw_without_rendering()
    pixels = axes.get_window_extent().width / (axes.get_xlim()[1] - axes.get_xlim()[0])
    for row, one in enumerate(series):
        run, start = typical(one), 0.0
        if run is None:
            continue
        for part, (face, hatch, ink) in LOOK.items():
            seconds = run[f"{part}_seconds"]
            text = f"{seconds:,.1f}"
            if seconds * pixels > (len(text) * 4.4 + 4) * axes.figure.dpi / 72:
                box = {"facecolor": face, "edgecolor": "none", "pad": 0.8} if hatch else None
                axes.text(
                    start + seconds / 2, row, text, ha="center", va="center", color=ink, bbox=box
                )
            start += seconds


if __name__ == "__main__":
    main()
