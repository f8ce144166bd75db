"""The published accelerators by peak throughput, with this machine's measured peaks among them."""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from paragone.analysis.product_tables import NOT_HERE, peaks, spread, with_labels
from paragone.analysis.published import LOWER
from paragone.analysis.statistics import INTERVAL
from paragone.reporting import style
from paragone.reporting.inputs import Inputs
from paragone.reporting.interactive import MEDIAN, Chart, Panel, long
from paragone.reporting.marks import legend_mark, make_room, name_rows, write
from paragone.reporting.style import Frame

ROW = 0.165  # inches
TERA = 1e12
PEAK = "peak_throughput"
# Published comparisons of CPU, GPU and TPU: metric, what its row is called.
RELATIVE = {
    "operations_per_cycle": "operations per cycle",
    "performance_per_watt": "performance per watt",
    "inferences_per_second": "inferences per second",
}
METRICS = (PEAK, *RELATIVE)
KINDS = {"CPU": "|", "GPU": "s", "TPU": "D"}  # every published peak is a TPU's
PUBLISHED = {
    "markerfacecolor": "white",
    "markeredgecolor": style.PUBLISHED,
    "markersize": 3.6,
    "markeredgewidth": 0.8,
}


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per point: kind (published or measured), system, metric, value, interval, runs.

    Peaks are in the order from the slowest to the fastest published; measured ones in TFLOP/s.
    """
    rows = [row for row in inputs.published if row.metric in METRICS]
    rows.sort(key=lambda row: (METRICS.index(row.metric), row.number if row.metric == PEAK else 0))
    shown = [
        {"kind": "published", "system": row.system, "metric": row.metric, "value": row.number}
        | {"unit": row.unit, "_more": "+" if row.bound == LOWER else ""}
        for row in rows
    ]
    measured = with_labels(peaks(inputs.products), inputs.labels)
    for column in ("median", "low", "high"):
        measured[column] /= TERA
    names = {"label": "backend_label", "median": "value"}
    columns = ["backend", "label", "device", "machine", "precision", "size", "runs", "names"]
    measured = measured[[*columns, "median", "low", "high"]].rename(columns=names)
    about = {"kind": "measured", "system": "this machine", "metric": PEAK, "unit": "TFLOP/s"}
    return pd.concat([pd.DataFrame(shown), measured.assign(**about)], ignore_index=True)


def chart(points: pd.DataFrame) -> Chart:
    """Return a chart of the published and the measured peaks."""
    peaks = points[points["metric"] == PEAK]
    here = peaks["kind"] == "measured"
    precision = "this machine, " + peaks["precision"].astype(str)
    rows = peaks.drop(columns="runs").assign(
        panel=PEAK,
        x=peaks["system"].mask(here, precision),
        series=peaks["backend_label"].where(here, "published"),
        kind=peaks["kind"].where(~here, MEDIAN),
        n=peaks["runs"],
    )
    axes = Panel("accelerator", "peak throughput (TFLOP/s)")
    return Chart(long(rows, runs="names"), {PEAK: axes})


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """Draw the peaks and, below, what is published of GPU and TPU relative to a CPU."""
    measured = points[points["kind"] == "measured"]
    published = points[points["kind"] == "published"]
    rows = published[published["metric"] == PEAK]
    names, backends = measured["backend_label"], measured["backend"]
    styles = style.series_styles(names, backends, inputs.palette, linestyle="none")
    here = [part for _, part in measured.groupby(["machine", "device", "precision"], sort=False)]
    heights = [ROW * (len(rows) + len(here)) + 0.36, ROW * 1.5 * len(RELATIVE) + 0.36]
    about = inputs.products.assign(**dict.fromkeys(NOT_HERE, pd.NA))
    handles = [
        legend_mark("TPU, vendor, as published", **{**PUBLISHED, "marker": KINDS["TPU"]}),
        legend_mark("GPU, as published", **{**PUBLISHED, "marker": KINDS["GPU"]}),
        *(legend_mark(name, markersize=3.2, **own) for name, own in styles.items()),
    ]
    remarks = _remarks(measured)
    frame = Frame(style.SINGLE, sum(heights), inputs.title, about, remarks, handles)
    above, below = frame.figure.subplots(2, 1, height_ratios=heights)
    _draw_peaks(above, rows, here, styles)
    _draw_relative(below, published)
    return frame.figure


def _draw_peaks(
    axes: Axes, rows: pd.DataFrame, here: list[pd.DataFrame], styles: dict[str, dict]
) -> None:
    several = len({part["machine"].iloc[0] for part in here}) > 1
    names, texts, values = [], [], rows["value"].tolist()
    for at, part in enumerate(here):
        first = part.iloc[0]
        host = first["machine"].partition(":")[0].partition(" = ")[0]  # or the label of a bundle
        names.append(
            f"{host if several else 'measured here'}, {first['device']}, {first['precision']}"
        )
        axes.axhspan(at - 0.5, at + 0.5, color="#F1F1F1", linewidth=0)
        for number, peak in enumerate(part.to_dict("records")):
            own = styles[peak["backend_label"]]
            y = at + 0.24 * (number - (len(part) - 1) / 2)
            axes.hlines(y, peak["low"], peak["high"], linewidth=1, color=own["color"])
            axes.plot(peak["value"], y, markersize=2.8, markeredgewidth=0, **own)
        values += part["value"].tolist()
        texts.append(_write(axes, part["value"].max(), at, (6, 0)))
    for at, row in enumerate(rows.to_dict("records"), start=len(here)):
        names.append(row["system"])
        axes.plot(row["value"], at, KINDS["TPU"], **PUBLISHED)
        texts.append(_write(axes, row["value"], at, (5, 0), row["_more"]))
    name_rows(axes, names)
    _log_axis(axes, values)
    make_room(axes, texts)
    axes.set_xlabel("peak throughput (TFLOP/s)")


def _draw_relative(axes: Axes, published: pd.DataFrame) -> None:
    """Draw one row per metric, its values divided by the CPU's."""
    shown = [1.0]
    for at, metric in enumerate(RELATIVE):
        values = published[published["metric"] == metric].set_index("system")["value"]
        for kind, value in values.items() if "CPU" in values else ():
            ratio = value / values["CPU"]
            shown.append(ratio)
            size = 8 if kind == "CPU" else PUBLISHED["markersize"]
            axes.plot(ratio, at, KINDS.get(kind, "o"), **{**PUBLISHED, "markersize": size})
            if kind != "CPU":
                _write(axes, ratio, at, (0, 6))  # the next marker may be to its right
    name_rows(axes, list(RELATIVE.values()))
    _log_axis(axes, shown)
    axes.set_xlabel("as published, relative to a CPU (bar)")


def _log_axis(axes: Axes, values: list[float]) -> None:
    axes.grid(axis="both")
    axes.set_xscale("log")
    axes.set_xlim(min(values) / 2, max(values) * 4)
    axes.xaxis.set_major_locator(LogLocator(numticks=6))
    axes.xaxis.set_major_formatter(FuncFormatter(_power))
    axes.xaxis.set_minor_locator(NullLocator())


def _power(value: float, _: object) -> str:
    exponent = f"{round(math.log10(value))}"
    return "10" + exponent.translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _write(
    axes: Axes, value: float, at: float, offset: tuple[float, float], more: str = ""
) -> Annotation:
    number = f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
    side = "left" if offset[0] else "center"
    return write(axes, number + more, (value, at), offset, va="center_baseline", ha=side, size=6)


def _remarks(measured: pd.DataFrame) -> list[str]:
    published = "Published: vendors' peaks, precision not named."
    if measured.empty:
        return [published, "No peak was measured here."]
    return [
        published,
        f"Measured: highest median over square products, {INTERVAL}, "
        f"n = {spread(measured['runs'])} timed runs; the number is the highest of its row.",
        "Normal random matrices.",
    ]
