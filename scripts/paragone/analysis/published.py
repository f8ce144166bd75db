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
        """Return whether these epochs have the spread's protocol: its global batch and steps."""
        return all(
            set(epochs[name].astype(int)) == set(self.rows[name])
            for name in ("global_batch", "steps")
        )

    def values(self, metric: str, epoch: int) -> pd.Series:
        """Return one outcome, by seed; empty where the runs ended before the epoch, or do not have it."""
        if metric not in self.rows:
            return pd.Series(dtype="float64")
        return self.rows[self.rows["epoch"] == epoch].set_index("seed")[metric]

    def inside(self, published: dict[tuple[str, int], float]) -> tuple[int, int, int]:
        """Count the published outcomes that lie where 95 % of runs would, and the runs that have as few.

        published: values by metric and epoch. The second number counts the runs, the published one among
        them, that have as few inside or fewer, each held against all the others; the third, all runs.
        Their ratio is an exact p value, however the outcomes of a run are correlated.
        """
        runs = pd.DataFrame({key: self.values(*key) for key in published}).reset_index(drop=True)
        runs.loc[len(runs)] = pd.Series(published)
        counts, n = [], len(runs) - 1
        for row in runs.index:
            rest = runs.drop(row)
            half = scipy.stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * rest.std()
            apart = (runs.loc[row] - rest.mean()).abs()
            counts.append(int((apart <= half * math.sqrt(1 + 1 / n)).sum()))
        return counts[-1], sum(count <= counts[-1] for count in counts), len(counts)


def read_spreads(path: Path) -> dict[str, Spread]:
    """Return the committed spreads by workload, if there is the file. Raise `UserError` if it is no table."""
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
    """Return the rows of spread.csv for completed `runs` and their `epochs`."""
    completed = runs.loc[runs["status"] == "completed", ["run", "data_edition", "final_weights"]]
    rows = epochs.merge(completed, on="run").sort_values(["workload", "seed", "epoch"])
    rows["final_weights"] = rows["final_weights"].str[:16]  # enough to recognize a run
    outcomes = [name for name in OUTCOMES if name in rows and rows[name].notna().any()]
    return rows[[*_SPREAD[:-1], *outcomes, _SPREAD[-1]]].reset_index(drop=True)


def settings(text: str) -> dict[str, str]:
    """Decode `"a=1; b=x"`."""
    return dict(part.strip().split("=", 1) for part in text.split(";") if part.strip())
