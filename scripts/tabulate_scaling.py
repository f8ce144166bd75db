"""Tabulate step time, speed-up and efficiency by replicas: CSV, Markdown and LaTeX."""

import pandas as pd

from paragone.analysis import run_states, tidy
from paragone.analysis.grouping import shares_cores
from paragone.analysis.scaling.measured import SHARED, points_of, scaling_kind, table_of
from paragone.base.errors import entry_point
from paragone.reporting import footnotes
from paragone.reporting.markup import WIDE, write_documents
from paragone.reporting.options import pairs, table_parser

SPEED_UP = (
    "Speed-up: examples/s over those of one replica, by seed. Efficiency: speed-up over replicas."
)


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Write the table in three formats."""
    parser = table_parser(__doc__)
    options = parser.parse_args(arguments)
    runs = tidy.read(options.runs)
    found = table_of(points_of(runs, pairs(options.labels)))
    remarks = [
        SPEED_UP,
        *([SHARED] if shares_cores(runs) else []),
        footnotes.data(runs),
        footnotes.machine(runs),
        *footnotes.isolation(runs),
        footnotes.repeats(found["n"].tolist()),
    ]
    if run_states.holds_synthetic(runs):
        remarks.insert(0, footnotes.SYNTHETIC + ".")
    tidy.write(found, options.csv)
    shown = _printed(found)
    title = f"{options.title} ({scaling_kind(runs)} scaling)"
    layout = f"{WIDE}rrr{WIDE * 3}r{WIDE}"
    write_documents(shown, title, layout, remarks, options.markdown, options.latex)


def _printed(found: pd.DataFrame) -> pd.DataFrame:
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
            "a replica": found["per_replica_batch"].map("{:,}".format),
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


if __name__ == "__main__":
    main()
