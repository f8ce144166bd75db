"""What the interactive twin of a figure shows: the same points as rows of one shape."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

MEDIAN, RUN, PUBLISHED, MODEL = "median", "run", "published", "model"
KINDS = (MEDIAN, RUN, PUBLISHED, MODEL)
COLUMNS = ["panel", "series", "kind", "x", "value", "low", "high", "n", "runs"]


@dataclass(frozen=True)
class Panel:
    """One pair of axes: what they show, with units. `log_x`: powers on a logarithmic axis."""

    x_title: str
    y_title: str
    log_x: bool = False
    heading: str = ""


@dataclass(frozen=True)
class Twin:
    """Rows with `COLUMNS` and the panels that they belong to, by name.

    `kind` is one of `KINDS`; `low` and `high` bound the interval where there is one; `runs` names the runs
    behind a point. `x` is a number, or text on an axis of categories.
    """

    rows: pd.DataFrame
    panels: dict[str, Panel]


def long(points: pd.DataFrame, **names: str) -> pd.DataFrame:
    """Points as rows of a twin. `names`: by column of the twin, that of the points, where it has another."""
    sources = {column: names.get(column, column) for column in COLUMNS}
    found = {column: points[name] for column, name in sources.items() if name in points}
    return pd.DataFrame(found).reindex(columns=COLUMNS).dropna(subset=["x", "value"])


def wide(points: pd.DataFrame, values: Sequence[str], **names: str) -> pd.DataFrame:
    """The same of points with a column per panel, and the bounds of its interval in `_low` and `_high`."""
    parts = [
        long(points.assign(panel=name), value=name, low=f"{name}_low", high=f"{name}_high", **names)
        for name in values
    ]
    return pd.concat(parts, ignore_index=True)
