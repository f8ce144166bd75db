"""The published numbers: one row per number, the protocol it was measured under, ratios of them."""

import math
import re
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from paragone.base.errors import UserError

Values = TypeVar("Values", float, pd.Series)
_SECONDS = {"s": 1.0, "ms": 1e-3}  # of the units of published times


@dataclass(frozen=True)
class Protocol:
    """The published conditions of one system; None where the source does not state one.

    `workload`: the variant of this project that does what the source did. `model`: relevant settings of
    the model. `epoch_examples`: training examples per epoch. `training_time`: what a published training
    time covers, "whole run" or "fit call". `input_shape`: of an example, such as "224 x 224 x 3". The
    embedding of the published model has `vocabulary` words of `parameters_per_word` parameters. `loader`:
    that of this project which reads as the published program does; empty where it has arrays in memory.
    """

    workload: str
    model: dict[str, str]
    replicas: int | None = None
    global_batch: int | None = None
    steps_per_epoch: int | None = None
    epoch_examples: int | None = None
    training_time: str = ""
    input_shape: str = ""
    vocabulary: int | None = None
    parameters_per_word: int | None = None
    loader: str = ""


@dataclass(frozen=True)
class Row:
    """One published number. `epoch`: the epoch after which it holds; `final`: at the end of the run.

    `batch`: the batch size in the condition, per core if `batch_per_core`.
    """

    metric: str
    condition: str
    system: str
    value: str  # as printed
    unit: str
    note: str
    tolerance: float  # half a unit of the last digit that the source prints for this metric
    epoch: int | None
    final: bool
    batch: int | None = None
    batch_per_core: bool = False

    @property
    def quantity(self) -> str:
        """The metric, or `target_accuracy` for an accuracy that is a target, not a result."""
        return "target_accuracy" if self.condition == "target" else self.metric

    @property
    def lower_bound(self) -> bool:
        """Whether the source states the value as a lower bound."""
        return re.search(r'stated as ("over|a lower bound)', self.note) is not None

    @property
    def seconds(self) -> float:
        """A published time in seconds; `KeyError` for what is no time."""
        return float(self.value) * _SECONDS[self.unit]

    @property
    def printed(self) -> str:
        """Value and unit, as the source states them."""
        unit = "" if self.unit in ("fraction", "count") else f" {self.unit}"
        return f"{'over ' if self.lower_bound else ''}{self.value}{unit}"

    def global_batch(self, protocol: Protocol) -> int | None:
        """Examples per step over all replicas; None where the source does not state it."""
        if self.batch is None:
            return protocol.global_batch
        return self.batch * (protocol.replicas or 1) if self.batch_per_core else self.batch


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
        return self.of(float(self.row.value), float(self.reference.value))

    @property
    def rounding(self) -> tuple[float, float]:
        """The least and the largest ratio within the rounding of the two published values."""
        above, below = (
            (float(one.value) - one.tolerance, float(one.value) + one.tolerance)
            for one in (self.row, self.reference)
        )
        corners = [self.of(row, reference) for row, reference in product(above, below)]
        return min(corners), max(corners)

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


_OF_ROW = ["metric", "condition", "system", "value", "unit", "note"]


@dataclass(frozen=True)
class Margin:
    """A difference that does not matter, fixed beforehand: a `difference`, a `share` of the published
    value, or a `ratio` above 1."""

    kind: str
    margin: float

    def of(self, published: float) -> float:
        """The margin of a published value, in its unit."""
        return self.margin * abs(published) if self.kind == "share" else self.margin


def read_margins(path: Path) -> dict[str, Margin]:
    """The margins by metric. Raises `UserError` if the file is none."""
    table = _read(path, "metric", "kind", "margin")
    margins = table["margin"].map(lambda text: _number(path, text))
    if wrong := set(table["kind"]) - {"difference", "share", "ratio"}:
        raise UserError(f"{path}: {wrong.pop()!r} is no kind: difference, share or ratio")
    made = map(Margin, table["kind"], margins)
    return dict(zip(table["metric"].astype(str), made, strict=True))


