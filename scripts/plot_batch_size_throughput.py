"""Draw throughput by batch size: the published bars, those measured beside, and both relative."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from paragone.analysis import published, run_states, tidy
from paragone.analysis.grouping import BY_BATCH, Series, series_of, sweeps_of
from paragone.analysis.published import Row
from paragone.base.errors import entry_point
from paragone.reporting import footnotes
from paragone.reporting.drawing import style
from paragone.reporting.drawing.bars import (
    COLUMNS,
    INKED,
    NOT_RUN,
    bar_rows,
    draw_bars,
    published_row,
)
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.options import figure_parser, pairs

ACROSS = 3  # panels a row


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Draw the figure and write what it shows."""
    parser = figure_parser(__doc__)
    parser.add_argument("--published", type=Path, required=True, help="published.csv")
    parser.add_argument("--protocols", type=Path, required=True, help="published conditions, CSV")
    parser.add_argument("--published-experiment", default="", help="whose rows; empty for none")
    options = parser.parse_args(arguments)
    runs, labels = tidy.read(options.runs), pairs(options.labels)
    rows, model = [], {}
    if experiment := options.published_experiment:
        rows = published.read_rows(options.published, experiment)
        rows = [row for row in rows if row.metric == "throughput" and row.batch]
        protocols = published.read_protocols(options.protocols, experiment)
        model = {key: text for row in rows for key, text in protocols[row.system].model.items()}
    shown = points(runs, labels, rows)
    words = remarks(runs, shown, model)
    style.save(
        draw(shown, runs, labels, pairs(options.palette), options.title, words), options.output
    )
    tidy.write(shown, options.sidecar)


def points(runs: pd.DataFrame, labels: dict[str, str], rows: list[Row]) -> pd.DataFrame:
    """What is drawn: one row a bar, run or point. Panel `relative`: over the smallest batch that
    the published chart and the backend have in common, by seed; else over the backend's smallest."""
    found = [published_row("published", str(r.batch), float(r.value), r.printed) for r in rows]
    smallest = min((row.batch for row in rows), default=None)
    if rows:
        base = next(row for row in rows if row.batch == smallest)
        found += [
            published_row("relative", str(r.batch), float(r.value) / float(base.value), r.printed)
            for r in rows
        ]
    for sweep in sweeps_of(runs, labels, *BY_BATCH):
        cells = series_of(sweep.runs, labels)
        base = _base(cells, smallest)
        about = {"panel": "measured", "series": sweep.label, "kind": "words", "words": NOT_RUN}
        holes = {row.batch for row in rows} - {_batch(one) for one in cells}
        found += [{**about, "x": str(batch), "n": 0} for batch in sorted(holes)]
        for one in cells:
            about = {
                "series": sweep.label,
                "x": str(_batch(one)),
                "words": run_states.no_speed(one.runs),
            }
            found += bar_rows("measured", values=_by_run(one, _speeds(one)), **about)
            if base is not None:
                ratios = _by_run(one, (_speeds(one) / _speeds(base)).dropna())
                found += bar_rows("relative", values=ratios, **about)
    table = pd.DataFrame(found).reindex(columns=COLUMNS)
    return table.sort_values("x", kind="stable", key=lambda x: x.astype(int), ignore_index=True)


def _batch(one: Series) -> int:
    return int(one.runs["global_batch"].iloc[0])


def _speeds(one: Series) -> pd.Series:
    """Steady examples/s of the completed runs, by seed."""
    return one.measured.set_index("seed")["steady_examples_per_second"].dropna()


def _by_run(one: Series, values: pd.Series) -> pd.Series:
    return values.rename(one.measured.set_index("seed")["run"])


def _base(cells: list[Series], batch: int | None) -> Series | None:
    speedy = [one for one in cells if len(_speeds(one))]
    same = [one for one in speedy if _batch(one) == batch]
    return same[0] if same else min(speedy, key=_batch, default=None)


def remarks(runs: pd.DataFrame, shown: pd.DataFrame, model: dict[str, str]) -> list[str]:
    """Interval, and what the published chart was measured with."""
    found = ["Steady: epochs after the first of each process, without evaluation."]
    if (shown["panel"] == "published").any():
        found.append("Published on other hardware: compare the shape, not the height.")
    settings = sorted(set(runs["model_settings"].dropna()))
    others = [
        f"{key} {here}, published {there}"
        for key, there in model.items()
        for here in sorted({published.settings(text).get(key, "not set") for text in settings})
        if here != there
    ]
    if others:
        found.append(f"Not the published model: {'; '.join(others)}.")
    medians = shown[(shown["panel"] == "measured") & (shown["kind"] == "median")]
    return [*found, footnotes.repeats([int(n) for n in medians["n"]])]


