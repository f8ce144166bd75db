"""Tables of measured runs: speed-up by replicas, and the spread of outcomes over seeds."""

import pandas as pd

from paragone.analysis.grouping import shares_cores
from paragone.analysis.published import OUTCOMES, spread_of
from paragone.analysis.scaling import SHARED, scaling_kind, scaling_table
from paragone.reporting import footnotes, words
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import Table

SPEED_UP = (
    "Speed-up: examples/s over those of one replica, by contest or seed. "
    "Efficiency: speed-up over replicas."
)


def scaling(inputs: Inputs) -> Table:
    """Show step time, speed-up and efficiency: one row per backend and number of replicas."""
    runs = inputs.runs
    rows = scaling_table(runs, inputs.labels, inputs.windows)
    shared = [SHARED] if shares_cores(runs) else []
    remarks = [
        *footnotes.about(runs, SPEED_UP, *shared),
        footnotes.repeats(rows["n"], inputs.series),
    ]
    texts = {
        name: [_interval(row, column, factor, digits) for _, row in rows.iterrows()]
        for name, column, factor, digits in (
            ("step (ms)", "step_seconds", 1e3, 1),
            ("speed-up", "speed_up", 1, 2),
            ("efficiency", "efficiency", 1, 2),
        )
    }
    cells = pd.DataFrame(
        {
            "backend": rows["series"],
            "replicas": rows["replicas"].astype(str),
            "batch": words.batches(rows),
            "per replica": rows["per_replica_batch"].map("{:,}".format),
            **texts,
            "ideal": rows["ideal"].astype(str),
            "devices": rows["devices"],
        }
    )
    title = f"{inputs.title} ({scaling_kind(runs)} scaling)"
    return Table(rows, title, remarks, cells, runs=rows["runs"])


def _interval(row: pd.Series, column: str, factor: float, digits: int) -> str:
    value, low, high = (factor * row[f"{column}{end}"] for end in ("", "_low", "_high"))
    if pd.isna(value):
        return row["words"] or "-"
    return words.with_interval(f"{{:,.{digits}f}}", value, None if low == high else low, high)


def spread(inputs: Inputs) -> Table:
    """Show outcomes of runs that differ by seed: mean and standard deviation over seeds.

    The CSV file has one row per run and epoch, as spread.csv of a paper.
    """
    rows = spread_of(inputs.runs, inputs.epochs)
    groups = rows.groupby(["workload", "epoch"])
    cells = groups["seed"].count().rename("n").to_frame()
    outcomes = [name for name in OUTCOMES if name in rows]
    for name in outcomes:
        mean, deviation = groups[name].mean(), groups[name].std()
        cells[name] = mean.map("{:.4f}".format) + " ± " + deviation.map("{:.4f}".format)
    remarks = footnotes.about(inputs.runs, "Mean ± standard deviation over n seeds.")
    return Table(rows, inputs.title, remarks, cells.reset_index().astype(str))
