"""Draw epoch time by replicas and batch size, published and measured, and the speed-up."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from paragone.analysis import published, run_states, tidy
from paragone.analysis.grouping import Series, series_of, shares_cores, sweeps_of
from paragone.analysis.match_runs import Cell
from paragone.analysis.published import Protocol, Ratio, Row
from paragone.analysis.quantities import epoch_seconds
from paragone.base.errors import entry_point
from paragone.reporting import footnotes
from paragone.reporting.drawing import style
from paragone.reporting.drawing.bars import (
    COLUMNS,
    INKED,
    NO_REFERENCE,
    NOT_RUN,
    bar_rows,
    draw_bars,
    published_row,
)
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.options import figure_parser, pairs

PANELS = {
    "published": "published epoch time (s)",
    "measured": "measured epoch time (s)",
    "speed_up": "speed-up over one replica",
}


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Draw the figure and write what it shows."""
    parser = figure_parser(__doc__, epochs=True)
    parser.add_argument("--published", type=Path, required=True, help="published.csv")
    parser.add_argument("--protocols", type=Path, required=True, help="published conditions, CSV")
    parser.add_argument("--ratios", type=Path, required=True, help="ratios to compare, CSV")
    parser.add_argument("--published-experiment", default="", help="whose rows; empty for none")
    options = parser.parse_args(arguments)
    runs, epochs = tidy.read(options.runs), tidy.read(options.epochs)
    labels, experiment = pairs(options.labels), options.published_experiment
    rows, ratios, protocols = [], [], {}
    if experiment:
        rows = published.read_rows(options.published, experiment)
        protocols = published.read_protocols(options.protocols, experiment)
        ratios = published.read_ratios(options.ratios, experiment, rows)
    shown = points(runs, epochs, labels, rows, ratios, protocols)
    words = remarks(shown, runs, epochs, protocols)
    figure = draw(shown, runs, labels, pairs(options.palette), options.title, words)
    style.save(figure, options.output)
    tidy.write(shown.drop(columns="key"), options.sidecar)


def points(
    runs: pd.DataFrame,
    epochs: pd.DataFrame,
    labels: dict[str, str],
    rows: list[Row],
    ratios: list[Ratio],
    protocols: dict[str, Protocol],
) -> pd.DataFrame:
    """What is drawn: one row a bar and a run, by panel; `key` orders the categories.

    `extrapolated`: from steady throughput, because the epochs were shorter than `epoch_examples`.
    """
    whole = [one.epoch_examples for one in protocols.values() if one.epoch_examples]
    examples = whole[0] if whole else int(runs["train_examples"].max())
    found = []
    for row in rows:
        protocol = protocols[row.system]
        key = (protocol.replicas, row.global_batch(protocol))
        bar = published_row("published", _category(*key), float(row.value), row.printed)
        found.append({**bar, "key": key})
    for ratio in ratios:
        protocol = protocols[ratio.row.system]
        key = (protocol.replicas, ratio.row.global_batch(protocol))
        bar = published_row("speed_up", _category(*key), ratio.value, ratio.printed)
        found.append({**bar, "key": key})
    for sweep in sweeps_of(runs, labels):
        cells = series_of(sweep.runs, labels)
        base = _one_replica(cells)
        for one in cells:
            found += _measured(sweep.label, one, base, epochs, examples)
        run = {_key(one) for one in cells}
        for key in sorted({row["key"] for row in found} - run):
            panels = ["measured", *(["speed_up"] if key[0] > 1 else [])]
            found += _words(sweep.label, key, NOT_RUN, panels)
        if base is None and any(row["panel"] == "speed_up" for row in found):
            for key in sorted(key for key in run if key[0] > 1):
                found += _words(sweep.label, key, NO_REFERENCE, ["speed_up"])
    table = pd.DataFrame(found).reindex(columns=[*COLUMNS, "epoch_examples", "extrapolated", "key"])
    return table.sort_values("key", kind="stable", ignore_index=True)


def _measured(
    label: str, one: Series, base: Series | None, epochs: pd.DataFrame, examples: int
) -> list[dict]:
    key = _key(one)
    values = _seconds(one, epochs, examples)
    about = {
        "key": key,
        "epoch_examples": examples,
        "extrapolated": not _cell(one, epochs, examples).whole_epochs() if len(values) else None,
    }
    words = run_states.no_speed(one.runs)
    names = one.measured.set_index("seed")["run"]
    by_run = values.rename(names)
    rows = bar_rows("measured", label, _category(*key), by_run, words)
    if base is not None and one.runs["replicas"].iloc[0] > 1:
        ratios = (_seconds(base, epochs, examples) / values).dropna().rename(names)
        without = words or run_states.no_speed(base.runs) or ["no seed ran both"]
        words = [] if len(ratios) else without
        rows += bar_rows("speed_up", label, _category(*key), ratios, words)
    return [{**row, **about} for row in rows]


def _words(label: str, key: tuple[int, int], words: str, panels: list[str]) -> list[dict]:
    """A cell of which a backend has no value, and why."""
    about = {"series": label, "kind": "words", "words": words, "n": 0}
    return [{**about, "panel": panel, "x": _category(*key), "key": key} for panel in panels]