def read_rows(path: Path, experiment: str) -> list[Row]:
    """The published rows of one experiment, in file order. Raises `UserError` if there is none."""
    table = _of_experiment(path, experiment, *_OF_ROW)
    if table.empty:
        raise UserError(
            f"{path}: no row of experiment {experiment!r}; correct `published` in the config"
        )
    for value in table["value"]:
        _number(path, value)
    # The sources print a metric with a fixed number of decimals; the CSV file drops final zeros.
    decimals = table["value"].str.extract(r"\.(\d+)", expand=False).fillna("").str.len()
    decimals = decimals.groupby([table["metric"], table["system"]]).transform("max")
    return [
        Row(
            **row[_OF_ROW],
            **_parsed(row["condition"]),
            tolerance=0.5 * 10.0 ** -int(decimals[index]),
        )
        for index, row in table.iterrows()
    ]


def read_protocols(path: Path, experiment: str) -> dict[str, Protocol]:
    """The protocol of each system of one experiment. Raises `UserError` if it is none."""
    table = _of_experiment(path, experiment)
    counts = "replicas global_batch steps_per_epoch epoch_examples vocabulary parameters_per_word"
    try:
        return {
            row["system"]: Protocol(
                row["workload"],
                settings(row["model"]),
                training_time=row["training_time"],
                input_shape=row["input_shape"],
                loader=row["loader"],
                **{name: int(row[name]) if row[name] else None for name in counts.split()},
            )
            for _, row in table.iterrows()
        }
    except (KeyError, ValueError) as error:
        raise UserError(f"{path}: not a table of protocols ({error})") from None


def read_experiments(path: Path) -> list[str]:
    """The experiments that a file of protocols has, in its order."""
    return list(dict.fromkeys(_read(path, "experiment")["experiment"]))


def read_ratios(path: Path, experiment: str, rows: list[Row]) -> list[Ratio]:
    """The ratios of `rows` that ratios.csv lists. Raises `UserError` if a row is missing."""
    ratios = []
    needs = "metric", "name", "reference", "formula"
    for _, line in _of_experiment(path, experiment, *needs).iterrows():
        of_metric = [row for row in rows if row.metric == line["metric"]]
        # The first: the row of one replica comes before those of two under the same condition.
        reference = next((r for r in of_metric if r.condition == line["reference"]), None)
        if reference is None:
            raise UserError(
                f"{path}: no published {line['metric']} of {experiment} under the condition "
                f"{line['reference']!r}"
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


def settings(text: str) -> dict[str, str]:
    """`"a=1; b=x"` as a dictionary."""
    return dict(part.strip().split("=", 1) for part in text.split(";") if part.strip())


def _of_experiment(path: Path, experiment: str, *needs: str) -> pd.DataFrame:
    table = _read(path, "experiment", *needs)
    return table[table["experiment"] == experiment]


def _number(path: Path, text: str) -> float:
    try:
        if math.isfinite(number := float(text)):
            return number
    except ValueError:
        pass
    raise UserError(f"{path}: {text!r} is no number")


def _read(path: Path, *needs: str) -> pd.DataFrame:
    try:
        table = pd.read_csv(path, dtype="string", keep_default_na=False)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read as CSV ({error})") from None
    for name in needs:
        if name not in table:
            raise UserError(f"{path}: has no column {name!r}")
    return table


def _parsed(condition: str) -> dict[str, Any]:
    within = re.search(r"(?<!after )epoch (\d+)$", condition)
    after = re.search(r"after epoch (\d+)$|(\d+) epochs$", condition)
    epoch, batch = within or after, re.search(r"batch (\d+)( a core)?", condition)
    return {
        "epoch": int(next(filter(None, epoch.groups()))) if epoch else None,
        "final": after is not None,
        "batch": int(batch[1]) if batch else None,
        "batch_per_core": bool(batch and batch[2]),
    }
