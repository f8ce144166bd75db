"""The epochs that a source prints beside the measured ones."""

from typing import Any

import pandas as pd

from paragone.analysis.cells import QUANTITIES, Missing, pick
from paragone.analysis.grouping import Series
from paragone.analysis.published import Protocol, Row
from paragone.analysis.statistics import summarize
from paragone.base.errors import UserError
from paragone.reporting import footnotes, words
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import TINY, WIDE, Block, Table

# As the sources print them, with the digits shown.
METRICS = {
    "step_time": ("ms/step", 1),
    "train_loss": ("training loss", 4),
    "train_accuracy": ("training accuracy", 4),
    "test_loss": ("test loss", 4),
    "test_accuracy": ("test accuracy", 4),
}
PUBLISHED = "published"
MEASURED = "Measured: medians over runs (seeds); the CSV file has intervals, n and names of runs."


def table(inputs: Inputs) -> Table:
    """One block per published system: one row per epoch, published and measured values side by side.

    Raises `UserError` if nothing is published by epoch.
    """
    rows = [row for row in inputs.published if row.metric in METRICS and row.epoch is not None]
    if not rows:
        raise UserError(
            f"published experiment {inputs.published_experiment!r} has no values by epoch"
        )
    found, missing = long_table(rows, inputs.protocols, inputs.sweeps(), inputs.epochs)
    counts = [len(one.measured) for one in inputs.series]
    remarks = [*footnotes.about(inputs.runs, MEASURED, *missing), footnotes.repeats(counts)]
    blocks = [
        _block(system, inputs.title, wide(part))
        for system, part in found.groupby("system", sort=False)
    ]
    return Table(found, f"{inputs.title}: epoch by epoch", remarks, blocks)


def long_table(
    rows: list[Row], protocols: dict[str, Protocol], sweeps: list[Series], epochs: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """One row per published or measured value, with `n`, interval and runs; and what has no value."""
    found: list[dict[str, Any]] = []
    missing: dict[str, None] = {}  # in order, each once
    for row in rows:
        about = {"system": row.system, "epoch": row.epoch, "metric": row.metric}
        found.append({**about, "source": PUBLISHED, "value": float(row.value)})
        for one in sweeps:
            quantity = QUANTITIES[row.metric]
            try:
                cell = pick(row, protocols[row.system], one.runs, epochs, exact=quantity.exact)
                values = quantity.values(cell, row)
            except Missing as reason:
                why = words.reason(reason.reason)
                missing[f"{one.label}, beside {row.system}: {why}."] = None
                continue
            if quantity.remark(cell, row):  # a value of another epoch
                continue
            for other in cell.other_replicas(row):
                missing[f"{one.label}, beside {row.system}: {words.reason(other)}."] = None
            summary = {**vars(summarize(values)), "runs": " ".join(cell.runs["run"])}
            summary["value"] = summary.pop("median")
            found.append({**about, "source": one.label, **summary})
    columns = ["system", "epoch", "metric", "source", "value", "low", "high", "n", "runs"]
    return pd.DataFrame(found).reindex(columns=columns), list(missing)


def wide(found: pd.DataFrame) -> pd.DataFrame:
    """One row per epoch; columns (metric, source), published first; values as text."""
    metrics = [name for name in METRICS if (found["metric"] == name).any()]
    sources = list(dict.fromkeys(found["source"]))  # published first
    values = found.pivot_table(
        index="epoch", columns=["metric", "source"], values="value", sort=False, dropna=False
    )
    columns = [(name, source) for name in metrics for source in sources if (name, source) in values]
    shown = pd.DataFrame(index=values.index.astype(int))
    for name, source in columns:
        title, digits = METRICS[name]
        shown[title, source] = [
            "-" if pd.isna(value) else f"{value:,.{digits}f}" for value in values[name, source]
        ]
    shown.columns = pd.MultiIndex.from_tuples(shown.columns)
    return shown.sort_index().reset_index(names="epoch")


def _block(system: str, title: str, cells: pd.DataFrame) -> Block:
    return Block(
        cells,
        "r" + WIDE * (cells.shape[1] - 1),
        heading=f"Published: {system}",
        caption=f"{title}. Published on: {system}.",
        size=TINY,
    )
