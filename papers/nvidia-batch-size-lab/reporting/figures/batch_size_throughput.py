"""Throughput by batch size, published and measured, and both relative to the smallest batch."""

import pandas as pd
from matplotlib.figure import Figure

from paragone.analysis import grouping
from paragone.analysis.grouping import BY_BATCH, series_of
from paragone.config.numbers import Row
from paragone.reporting import footnotes, marks, style
from paragone.reporting.inputs import Inputs

BATCH = "batch size (examples)"
APART = 0.08  # of series at one batch size, so that their intervals do not overlap


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per bar and run.

    Panel `relative` is over the smallest published batch, by seed, or over the smallest of a backend that did
    not run it.
    """
    records, rows = [], _published(inputs)
    smallest = min(rows, key=lambda row: row.global_batch or 0, default=None)
    for panel, unit in (("published", 1.0), ("relative", smallest.number if smallest else 1.0)):
        records += [
            marks.published_row(panel, r.global_batch, r.number / unit, r.printed) for r in rows
        ]
    for sweep in inputs.sweeps(*BY_BATCH):
        cells = series_of(sweep.runs, inputs.labels, inputs.rounds)
        speedy = [cell for cell in cells if len(cell.speeds)]
        peers = [cell for cell in speedy if smallest and cell.global_batch == smallest.global_batch]
        base = next(iter(peers or sorted(speedy, key=lambda cell: cell.global_batch)), None)
        for cell in cells:
            place = sweep.label, sweep.backend, cell.global_batch
            wording = grouping.not_timed(cell)
            records += marks.bar_rows("measured", *place, cell.by_name(cell.speeds), wording)
            if base is not None:
                ratios = (cell.speeds / base.speeds).dropna()
                records += marks.bar_rows("relative", *place, cell.by_name(ratios), wording)
    table = pd.DataFrame(records).reindex(columns=marks.BAR_COLUMNS)
    return table.sort_values("x", kind="stable", ignore_index=True)


def _published(inputs: Inputs) -> list[Row]:
    return [row for row in inputs.numbers.rows if row.metric == "throughput" and row.global_batch]


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """Draw the throughput of all systems over the same batch sizes, and below relative to one of them."""
    styles = marks.cell_styles(points, inputs.sweeps(*BY_BATCH), inputs.palette)
    medians = points[(points["panel"] == "measured") & (points["kind"] == "median")]
    remarks = [footnotes.speeds(inputs.series), footnotes.repeats(medians["n"], inputs.series)]
    if "published" in styles:
        remarks.append("Published on other hardware: compare the shapes, not the heights.")
    drawn = points[points["kind"].isin(["published", "median", "words"])]
    is_relative = drawn["panel"] == "relative"
    ones = drawn[is_relative & (drawn["value"] == 1)]
    bases = dict(zip(ones["series"], ones["x"], strict=True))
    base = bases.get("published") or next(iter(bases.values()), "")
    handles = [
        marks.legend_line(
            name if bases.get(name, base) == base else f"{name} (to batch {bases[name]})", **look
        )
        for name, look in styles.items()
    ]
    if points["low"].notna().any():
        handles.append(marks.legend_line("95 % interval", color=style.MUTED, linewidth=0.9))
    frame = style.Frame(style.SINGLE, 2.6, inputs.title, inputs.runs, remarks, handles)
    speeds, ratios = frame.subplots(2, 1, sharex=True)
    marks.draw_cells(speeds, drawn[~is_relative], styles, APART, "examples/s")
    marks.draw_cells(ratios, drawn[is_relative & (drawn["kind"] != "words")], styles, APART, "x")
    speeds.set_ylabel("examples/s")
    if not marks.scale(speeds, drawn.loc[~is_relative, "value"].astype(float)):
        speeds.set_ylim(bottom=0)
        marks.plain_numbers(speeds.yaxis)
    ratios.set_ylabel(f"relative to batch {base}")
    ratios.set_ylim(bottom=0)
    ratios.set_xlabel(BATCH)
    return frame