def draw(
    shown: pd.DataFrame,
    runs: pd.DataFrame,
    labels: dict[str, str],
    palette: dict[str, str],
    title: str,
    words: list[str],
) -> Figure:
    """The figure: one bar chart a system over the same batch sizes, and all relative in one."""
    sweeps = sweeps_of(runs, labels, *BY_BATCH)
    colors = {one.label: style.color(palette, one.backend) for one in sweeps}
    xs = list(dict.fromkeys(shown["x"]))
    charts = [*(["published"] if (shown["panel"] == "published").any() else []), *colors]
    deep = -(-(len(charts) + 1) // ACROSS)
    handles = []
    if (shown["kind"] == "run").any():
        grey = {"color": style.INK, "linestyle": "none"}
        handles.append(Line2D([], [], marker="o", markersize=1.8, label="one run", **grey))
        handles.append(Line2D([], [], color=style.INK, linewidth=0.9, label="95 % interval"))
    frame = Frame(style.DOUBLE, 1.75 * deep, title, runs, words, handles)
    grid = frame.figure.add_gridspec(deep, ACROSS)
    for at, name in enumerate(charts):
        axes = frame.figure.add_subplot(grid[divmod(at, ACROSS)])
        panel = "published" if name == "published" else "measured"
        here = shown[(shown["panel"] == panel) & (shown["series"] == name)]
        draw_bars(axes, here, xs, {name: {"published": INKED, **colors}[name]}, None)
        axes.set_title("published" if panel == "published" else name, loc="left")
        axes.set_ylabel("examples/s")
        _name_batches(axes)
    row, column = divmod(len(charts), ACROSS)
    axes = frame.figure.add_subplot(grid[row, column:])  # what is left of the last row
    relative = shown[shown["panel"] == "relative"]
    _draw_relative(axes, relative, xs, _looks(sweeps, palette))
    return frame.figure


def _looks(sweeps: list[Series], palette: dict[str, str]) -> dict[str, dict]:
    """By label: colour and marker of the backend, the line by its number among the backend's."""
    published = {"color": style.PUBLISHED, "marker": "*", "markersize": 5.5, "linestyle": "--"}
    looks = {"published": published}
    for at, one in enumerate(sweeps):
        number = sum(other.backend == one.backend for other in sweeps[:at])
        looks[one.label] = {
            "color": style.color(palette, one.backend),
            "marker": style.marker(palette, one.backend),
            "linestyle": style.LINES[number % len(style.LINES)],
        }
    return looks


def _draw_relative(
    axes: Axes,
    shown: pd.DataFrame,
    xs: list[str],
    looks: dict[str, dict],
) -> None:
    ones = shown[(shown["value"] == 1) & shown["kind"].isin(["published", "median"])]
    bases = dict(zip(ones["series"], ones["x"], strict=True))
    base = bases.get("published") or next(iter(bases.values()), "")
    for place, (name, look) in enumerate(looks.items()):
        here = shown[(shown["series"] == name) & shown["kind"].isin(["published", "median"])]
        if here.empty:
            continue
        here = here.set_index("x").reindex(xs)  # no line across batches without a value
        at = [position + 0.08 * (place - len(looks) / 2) for position in range(len(xs))]
        label = name if bases.get(name) == base else f"{name} (to batch {bases.get(name)})"
        axes.plot(at, here["value"], linewidth=0.9, label=label, **look)
        axes.vlines(at, here["low"], here["high"], color=look["color"], linewidth=0.9)
    axes.set_title(f"relative to batch {base}", loc="left")
    axes.set_ylabel("throughput ratio")
    axes.set_xticks(range(len(xs)), xs)
    axes.set_xlim(-0.5, len(xs) - 0.5)
    axes.grid(axis="y")
    if axes.lines:
        rows = -(-len(axes.lines) // 2)
        top = axes.get_ylim()[1] / (1 - min(0.12 * rows, 0.5))  # room for the legend, at most half
        axes.set_ylim(0, top)
        spaces = {"handlelength": 1.8, "labelspacing": 0.25, "borderaxespad": 0.2}
        axes.legend(loc="upper left", ncols=2, **spaces)
    _name_batches(axes)


def _name_batches(axes: Axes) -> None:
    axes.set_xlabel("batch size (examples)")
    if len(axes.get_xticks()) > 6:
        axes.tick_params(axis="x", labelsize=5.5)


if __name__ == "__main__":
    main()