def _cell(one: Series, epochs: pd.DataFrame, examples: int) -> Cell:
    runs = one.measured.dropna(subset="steady_examples_per_second")
    protocol = Protocol(one.workload, {}, epoch_examples=examples)
    return Cell(runs, epochs[epochs["run"].isin(runs["run"])], protocol)


def _seconds(one: Series, epochs: pd.DataFrame, examples: int) -> pd.Series:
    """Seconds of an epoch, by seed; empty when the series has no speed."""
    cell = _cell(one, epochs, examples)
    return epoch_seconds(cell) if len(cell.runs) else pd.Series(dtype="float64")


def _one_replica(cells: list[Series]) -> Series | None:
    """What the others are faster than: one replica, the smallest batch."""
    single = [one for one in cells if _key(one)[0] == 1]
    return min(single, key=_key, default=None)


def _key(one: Series) -> tuple[int, int]:
    first = one.runs.iloc[0]
    return int(first["replicas"]), int(first["global_batch"])


def _category(replicas: int, batch: int) -> str:
    return f"{replicas} replica{'s' if replicas > 1 else ''}\nbatch {batch:,}"


def remarks(
    shown: pd.DataFrame,
    runs: pd.DataFrame,
    epochs: pd.DataFrame,
    protocols: dict[str, Protocol],
) -> list[str]:
    """What stands in the way of a comparison, how the epoch times came about, and the interval."""
    medians = shown[(shown["panel"] == "measured") & (shown["kind"] == "median")]
    shared = shares_cores(runs) and runs["replicas"].max() > 1
    texts = ["Replicas share the cores of one machine."] if shared else []
    if (shown["panel"] == "published").any():
        advice = "" if shared else ": compare the speed-up, not the seconds"
        texts.append(f"Published on other hardware{advice}.")
    inputs: dict[str, None] = {}
    for protocol in protocols.values():
        same = runs[(runs["workload"] == protocol.workload) & (runs["status"] == "completed")]
        if len(same):
            inputs |= dict.fromkeys(Cell(same, epochs, protocol).other_input())
    texts += [f"{words[0].upper()}{words[1:]}." for words in inputs]
    if len(medians):
        examples = f"{int(medians['epoch_examples'].iloc[0]):,}"
        short = medians["extrapolated"].astype(bool)
        way = f"Measured: an epoch of {examples} examples"
        if short.any():
            shortest = epochs["examples"].min()
            way += (
                f", {'' if short.all() else 'partly '}extrapolated from the steady throughput of "
                f"epochs of {shortest:,} or more"
            )
        texts.append(f"{way}. Speed-up: by seed, over one replica of the smallest batch.")
    counts = [int(n) for n in medians["n"]]
    return [*texts, footnotes.repeats(counts)]


def draw(
    shown: pd.DataFrame,
    runs: pd.DataFrame,
    labels: dict[str, str],
    palette: dict[str, str],
    title: str,
    words: list[str],
) -> Figure:
    """The figure: published and measured epoch time, and the speed-up where both stand."""
    colors = {
        one.label: style.color(palette, one.backend) for one in sweeps_of(runs, labels)
    }  # machines of one backend share its colour, and stand apart
    panels = [name for name in PANELS if (shown["panel"] == name).any()]
    legend = [Patch(color=color, alpha=0.5, label=name) for name, color in colors.items()]
    if (shown["kind"] == "published").any():
        legend.insert(0, Patch(color=INKED, label="published"))
    if (shown["kind"] == "run").any():
        grey = {"color": style.INK, "linestyle": "none"}
        legend.append(Line2D([], [], marker="o", markersize=1.8, label="one run", **grey))
        legend.append(Line2D([], [], color=style.INK, linewidth=0.9, label="95 % interval"))
    frame = Frame(style.DOUBLE, 1.9, title, runs, words, legend)
    sizes = [shown.loc[shown["panel"] == name, "key"].nunique() for name in panels]
    bars = [len(colors) + (name == "speed_up") for name in panels]
    widths = [
        size * max(1.4 + (bar if name != "published" else 1), 3.4)  # room for the categories
        for name, size, bar in zip(panels, sizes, bars, strict=True)
    ]
    grid = frame.figure.subplots(1, len(panels), width_ratios=widths, squeeze=False)
    for axes, name in zip(grid[0], panels, strict=True):
        here = shown[shown["panel"] == name]
        used = {"published": INKED, **colors} if name == "speed_up" else colors
        used = {"published": INKED} if name == "published" else used
        used = {key: value for key, value in used.items() if (here["series"] == key).any()}
        xs = list(dict.fromkeys(here["x"]))
        draw_bars(axes, here, xs, used, 2 if name == "speed_up" else 0)
        axes.set_ylabel(PANELS[name])
        if name == "speed_up":
            axes.axhline(1, color=style.MUTED, linewidth=0.8, linestyle=":")
    return frame.figure


if __name__ == "__main__":
    main()
