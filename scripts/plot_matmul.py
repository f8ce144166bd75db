"""Draw the speed of matrix products against their size: one colour a backend, one panel a precision."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from paragone.analysis import tidy
from paragone.analysis.product_tables import NOT_HERE, SERIES, medians, peaks, spread, with_labels
from paragone.analysis.statistics import INTERVAL
from paragone.base.errors import entry_point
from paragone.reporting.drawing import style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.options import figure_parser, pairs

HEIGHT = 1.65  # inches a row of panels
DODGE = 1.09  # between series of one size, so that intervals stand side by side
STATUS = {
    "out_of_memory": "out of memory",
    "unavailable": "not available",
    "wrong": "wrong product",
}


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Draw the figure and write what it shows."""
    options = figure_parser(__doc__).parse_args(arguments)
    runs = tidy.read(options.runs)
    cases = points(runs, pairs(options.labels))
    style.save(draw(cases, runs, pairs(options.palette), options.title), options.output)
    tidy.write(cases, options.sidecar)


def points(runs: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    """One row a case: GFLOP/s (median, low, high), runs, and whether it is the series' peak."""
    cases = with_labels(medians(runs, "flops_per_second"), labels)
    found = peaks(runs).rename(columns={"size": "m"})[[*SERIES, "precision", "m"]]
    cases = cases.merge(found.assign(peak=True), how="left", on=[*SERIES, "precision", "m"])
    cases["peak"] = cases["peak"].eq(True) & cases["square"]
    for column in ("median", "low", "high"):
        cases[column] /= 1e9
    return cases.rename(columns={key: f"{key}_gflops" for key in ("median", "low", "high")})


def draw(cases: pd.DataFrame, runs: pd.DataFrame, palette: dict[str, str], title: str) -> Figure:
    """The figure; both axes logarithmic, the products that are no square to the right of the rest."""
    precisions = list(dict.fromkeys(cases["precision"]))
    positions = _positions(cases)
    looks = _looks(cases, palette)
    columns = min(2, len(precisions))
    rows = -(-len(precisions) // columns)
    about = runs.assign(**dict.fromkeys(NOT_HERE, pd.NA))
    height = HEIGHT * rows + 0.2
    frame = Frame(style.SINGLE, height, title, about, _remarks(cases, runs), _handles(looks))
    panels = frame.figure.subplots(rows, columns, sharey=True, squeeze=False).flat
    for axes, precision in zip(panels, precisions, strict=False):
        _dress(axes, precision, positions)
        axes.set_ylabel("GFLOP/s" if axes.get_subplotspec().is_first_col() else "")
        _draw_panel(axes, cases[cases["precision"] == precision], positions, looks)
    for axes in list(panels)[len(precisions) :]:
        axes.remove()
    return frame.figure


def _positions(cases: pd.DataFrame) -> dict[tuple[int, int, int], float]:
    """Where each shape stands: squares at their size's power of two, the others after them."""
    shapes = cases[["m", "k", "n", "square"]].drop_duplicates()
    sizes = sorted(int(size) for size in shapes.loc[shapes["square"], "m"])
    positions = {(size, size, size): float(size) for size in sizes}
    at = 1.7 * sizes[-1] if sizes else 1.0
    for shape in shapes.loc[~shapes["square"], ["m", "k", "n"]].itertuples(index=False):
        at *= 2.2
        positions[tuple(map(int, shape))] = at
        at *= 2.2
    return positions


def _looks(cases: pd.DataFrame, palette: dict[str, str]) -> dict[str, dict[str, str]]:
    """Colour of the backend, and a marker and line of its own for each of its series."""
    looks: dict[str, dict[str, str]] = {}
    number: dict[str, int] = {}
    for label, backend in cases[["label", "backend"]].drop_duplicates().itertuples(index=False):
        again = number.setdefault(backend, 0)
        number[backend] += 1
        looks[label] = {
            "color": style.color(palette, backend),
            "marker": style.marker(palette, backend),
            "linestyle": style.LINES[again % len(style.LINES)],
        }
    return looks


def _draw_panel(
    axes: Axes,
    cases: pd.DataFrame,
    positions: dict[tuple[int, int, int], float],
    looks: dict[str, dict[str, str]],
) -> None:
    missing = []
    for number, (label, part) in enumerate(cases.groupby("label", sort=False)):
        look = looks[label]
        aside = DODGE ** (number - (len(looks) - 1) / 2)
        part = part.assign(x=[positions[shape] * aside for shape in _shapes(part)])
        part = part.sort_values("x")
        shown = part[part["runs"] > 0]
        for square in (True, False):
            some = shown[shown["square"] == square]
            low = some["median_gflops"] - some["low_gflops"]
            high = some["high_gflops"] - some["median_gflops"]
            axes.errorbar(
                some["x"],
                some["median_gflops"],
                yerr=[low.fillna(0), high.fillna(0)],
                elinewidth=0.8,
                capsize=1.6,
                capthick=0.8,
                **{**look, "linestyle": look["linestyle"] if square else "none"},
            )
        top = shown[shown["peak"]]
        axes.plot(
            top["x"],
            top["median_gflops"],
            linestyle="none",
            marker="o",
            markersize=7,
            markerfacecolor="none",
            markeredgewidth=0.8,
            color=look["color"],
        )
        gone = part[part["runs"] == 0]
        if len(gone) == len(part):
            missing.append(f"{label}:\n{_words(gone)}")
        elif len(gone):
            axes.plot(
                gone["x"],
                [0.04] * len(gone),
                transform=axes.get_xaxis_transform(),
                linestyle="none",
                marker="x",
                color=look["color"],
            )
    if missing:
        axes.text(
            0.5,
            0.5 if len(missing) == cases["label"].nunique() else 0.06,
            "\n".join(missing),
            transform=axes.transAxes,
            ha="center",
            va="bottom",
            style="italic",
            size=6,
            color=style.ALARM,
        )


def _dress(axes: Axes, precision: str, positions: dict[tuple[int, int, int], float]) -> None:
    axes.set_title(precision, loc="left")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(list(positions.values()), [_name(shape) for shape in positions])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="x", labelsize=6)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(axis="y")
    squares = [at for (m, k, n), at in positions.items() if m == k == n]
    axes.set_xlim(
        min(positions.values()) / 1.4,
        max(positions.values()) * (1.4 if len(squares) == len(positions) else 3),
    )
    if squares and len(squares) < len(positions):
        axes.axvline(max(squares) * 1.55, color=style.FAINT, linewidth=0.6)
    axes.set_xlabel("side of the matrices")


def _name(shape: tuple[int, int, int]) -> str:
    m, k, n = shape
    if m == k == n:
        return f"{m // 1024}k" if m % 1024 == 0 else str(m)
    return f"({m},{k})\n@({k},{n})"


def _shapes(cases: pd.DataFrame) -> list[tuple[int, int, int]]:
    return [tuple(map(int, shape)) for shape in cases[["m", "k", "n"]].itertuples(index=False)]


def _handles(looks: dict[str, dict[str, str]]) -> list[Line2D]:
    handles = [Line2D([], [], label=label, **look) for label, look in looks.items()]
    ring = {"marker": "o", "markersize": 6, "markerfacecolor": "none", "markeredgewidth": 0.8}
    return [*handles, Line2D([], [], color=style.MUTED, linestyle="none", label="peak", **ring)]


def _remarks(cases: pd.DataFrame, runs: pd.DataFrame) -> list[str]:
    shown = cases.loc[cases["runs"] > 0, "runs"]
    interval = f"Median and {INTERVAL}" if shown.max() > 1 else "One run each, no interval"
    remarks = [
        f"{interval}, n = {spread(shown)} timed runs of one process.",
        "Peak: highest median over the squares.",
    ]
    # What is missing as a whole stands in its panel.
    some = cases.groupby(["label", "precision"])["runs"].transform("max") > 0
    gone = cases[(cases["runs"] == 0) & some]
    told = [
        f"{label}, {precision}, {_name(shape)}".replace("\n", " ") + f": {STATUS[status]}"
        for label, precision, status, shape in zip(
            gone["label"], gone["precision"], gone["status"], _shapes(gone), strict=True
        )
    ]
    if told:
        remarks.append(f"No speed (x): {'; '.join(told)}.")
    return [*remarks, "Normal random matrices."]


def _words(gone: pd.DataFrame) -> str:
    return ", ".join(STATUS[status] for status in dict.fromkeys(gone["status"]))


if __name__ == "__main__":
    main()
