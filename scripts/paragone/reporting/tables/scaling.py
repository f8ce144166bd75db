"""Step time, speed-up and efficiency by replicas."""

import pandas as pd

from paragone.analysis.grouping import shares_cores
from paragone.analysis.scaling import SHARED, points_of, scaling_kind, table_of
from paragone.reporting import footnotes
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import WIDE, Block, Table

SPEED_UP = (
    "Speed-up: examples/s over those of one replica, by seed. Efficiency: speed-up over replicas."
)


def table(inputs: Inputs) -> Table:
    """One row per backend and number of replicas."""
    runs = inputs.runs
    found = table_of(points_of(runs, inputs.labels))
    shared = [SHARED] if shares_cores(runs) else []
    remarks = [*footnotes.about(runs, SPEED_UP, *shared), footnotes.repeats(found["n"])]
    block = Block(_cells(found), f"{WIDE}rrr{WIDE * 3}r{WIDE}")
    return Table(found, f"{inputs.title} ({scaling_kind(runs)} scaling)", remarks, [block])


def _cells(found: pd.DataFrame) -> pd.DataFrame:
    texts = {
        name: [_text(row, column, scale, digits) for _, row in found.iterrows()]
        for name, column, scale, digits in (
            ("step (ms)", "step_seconds", 1e3, 1),
            ("speed-up", "speed_up", 1, 2),
            ("efficiency", "efficiency", 1, 2),
        )
    }
    return pd.DataFrame(
        {
            "backend": found["series"],
            "replicas": found["replicas"].astype(str),
            "batch": found["global_batch"].map("{:,}".format),
            "per replica": found["per_replica_batch"].map("{:,}".format),
            **texts,
            "ideal": found["ideal"].astype(str),
            "devices": found["devices"],
        }
    )


def _text(row: pd.Series, column: str, scale: float, digits: int) -> str:
    value, low, high = (scale * row[f"{column}{end}"] for end in ("", "_low", "_high"))
    if pd.isna(value):
        return row["words"] or "-"
    interval = "" if pd.isna(low) or low == high else f" [{low:,.{digits}f}, {high:,.{digits}f}]"
    return f"{value:,.{digits}f}{interval}"
