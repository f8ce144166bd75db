"""Draw steady throughput by backend: every run, median and interval, and those without a speed."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation

from paragone.analysis import run_states, tidy
from paragone.analysis.grouping import Series, series_of, shares_cores
from paragone.analysis.statistics import summarize
from paragone.base.errors import entry_point
from paragone.reporting import footnotes
from paragone.reporting.drawing import style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.drawing.rows import make_room, row_axes, write_value, write_words
from paragone.reporting.options import figure_parser, pairs

ROW = 0.36  # inches a series
PEAK = (
    "% of peak: FLOP/s of convolutions and products over those of the fastest matrix product "
    "of this machine's devices."
)
SPEEDS = ["steady_examples_per_second", "steady_flop_per_second", "steady_peak_share"]


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Draw the figure and write what it shows."""
    options = figure_parser(__doc__).parse_args(arguments)
    runs = tidy.read(options.runs)
    series = series_of(runs, pairs(options.labels))
    style.save(draw(series, runs, pairs(options.palette), options.title), options.output)
    tidy.write(points(series), options.sidecar)


def measured(one: Series) -> pd.DataFrame:
    """The runs of a series that have a steady speed to compare."""
    return one.measured.dropna(subset="steady_examples_per_second")


def points(series: list[Series]) -> pd.DataFrame:
    """One row a run, drawn as a dot or in words, beside its series' n, median and interval."""
    parts = []
    for one in series:
        summary = summarize(measured(one)["steady_examples_per_second"])
        shown = one.runs[["run", "seed", "status", "parity", *SPEEDS]].copy()
        parts.append(
            shown.assign(
                series=one.label,
                n=summary.n,
                median=summary.median,
                low=summary.low,
                high=summary.high,
                words="; ".join(run_states.no_speed(one.runs)),
            )
        )
    return pd.concat(parts, ignore_index=True)


def draw(series: list[Series], runs: pd.DataFrame, palette: dict[str, str], title: str) -> Figure:
    """The figure, one row a series, best read from top to bottom."""
    grey = {"color": style.MUTED, "linestyle": "none"}
    handles = [
        Line2D([], [], marker="o", markersize=3.2, alpha=0.6, label="one run", **grey),
        Line2D([], [], marker="|", markersize=8, markeredgewidth=1.6, label="median", **grey),
    ]
    if any(len(measured(one)) > 1 for one in series):
        handles.append(Line2D([], [], color=style.MUTED, linewidth=1.2, label="95 % interval"))
    remarks = [
        "Steady: epochs after the first of each process, without evaluation.",
        footnotes.repeats([len(measured(one)) for one in series]),
    ]
    if runs["steady_peak_share"].notna().any():
        remarks.append(PEAK)
    if shares_cores(runs) and runs["replicas"].max() > 1:
        remarks.append("Replicas share the cores of one machine.")
    frame = Frame(style.SINGLE, ROW * len(series) + 0.36, title, runs, remarks, handles)
    axes = frame.figure.subplots()
    row_axes(axes, series, "steady training throughput (examples/s)")
    highest = pd.concat([measured(one)["steady_examples_per_second"] for one in series]).max()
    axes.set_xlim(0, 1 if pd.isna(highest) else highest * 1.04)
    texts = []
    for row, one in enumerate(series):
        values = measured(one)["steady_examples_per_second"]
        if values.empty:
            write_words(axes, row, run_states.no_speed(one.runs))
        else:
            texts.append(_draw_row(axes, row, one, values, style.color(palette, one.backend)))
    make_room(axes, texts)
    return frame.figure


def _draw_row(axes: Axes, row: int, one: Series, values: pd.Series, color: str) -> Annotation:
    summary = summarize(values)
    axes.barh(row, summary.median, height=0.5, color=color, alpha=0.22, linewidth=0)
    if summary.has_interval:
        axes.hlines(row, summary.low, summary.high, color=color, linewidth=1.2)
    axes.plot(
        values,
        [row] * len(values),
        linestyle="none",
        marker=style.MARKERS[one.number % len(style.MARKERS)],
        color=color,
        alpha=0.6,
        markeredgewidth=0,
    )
    axes.vlines(summary.median, row - 0.25, row + 0.25, color=color, linewidth=1.6)
    share = summarize(measured(one)["steady_peak_share"]).median
    of_peak = "" if pd.isna(share) else f", {100 * share:.2g} % of peak"
    text = f"{summary.median:,.0f} (n = {summary.n}){of_peak}"
    return write_value(axes, row, values.max(), text, run_states.no_speed(one.runs))


if __name__ == "__main__":
    main()
