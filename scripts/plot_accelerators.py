"""Draw the published accelerators by peak throughput, with this machine's measured peaks among them."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator

from paragone.analysis import published, tidy
from paragone.analysis.product_tables import NOT_HERE, peaks, spread, with_labels
from paragone.analysis.statistics import INTERVAL
from paragone.base.errors import entry_point
from paragone.reporting.drawing import style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.options import figure_parser, pairs

ROW = 0.165  # inches
TERA = 1e12
# Published comparisons of CPU, GPU and TPU: metric, what its row is called.
RELATIVE = {
    "operations_per_cycle": "operations a cycle",
    "performance_per_watt": "performance a watt",
    "inferences_per_second": "inferences a second",
}
KINDS = {"CPU": "|", "GPU": "s", "TPU": "D"}  # every published peak is a TPU's


@dataclass(frozen=True)
class Drawn:
    """What the figure shows: published numbers by metric, and measured peaks in TFLOP/s."""

    published: dict[str, list[published.Row]]
    measured: pd.DataFrame


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Draw the figure and write what it shows."""
    parser = figure_parser(__doc__)
    parser.add_argument("--published", type=Path, required=True, help="published.csv")
    parser.add_argument("--published-experiment", required=True, help="whose published rows")
    options = parser.parse_args(arguments)
    runs = tidy.read(options.runs)
    rows = published.read_rows(options.published, options.published_experiment)
    drawn = collect(rows, runs, pairs(options.labels))
    style.save(draw(drawn, runs, pairs(options.palette), options.title), options.output)
    tidy.write(points(drawn), options.sidecar)


def collect(rows: list[published.Row], runs: pd.DataFrame, labels: dict[str, str]) -> Drawn:
    """Published rows by metric, peaks from the slowest to the fastest; measured peaks in TFLOP/s."""
    metrics = ("peak_throughput", *RELATIVE)
    chosen = {metric: [row for row in rows if row.metric == metric] for metric in metrics}
    chosen["peak_throughput"].sort(key=lambda row: float(row.value))
    measured = with_labels(peaks(runs), labels)
    for column in ("median", "low", "high"):
        measured[column] /= TERA
    return Drawn(chosen, measured)


def points(drawn: Drawn) -> pd.DataFrame:
    """One row a point: kind (published or measured), system, metric, value, interval, runs."""
    shown = [
        {"kind": "published", "system": row.system, "metric": metric, "value": float(row.value)}
        | {"unit": row.unit}
        for metric, rows in drawn.published.items()
        for row in rows
    ]
    names = {"label": "backend_label", "median": "value"}
    columns = ["backend", "label", "device", "machine", "precision", "size", "runs", "names"]
    measured = drawn.measured[[*columns, "median", "low", "high"]].rename(columns=names)
    measured = measured.assign(
        kind="measured", system="this machine", metric="peak_throughput", unit="TFLOP/s"
    )
    return pd.concat([pd.DataFrame(shown), measured], ignore_index=True)


def draw(drawn: Drawn, runs: pd.DataFrame, palette: dict[str, str], title: str) -> Figure:
    """The figure: peaks above, below what is published of GPU and TPU relative to a CPU."""
    here = list(drawn.measured.groupby(["machine", "device", "precision"], sort=False))
    rows = len(drawn.published["peak_throughput"]) + len(here)
    heights = [ROW * rows + 0.36, ROW * 1.5 * len(RELATIVE) + 0.36]
    about = runs.assign(**dict.fromkeys(NOT_HERE, pd.NA))
    handles = _handles(drawn, palette)
    frame = Frame(style.SINGLE, sum(heights), title, about, _remarks(drawn, runs), handles)
    above, below = frame.figure.subplots(2, 1, height_ratios=heights)
    _draw_peaks(above, drawn, here, palette)
    _draw_relative(below, drawn)
    return frame.figure


