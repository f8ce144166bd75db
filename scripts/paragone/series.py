"""Which runs belong together: repeats of one cell on one machine and one edition of the data.

Figures and comparisons keep one row, curve or column a series, so records of different machines,
or of real and synthetic data, can never be pooled.
"""

from dataclasses import dataclass

import pandas as pd

_KEYS = [
    "workload",
    "backend",
    "replicas",
    "global_batch",
    "data_source",
    "data_edition",
    "machine",
]


@dataclass(frozen=True)
class Series:
    """Runs that differ only by seed. `label` is unique within the figure or table."""

    label: str
    backend: str
    number: int  # 0 for the backend's first series; later ones need another marker or line
    runs: pd.DataFrame

    @property
    def measured(self) -> pd.DataFrame:
        """The completed runs: the only ones that enter a median."""
        return self.runs[self.runs["status"] == "completed"]


def series_of(runs: pd.DataFrame, labels: dict[str, str]) -> list[Series]:
    """The series of an experiment's runs, in the order of `labels`, then of backend name.

    A label is the backend's, followed by what tells its series apart from each other, and by the
    replicas wherever backends of one experiment differ in them. A run that stopped before it read
    its data counts to the edition that the others have read, when there is just one.
    """
    editions = runs[["data_source", "data_edition"]].drop_duplicates().dropna()
    if len(editions) == 1:
        runs = runs.fillna(editions.iloc[0].to_dict())
    order = [*labels, *sorted(set(runs["backend"]) - set(labels))]
    groups = [part for _, part in runs.groupby(_KEYS, sort=True, dropna=False)]
    groups.sort(key=lambda part: order.index(part["backend"].iloc[0]))  # stable
    shown = [key for key in _KEYS[2:] if _varies_within_backend(runs, key)]
    if len(set(runs["replicas"])) > 1 and "replicas" not in shown:
        shown.insert(0, "replicas")
    numbers: dict[str, int] = {}
    result = []
    for part in groups:
        first = part.iloc[0]
        number = numbers.setdefault(first["backend"], 0)
        numbers[first["backend"]] += 1
        details = [_detail(key, first[key]) for key in shown]
        name = labels.get(first["backend"], first["backend"])
        label = f"{name} ({', '.join(details)})" if details else name
        result.append(Series(label, first["backend"], number, part.reset_index(drop=True)))
    return result


def _varies_within_backend(runs: pd.DataFrame, key: str) -> bool:
    pairs = runs[["backend", key]].drop_duplicates()
    return bool(pairs["backend"].duplicated().any())


def _detail(key: str, value: object) -> str:
    if pd.isna(value):
        return "no data read"
    match key:
        case "replicas":
            return f"{value} replica" if value == 1 else f"{value} replicas"
        case "global_batch":
            return f"batch {value:,}"
        case "data_source":
            return "SYNTHETIC DATA" if value == "synthetic" else f"{value} data"
        case "data_edition":
            return f"edition {value}"
        case _:
            return f"on {value}"
