"""Epoch time by replicas and batch size, published and measured, and the speed-up."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from paragone.analysis import run_states
from paragone.analysis.cells import Cell, epoch_seconds
from paragone.analysis.grouping import Series, series_of, shares_cores
from paragone.analysis.prediction import Reason
from paragone.analysis.published import Protocol
from paragone.reporting import footnotes
from paragone.reporting.drawing import bars, legend, style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.inputs import Inputs
from paragone.reporting.twin import Panel, Twin, long
from paragone.reporting.words import reason

PANELS = {
    "published": "published epoch time (s)",
    "measured": "measured epoch time (s)",
    "speed_up": "speed-up over one replica",
}


def points(inputs: Inputs) -> pd.DataFrame:
    """What is drawn: one row per bar and run, by panel; `_key` orders the categories.

    `extrapolated`: from steady throughput, because the epochs were shorter than `epoch_examples`.
    """
    whole = [one.epoch_examples for one in inputs.protocols.values() if one.epoch_examples]
    examples = whole[0] if whole else int(inputs.runs["train_examples"].max())
    found = _published(inputs)
    for sweep in inputs.sweeps():
        cells = series_of(sweep.runs, inputs.labels)
        base = _one_replica(cells)
        for one in cells:
            found += _measured(sweep.label, one, base, inputs.epochs, examples)
        if base is None and any(row["panel"] == "speed_up" for row in found):
            several = sorted(key for key in map(_key, cells) if key[0] > 1)
            found += [_words("speed_up", sweep.label, key, bars.NO_REFERENCE) for key in several]
    table = pd.DataFrame(found)
    table = table.reindex(columns=[*bars.COLUMNS, "epoch_examples", "extrapolated", "_key"])
    return table.sort_values("_key", kind="stable", ignore_index=True)


def _published(inputs: Inputs) -> list[dict]:
    shown = [("published", row, float(row.value), row.printed) for row in inputs.published]
    shown += [("speed_up", one.row, one.value, one.printed) for one in inputs.ratios]
    found = []
    for panel, row, value, printed in shown:
        protocol = inputs.protocols[row.system]
        replicas, batch = key = protocol.replicas, protocol.batch_of(row)
        if replicas is None or batch is None:
            continue  # the source leaves the cell open
        found.append(
            {**bars.published_row(panel, _category(replicas, batch), value, printed), "_key": key}
        )
    return found


def _measured(
    label: str, one: Series, base: Series | None, epochs: pd.DataFrame, examples: int
) -> list[dict]:
    key = _key(one)
    values = _seconds(one, epochs, examples)
    about = {
        "_key": key,
        "epoch_examples": examples,
        "extrapolated": not _cell(one, epochs, examples).whole_epochs() if len(values) else None,
    }
    words = run_states.no_speed(one.runs)
    names = one.measured.set_index("seed")["run"]
    rows = bars.bar_rows("measured", label, _category(*key), values.rename(names), words)
    if base is not None and key[0] > 1:
        ratios = (_seconds(base, epochs, examples) / values).dropna().rename(names)
        without = words or run_states.no_speed(base.runs) or ["no seed ran both"]
        rows += bars.bar_rows(
            "speed_up", label, _category(*key), ratios, [] if len(ratios) else without
        )
    return [{**row, **about} for row in rows]


def _words(panel: str, label: str, key: tuple[int, int], words: str) -> dict:
    return {**bars.bar_rows(panel, label, _category(*key), bars.NO_VALUES, [words])[0], "_key": key}


def _cell(one: Series, epochs: pd.DataFrame, examples: int) -> Cell:
    runs = one.measured.dropna(subset="steady_examples_per_second")
    protocol = Protocol(one.workload, {}, epoch_examples=examples)
    return Cell(runs, epochs[epochs["run"].isin(runs["run"])], protocol)


def _seconds(one: Series, epochs: pd.DataFrame, examples: int) -> pd.Series:
    """Seconds per epoch, by seed; empty when the series has no speed."""
    cell = _cell(one, epochs, examples)
    return epoch_seconds(cell) if len(cell.runs) else bars.NO_VALUES


def _one_replica(cells: list[Series]) -> Series | None:
    """What the others are faster than: one replica, the smallest batch."""
    single = [one for one in cells if _key(one)[0] == 1]
    return min(single, key=_key, default=None)


def _key(one: Series) -> tuple[int, int]:
    first = one.runs.iloc[0]
    return int(first["replicas"]), int(first["global_batch"])


def _category(replicas: int, batch: int) -> str:
    return f"{replicas} replica{'s' if replicas > 1 else ''}\nbatch {batch:,}"


def twin(points: pd.DataFrame) -> Twin:
    """The same panels."""
    rows = long(points.assign(x=points["x"].str.replace("\n", ", ")))
    axes = {name: Panel("replicas and global batch", title) for name, title in PANELS.items()}
    return Twin(
        rows, {name: panel for name, panel in axes.items() if (rows["panel"] == name).any()}
    )


def remarks(points: pd.DataFrame, inputs: Inputs) -> list[str]:
    """What limits a comparison, how the epoch times were obtained, and the interval."""
    runs = inputs.runs
    medians = points[(points["panel"] == "measured") & (points["kind"] == "median")]
    shared = shares_cores(runs) and runs["replicas"].max() > 1
    texts = [footnotes.SHARED_CORES] if shared else []
    here = set(points.loc[points["panel"] == "measured", "x"])
    there = dict.fromkeys(points.loc[points["panel"] == "published", "x"])
    if missing := [x.replace("\n", ", ") for x in there if x not in here]:
        texts.append(f"Published and not run here: {'; '.join(missing)}.")
    if there:
        advice = "" if shared else ": compare the speed-up, not the seconds"
        texts.append(f"Published on other hardware{advice}.")
    differences: dict[Reason, None] = {}
    for protocol in inputs.protocols.values():
        same = runs[(runs["workload"] == protocol.workload) & (runs["status"] == "completed")]
        if len(same):
            differences |= dict.fromkeys(Cell(same, inputs.epochs, protocol).other_input())
    texts += [f"{words[0].upper()}{words[1:]}." for words in map(reason, differences)]
    if len(medians):
        way = f"Measured: an epoch of {int(medians['epoch_examples'].iloc[0]):,} examples"
        short = medians["extrapolated"].astype(bool)
        if short.any():
            way += f", {'' if short.all() else 'partly '}extrapolated from the steady throughput"
        texts.append(f"{way}. Speed-up: by seed, over one replica of the smallest batch.")
    return [*texts, footnotes.repeats(medians["n"])]


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """The figure: published and measured epoch time, and the speed-up where both stand."""
    # Machines of one backend share its color, and stand apart.
    measured = {one.label: style.color(inputs.palette, one.backend) for one in inputs.sweeps()}
    published = {"published": bars.INKED}
    handles = [Patch(color=color, alpha=0.5, label=name) for name, color in measured.items()]
    if (points["kind"] == "published").any():
        handles.insert(0, Patch(color=bars.INKED, label="published"))
    if (points["kind"] == "run").any():
        handles += legend.over_bars()
    frame = Frame(style.DOUBLE, 1.9, inputs.title, inputs.runs, remarks(points, inputs), handles)
    colors = {"published": published, "measured": measured, "speed_up": {**published, **measured}}
    panels = {name: points[points["panel"] == name] for name in PANELS}
    panels = {name: here for name, here in panels.items() if len(here)}
    widths = [
        here["_key"].nunique() * max(1.4 + len(colors[name]), 3.4)  # room for the categories
        for name, here in panels.items()
    ]
    grid = frame.figure.subplots(1, len(panels), width_ratios=widths, squeeze=False)
    for axes, (name, here) in zip(grid[0], panels.items(), strict=True):
        used = {key: color for key, color in colors[name].items() if (here["series"] == key).any()}
        bars.draw_bars(axes, here, used, 2 if name == "speed_up" else 0)
        axes.set_ylabel(PANELS[name])
        if name == "speed_up":
            axes.axhline(1, color=style.MUTED, linewidth=0.8, linestyle=":")
    return frame.figure