def _draw_peaks(
    axes: Axes, drawn: Drawn, here: list[tuple[tuple, pd.DataFrame]], palette: dict[str, str]
) -> None:
    rows = drawn.published["peak_throughput"]
    several = len({machine for (machine, _, _), _ in here}) > 1
    names = []
    for at, ((machine, device, precision), part) in enumerate(here):
        host = f"{machine.split(':')[0]}, " if several else ""
        names.append(f"measured here, {host}{device}, {precision}")
        axes.axhspan(at - 0.5, at + 0.5, color="#F1F1F1", linewidth=0)
        for number, (_, peak) in enumerate(part.iterrows()):
            look = {"color": style.color(palette, peak["backend"])}
            y = at + 0.24 * (number - (len(part) - 1) / 2)
            axes.hlines(y, peak["low"], peak["high"], linewidth=1, **look)
            marker = style.marker(palette, peak["backend"])
            axes.plot(peak["median"], y, marker, markersize=2.8, markeredgewidth=0, **look)
        _write(axes, part["median"].max(), at, (6, 0))
    for at, row in enumerate(rows, start=len(here)):
        names.append(row.system)
        axes.plot(float(row.value), at, KINDS["TPU"], **_PUBLISHED)
        _write(axes, float(row.value), at, (5, 0), "+" if "+" in row.note else "")
    _rows(axes, names)
    _log_axis(axes, [*drawn.measured["median"], *(float(row.value) for row in rows)], 120)
    axes.set_xlabel("peak throughput (TFLOP/s)")


def _draw_relative(axes: Axes, drawn: Drawn) -> None:
    """One row a metric, values divided by the CPU's."""
    shown = [1.0]
    for at, metric in enumerate(RELATIVE):
        values = {row.system: float(row.value) for row in drawn.published[metric]}
        for kind, value in values.items() if "CPU" in values else ():
            ratio = value / values["CPU"]
            shown.append(ratio)
            size = 8 if kind == "CPU" else _PUBLISHED["markersize"]
            axes.plot(ratio, at, KINDS.get(kind, "o"), **{**_PUBLISHED, "markersize": size})
            if kind != "CPU":
                _write(axes, ratio, at, (0, 6))  # beside it may stand the next marker
    _rows(axes, list(RELATIVE.values()))
    _log_axis(axes, shown, 4)
    axes.set_xlabel("as published, relative to a CPU (bar)")


_PUBLISHED = {
    "markerfacecolor": "white",
    "markeredgecolor": style.PUBLISHED,
    "markersize": 3.6,
    "markeredgewidth": 0.8,
}


def _log_axis(axes: Axes, values: list[float], room: float) -> None:
    """Decades, with room for the last value's text: up to `room` times its value."""
    axes.set_xscale("log")
    axes.set_xlim(min(values) / 2, max(values) * room)
    axes.xaxis.set_major_locator(LogLocator(numticks=6))
    axes.xaxis.set_minor_locator(NullLocator())


def _rows(axes: Axes, names: list[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="both")


def _write(
    axes: Axes, value: float, at: float, offset: tuple[float, float], more: str = ""
) -> None:
    number = f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
    text = axes.annotate(
        number + more,
        (value, at),
        xytext=offset,
        textcoords="offset points",
        va="center_baseline",
        ha="left" if offset[0] else "center",
        size=6,
    )
    text.set_in_layout(False)


def _handles(drawn: Drawn, palette: dict[str, str]) -> list[Line2D]:
    told = drawn.measured[["label", "backend"]].drop_duplicates()
    published_looks = {
        "TPU, vendor, as published": KINDS["TPU"],
        "GPU, as published": KINDS["GPU"],
    }
    return [
        *(
            Line2D([], [], linestyle="none", marker=marker, label=label, **_PUBLISHED)
            for label, marker in published_looks.items()
        ),
        *(
            Line2D(
                [],
                [],
                linestyle="none",
                marker=style.marker(palette, backend),
                markersize=3.2,
                color=style.color(palette, backend),
                label=label,
            )
            for label, backend in told.itertuples(index=False)
        ),
    ]


def _remarks(drawn: Drawn, runs: pd.DataFrame) -> list[str]:
    remarks = ["Published: vendors' peaks, precision not named."]
    if drawn.measured.empty:
        return [*remarks, "No peak was measured here."]
    return [
        *remarks,
        f"Measured: highest median over square products, {INTERVAL}, "
        f"n = {spread(drawn.measured['runs'])} timed runs; the number is the highest of its row.",
        "Normal random matrices.",
    ]


if __name__ == "__main__":
    main()
