"""The published numbers, the protocols they were measured under, ratios of them, and the committed spread.

A published number is one run, and a default can afford few; from these alone an interval would be useless. As
MLPerf has reference convergence points, published/spread.csv has each outcome of 20 runs that differ by seed
alone, at the published protocols.
"""

import math
import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
import pandas as pd
import scipy

from paragone.analysis.statistics import CONFIDENCE
from paragone.base.errors import UserError

LOWER, UPPER = "lower", "upper"  # kinds of stated bounds
Values = TypeVar("Values", float, pd.Series)
Made = TypeVar("Made")
_BOUNDS = {"": "", LOWER: "over ", UPPER: "under "}
OUTCOMES = ["train_loss", "train_accuracy", "test_loss", "test_accuracy"]
_PROTOCOL = ["workload", "backend", "data_edition", "global_batch", "steps"]
_SPREAD = [*_PROTOCOL, "seed", "epoch", *OUTCOMES, "final_weights"]
_SECONDS = {"s": 1.0, "ms": 1e-3}  # of the units of published times


@dataclass(frozen=True)
class Row:
    """One published number and what the source says of it.

    `value` is as printed, with so many `decimals`. `bound` is `LOWER` or `UPPER` where the
    source states a bound, else empty. The number holds after `epoch`, which is the end of the run where
    `final`. The batch of a step is stated over all replicas or per replica, or not at all. `condition` and
    `note` are prose for readers.
    """

    metric: str
    condition: str
    system: str
    value: str
    unit: str = ""
    note: str = ""
    bound: Literal["", "lower", "upper"] = ""
    epoch: int | None = None
    final: bool = False
    global_batch: int | None = None
    per_replica_batch: int | None = None
    decimals: int | None = None

    @property
    def rounding(self) -> float:
        """Half a unit of the last printed digit: the published outcome is that near to `number`."""
        decimals = len(self.value.partition(".")[2]) if self.decimals is None else self.decimals
        return 0.5 * 10.0**-decimals

    @property
    def number(self) -> float:
        """The value as a number."""
        return float(self.value)

    @property
    def seconds(self) -> float:
        """A published time in seconds; raises `KeyError` for a value that is no time."""
        return self.number * _SECONDS[self.unit]

    @property
    def printed(self) -> str:
        """Value and unit, as the source states them."""
        unit = "" if self.unit in ("fraction", "count") else f" {self.unit}"
        return f"{_BOUNDS[self.bound]}{self.value}{unit}"


@dataclass(frozen=True)
class Protocol:
    """The published conditions of one system; None where the source does not state one.

    `workload`: the variant of this project that does what the source did. `model`: relevant settings of
    the model. `epoch_examples`: training examples per epoch. `training_time`: what a published training
    time covers, "whole run" or "fit call". `input_shape`: of an example, such as "224 x 224 x 3". The
    embedding of the published model has `vocabulary` words of `parameters_per_word` parameters.
    `second_workload`: another variant, which explains numbers that differ from those of the first.
    `device`, `precision` and `m`, `k`, `n`: of a published product of matrices (m, k) @ (k, n).
    """

    workload: str = ""
    model: dict[str, str] = field(default_factory=dict)
    replicas: int | None = None
    global_batch: int | None = None
    steps_per_epoch: int | None = None
    epoch_examples: int | None = None
    training_time: str = ""
    input_shape: str = ""
    vocabulary: int | None = None
    parameters_per_word: int | None = None
    device: str = ""
    precision: str = ""
    m: int | None = None
    k: int | None = None
    n: int | None = None
    second_workload: str = ""

    def batch_of(self, row: Row) -> int | None:
        """Examples per step over all replicas of a published row; None where it is not stated."""
        if row.per_replica_batch is not None:
            return row.per_replica_batch * (self.replicas or 1)
        return row.global_batch if row.global_batch is not None else self.global_batch


@dataclass(frozen=True)
class Ratio:
    """`row` over `reference`, both of one published experiment: meaningful on any hardware."""

    name: str
    row: Row
    reference: Row
    inverse: bool  # reference / row: a shorter time is a higher ratio

    def of(self, row: Values, reference: Values) -> Values:
        """The ratio of two values, or of two series of values."""
        return reference / row if self.inverse else row / reference

    @property
    def value(self) -> float:
        """The published ratio."""
        return self.of(self.row.number, self.reference.number)

    @property
    def rounding(self) -> float:
        """How far the log of the ratio may be off, as both numbers are rounded."""
        return sum(row.rounding / row.number for row in (self.row, self.reference))

    @property
    def system(self) -> str:
        """The system, or both if they differ."""
        return " against ".join(dict.fromkeys([self.row.system, self.reference.system]))

    @property
    def condition(self) -> str:
        """The condition of the row, over that of the reference."""
        return f"{self.row.condition}, over {self.reference.condition}"

    @property
    def printed(self) -> str:
        """The ratio and the two numbers that it is computed from."""
        pair = self.row.value, self.reference.value
        return f"{self.value:.2f} = {' / '.join(reversed(pair) if self.inverse else pair)}"


@dataclass(frozen=True)
class Margin:
    """A difference that does not matter, fixed beforehand: a `share` of the range between chance and the
    best, or a `ratio` above 1."""

    kind: Literal["share", "ratio"]
    margin: float

    def of(self, reach: float) -> float:
        """The margin of an outcome that learning moves by `reach` from chance to the best, or not at all."""
        return self.margin * max(reach, 0.0)


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

    def inside(self, published: dict[tuple[str, int], float]) -> tuple[int, int, int]:
        """How many published outcomes lie where 95 % of runs would, and how odd that is.

        published: values by metric and epoch. Second and third: how many of how many runs, the published one
        among them, have as few inside or fewer, each held against all the others. Their ratio is an exact p
        value, however the outcomes of a run are correlated.
        """
        found = pd.DataFrame({key: self.values(*key) for key in published}).reset_index(drop=True)
        found.loc[len(found)] = pd.Series(published)
        counts = [_inside(found.loc[row], found.drop(row)) for row in found.index]
        return counts[-1], sum(count <= counts[-1] for count in counts), len(counts)


