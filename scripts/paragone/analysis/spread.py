"""The committed spread: how much losses and accuracies vary over seeds at the published protocols.

A published number is one run, and a default can afford few; from these alone an interval would be
useless. As MLPerf has reference convergence points, published/spread.csv has each outcome of 20 runs
that differ by seed alone.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import scipy

from paragone.analysis.statistics import CONFIDENCE
from paragone.base.errors import UserError

OUTCOMES = ["train_loss", "train_accuracy", "test_loss", "test_accuracy"]
PROTOCOL = ["workload", "backend", "data_edition", "global_batch", "steps"]
COLUMNS = [*PROTOCOL, "seed", "epoch", *OUTCOMES, "final_weights"]
Published = dict[tuple[str, int], float]  # by metric and epoch


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
        """One outcome, by seed; empty where the runs ended before the epoch."""
        return self.rows[self.rows["epoch"] == epoch].set_index("seed")[metric]

    def inside(self, published: Published) -> tuple[int, float]:
        """How many published outcomes lie where 95 % of runs would, and how odd that is.

        The second is the share of runs, the published one among them, with as few inside or fewer, each
        held against all the others: an exact p value, however the outcomes of a run are correlated.
        """
        found = pd.DataFrame({key: self.values(*key) for key in published}).reset_index(drop=True)
        found.loc[len(found)] = pd.Series(published)
        counts = [_inside(found.loc[one], found.drop(one)) for one in found.index]
        return counts[-1], sum(count <= counts[-1] for count in counts) / len(counts)


def _inside(one: pd.Series, others: pd.DataFrame) -> int:
    n = len(others)
    half = scipy.stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * others.std() * math.sqrt(1 + 1 / n)
    return int(((one - others.mean()).abs() <= half).sum())


def read(path: Path) -> dict[str, Spread]:
    """The committed spread by workload. Raises `UserError` if the file is none."""
    try:
        table = pd.read_csv(path)[COLUMNS].astype(dict.fromkeys(OUTCOMES, "float64"))
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: not a table of spreads ({error})") from None
    return {str(name): Spread(rows) for name, rows in table.groupby("workload")}


def of(runs: pd.DataFrame, epochs: pd.DataFrame) -> pd.DataFrame:
    """The rows of spread.csv made from completed `runs` and their `epochs`."""
    completed = runs.loc[runs["status"] == "completed", ["run", "data_edition", "final_weights"]]
    rows = epochs.merge(completed, on="run").sort_values(["workload", "seed", "epoch"])
    rows["final_weights"] = rows["final_weights"].str[:16]  # enough to recognize a run
    return rows[COLUMNS].reset_index(drop=True)
