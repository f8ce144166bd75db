"""The committed spread by which a published number is judged.

A published number is one run, and a default can afford few; from these alone an interval would be useless. As
MLPerf has reference convergence points, spread.csv in the folder of a paper has each outcome of 20 runs that
differ by seed alone, at the published protocols.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import scipy

from paragone.analysis.statistics import CONFIDENCE
from paragone.base.errors import UserError
from paragone.tasks import METRICS

OUTCOMES = [f"{split}_{name}" for split in ("train", "test") for name in METRICS]
_PROTOCOL = ["workload", "backend", "data_edition", "global_batch", "steps"]
_SPREAD = [*_PROTOCOL, "seed", "epoch", "final_weights"]


@dataclass(frozen=True)
class Spread:
    """The runs of one workload: rows as in spread.csv."""

    rows: pd.DataFrame

    @property
    def backend(self) -> str:
        """The backend that was run, and that judges published numbers."""
        return str(self.rows["backend"].iloc[0])

    def fits(self, epochs: pd.DataFrame) -> bool:
        """Whether these epochs are of the spread's protocol: its global batch and steps."""
        return all(
            set(epochs[name].astype(int)) == set(self.rows[name])
            for name in ("global_batch", "steps")
        )

    def values(self, metric: str, epoch: int) -> pd.Series:
        """One outcome, by seed; empty where the runs ended before the epoch, or have no such outcome."""
        if metric not in self.rows:
            return pd.Series(dtype="float64")
        return self.rows[self.rows["epoch"] == epoch].set_index("seed")[metric]

    def inside(self, published: dict[tuple[str, int], float]) -> tuple[int, int, int]:
        """How many published outcomes lie where 95 % of runs would, and how odd that is.

        published: values by metric and epoch. Second and third: how many of how many runs, the published one
        among them, have as few inside or fewer, each held against all the others. Their ratio is an exact p
        value, however the outcomes of a run are correlated.
        """
        found = pd.DataFrame({key: self.values(*key) for key in published}).reset_index(drop=True)
        found.loc[len(found)] = pd.Series(published)
        counts, n = [], len(found) - 1
        for row in found.index:
            others = found.drop(row)
            half = scipy.stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * others.std()
            apart = (found.loc[row] - others.mean()).abs()
            counts.append(int((apart <= half * math.sqrt(1 + 1 / n)).sum()))
        return counts[-1], sum(count <= counts[-1] for count in counts), len(counts)


def read_spreads(path: Path) -> dict[str, Spread]:
    """The committed spread by workload, none without the file. Raises `UserError` if it is no such table."""
    if not path.exists():
        return {}
    try:
        table = pd.read_csv(path)
        outcomes = [name for name in OUTCOMES if name in table]
        table = table[[*_SPREAD, *outcomes]].astype(dict.fromkeys(outcomes, "float64"))
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: not a table of spreads ({error})") from None
    return {str(name): Spread(rows) for name, rows in table.groupby("workload")}


def spread_of(runs: pd.DataFrame, epochs: pd.DataFrame) -> pd.DataFrame:
    """The rows of spread.csv made from completed `runs` and their `epochs`."""
    completed = runs.loc[runs["status"] == "completed", ["run", "data_edition", "final_weights"]]
    rows = epochs.merge(completed, on="run").sort_values(["workload", "seed", "epoch"])
    rows["final_weights"] = rows["final_weights"].str[:16]  # enough to recognize a run
    outcomes = [name for name in OUTCOMES if name in rows and rows[name].notna().any()]
    return rows[[*_SPREAD[:-1], *outcomes, _SPREAD[-1]]].reset_index(drop=True)


def settings(text: str) -> dict[str, str]:
    """`"a=1; b=x"` as a dictionary."""
    return dict(part.strip().split("=", 1) for part in text.split(";") if part.strip())