def _inside(row: pd.Series, others: pd.DataFrame) -> int:
    n = len(others)
    half = scipy.stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * others.std() * math.sqrt(1 + 1 / n)
    return int(((row - others.mean()).abs() <= half).sum())


def read_margins(path: Path) -> dict[str, Margin]:
    """The margins by metric. Raises `UserError` if the file is none."""
    table = _read(path, "metric", "kind", "margin")
    return {row["metric"]: _made(path, Margin, row) for _, row in table.iterrows()}


def read_rows(path: Path, experiment: str) -> list[Row]:
    """The published rows of one experiment, in file order. Raises `UserError` if there is none."""
    table = _of_experiment(path, experiment, *(field.name for field in fields(Row)))
    if table.empty:
        raise UserError(
            f"{path}: no row of experiment {experiment!r}; correct `published` in the config"
        )
    rows = [_made(path, Row, row, final=row["final"] == "yes") for _, row in table.iterrows()]
    for row in rows:
        if not re.fullmatch(r"-?\d+(\.\d+)?", row.value):
            raise UserError(f"{path}: {row.value!r} is no number")
    return rows


def read_protocols(path: Path, experiment: str) -> dict[str, Protocol]:
    """The protocol of each system of one experiment. Raises `UserError` if it is none."""
    protocols = {}
    for _, row in _of_experiment(path, experiment, "system", "model").iterrows():
        try:
            model = settings(row["model"])
        except ValueError:
            raise UserError(
                f"{path}: model {row['model']!r} of {row['system']} is not of the form key=value; key=value"
            ) from None
        protocols[row["system"]] = _made(path, Protocol, row, model=model)
    return protocols


def read_ratios(path: Path, experiment: str, rows: list[Row]) -> list[Ratio]:
    """The ratios of `rows` that ratios.csv lists. Raises `UserError` if a row is missing."""
    ratios = []
    needs = "metric", "name", "reference_system", "reference_batch", "formula"
    for _, line in _of_experiment(path, experiment, *needs).iterrows():
        of_metric = [row for row in rows if row.metric == line["metric"]]
        system, batch = line["reference_system"], line["reference_batch"]
        reference = next(
            (row for row in of_metric if (row.system, str(row.global_batch)) == (system, batch)),
            None,
        )
        if reference is None:
            raise UserError(
                f"{path}: no published {line['metric']} of {experiment} on {system!r} "
                f"with global batch {batch}"
            )
        ratios += [
            Ratio(line["name"], row, reference, line["formula"] == "reference / row")
            for row in of_metric
            if row is not reference
        ]
    return ratios


def read_flaws(path: Path, experiment: str) -> list[str]:
    """Known errors and gaps in the sources of one experiment, one sentence each."""
    return _of_experiment(path, experiment, "flaw")["flaw"].tolist()


def read_sources(folder: Path) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The known flaws of all sources, and what the sources are: pairs of a source's key and a sentence."""
    flaws = _read(folder / "flaws.csv", "source", "flaw")[["source", "flaw"]].drop_duplicates()
    sources = _read(folder / "sources.csv", *(keys := ["source", "description"]))[keys]
    return [(key, text) for key, text in flaws.to_numpy()], [(k, t) for k, t in sources.to_numpy()]


def read_spreads(path: Path) -> dict[str, Spread]:
    """The committed spread by workload. Raises `UserError` if the file is none."""
    try:
        table = pd.read_csv(path)[_SPREAD].astype(dict.fromkeys(OUTCOMES, "float64"))
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: not a table of spreads ({error})") from None
    return {str(name): Spread(rows) for name, rows in table.groupby("workload")}


def spread_of(runs: pd.DataFrame, epochs: pd.DataFrame) -> pd.DataFrame:
    """The rows of spread.csv made from completed `runs` and their `epochs`."""
    completed = runs.loc[runs["status"] == "completed", ["run", "data_edition", "final_weights"]]
    rows = epochs.merge(completed, on="run").sort_values(["workload", "seed", "epoch"])
    rows["final_weights"] = rows["final_weights"].str[:16]  # enough to recognize a run
    return rows[_SPREAD].reset_index(drop=True)


def settings(text: str) -> dict[str, str]:
    """`"a=1; b=x"` as a dictionary."""
    return dict(part.strip().split("=", 1) for part in text.split(";") if part.strip())


def _of_experiment(path: Path, experiment: str, *needs: str) -> pd.DataFrame:
    table = _read(path, "experiment", *needs)
    return table[table["experiment"] == experiment]


def _made(path: Path, kind: type[Made], row: pd.Series, **values: object) -> Made:
    """A row of a file as a dataclass, with its defaults for empty cells; `values` go first."""
    try:
        return msgspec.convert({**row[row != ""], **values}, kind, strict=False)
    except ValueError as error:
        raise UserError(f"{path}: {error}, in the row {', '.join(row[row != ''][:4])}") from None


def _read(path: Path, *needs: str) -> pd.DataFrame:
    try:
        table = pd.read_csv(path, dtype="string", keep_default_na=False)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read as CSV ({error})") from None
    for name in needs:
        if name not in table:
            raise UserError(f"{path}: has no column {name!r}")
    return table
