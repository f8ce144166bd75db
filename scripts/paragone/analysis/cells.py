"""The measured runs that a published number is compared with, and their quantity that corresponds to it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from paragone.analysis import grouping
from paragone.analysis.contests import OF_EPOCHS
from paragone.analysis.prediction import OUTCOMES, Reason, best_of
from paragone.config.numbers import Protocol, Row
from paragone.tasks import METRICS

FIT = ["compilation_seconds", "train_seconds", "evaluate_seconds"]


class Missing(Exception):
    """There is no value that a published number could be compared with.

    `reason` is why; `has_runs`: whether there are runs that it could have come from.
    """

    def __init__(self, kind: str, *values: Any, has_runs: bool = False) -> None:
        super().__init__(kind)
        self.reason: Reason = (kind, *values)
        self.has_runs = has_runs


@dataclass(frozen=True)
class Counterpart:
    """Completed runs that differ only by seed, their epochs, and the published protocol."""

    runs: pd.DataFrame
    epochs: pd.DataFrame
    protocol: Protocol

    @property
    def reached(self) -> int:
        """The number of epochs that every run has."""
        return int(self.runs["epochs"].min())

    def epoch_of(self, row: Row) -> int:
        """Return the epoch of a published row, or the last one if the runs end before."""
        return min(self.reached, row.epoch or self.reached)

    def at(self, row: Row) -> pd.DataFrame:
        """Return the epoch of a published row of every run, by seed."""
        return self.epochs[self.epochs["epoch"] == self.epoch_of(row)].set_index("seed")

    def outcome(self, row: Row, metric: str) -> pd.Series:
        """Return a metric at the epoch of a published row, or its best until then, by seed."""
        if not row.best:
            return self.at(row)[metric]
        return best_of(self.epochs[self.epochs["epoch"] <= self.epoch_of(row)], metric)

    def whole_epochs(self) -> bool:
        """Return whether the epochs are as long as the published ones, but for a last partial batch."""
        published = self.protocol.epoch_examples
        shortest = (self.epochs["examples"] + self.epochs["examples"] // self.epochs["steps"]).min()
        return published is None or bool(shortest > published)

    def differences(self, row: Row, *, by_length: bool) -> list[Reason]:
        """Return how data, protocol and, if `by_length`, length of epochs differ from what was published."""
        reasons: list[Reason] = [("synthetic",)] if grouping.holds_synthetic(self.runs) else []
        published = self.protocol.batch_of(row)
        if published is not None:
            batches = sorted(set(self.runs["global_batch"]) - {published})
            reasons += [("global_batch", batch, published) for batch in batches]
        reasons += [("precision", name) for name in sorted({*self.runs["precision"]} - {"float32"})]
        if by_length:
            reasons += self._other_length()
        shape = self.runs["input_shape"].iloc[0]
        if self.protocol.input_shape not in ("", shape):
            reasons.append(("input_shape", shape, self.protocol.input_shape))
        text = self.runs["model_settings"].iloc[0]  # "a=1; b=x"
        measured = dict(part.strip().split("=", 1) for part in text.split(";") if part.strip())
        return reasons + [
            ("model", key, measured.get(key, "not set"), value)
            for key, value in self.protocol.model.items()
            if measured.get(key) != value
        ]

    def _other_length(self) -> list[Reason]:
        if (steps := self.protocol.steps_per_epoch) is not None:
            counts = sorted(set(self.epochs["steps"]) - {steps})
            return [("steps_per_epoch", count, steps) for count in counts]
        if self.whole_epochs():
            return []
        shortest, whole = self.epochs["examples"].min(), self.protocol.epoch_examples
        return [("epoch_examples", shortest, whole)]

    def caveats(self, row: Row) -> list[Reason]:
        """Return the differences that leave an outcome comparable, but that a reader must know."""
        editions = sorted(set(self.runs["data_edition"]) - {"official", "synthetic"})
        caveats: list[Reason] = [("edition", name) for name in editions]
        count, published = int(self.runs["replicas"].iloc[0]), self.protocol.replicas
        if published in (None, count):
            return caveats
        of_source = (self.protocol.batch_of(row) or 0) // published
        here = self.runs["per_replica_batch"].iloc[0]
        return [("replicas", count, here, published, of_source), *caveats]


def pick(
    row: Row, protocol: Protocol, runs: pd.DataFrame, epochs: pd.DataFrame, *, exact: bool
) -> Counterpart:
    """Pick the runs, among those of one backend and machine, that are compared with `row`.

    Unless `exact`, a single other batch size replaces the published one, and the nearest number of replicas
    the published number, which `differences` and `caveats` of the counterpart report. Raises `Missing`.
    """
    # Masks until the end: a selection copies every column of a wide table.
    mask = runs["workload"] == protocol.workload
    if not mask.any():
        raise Missing("no_workload", protocol.workload)
    batch = protocol.batch_of(row)
    sizes = sorted(set(runs.loc[mask, "global_batch"]))
    if batch is not None and (exact or len(sizes) > 1):
        mask &= runs["global_batch"] == batch
        if not mask.any():
            raise Missing("no_batch", batch, sizes)
    if protocol.replicas is not None:
        mask = _with_replicas(runs, mask, protocol.replicas, exact)
    completed = runs[mask & (runs["status"] == "completed")]
    if completed.empty:
        raise Missing("none_completed", grouping.not_completed(runs[mask]))
    return Counterpart(completed, epochs[epochs["run"].isin(completed["run"])], protocol)


def _with_replicas(runs: pd.DataFrame, mask: pd.Series, replicas: int, exact: bool) -> pd.Series:
    """Narrow a mask to runs that have the published number of replicas, or the nearest number."""
    equal = mask & (runs["replicas"] == replicas)
    completed = mask & (runs["status"] == "completed")
    if exact or not completed.any() or (equal & completed).any():
        if exact and not equal.any():
            raise Missing("no_replicas", replicas)
        return equal if equal.any() else mask
    counts = set(runs.loc[completed, "replicas"])
    nearest = min(counts, key=lambda count: (abs(count - replicas), count))
    return completed & (runs["replicas"] == nearest)


@dataclass(frozen=True)
class Quantity:
    """How to measure a published metric.

    `measure`: returns values by seed. `hardware`: the kind of reason to give where the metric depends on the
    machine as much as on the method, else empty. `exact`: the published batch and replicas are required.
    `unit`: that of the values. `by_length`: the length of the epochs matters.
    """

    measure: Callable[[Counterpart, Row], pd.Series]
    hardware: str = ""
    exact: bool = False
    digits: int = 4
    unit: str = ""
    needs_epoch: bool = False
    by_length: bool = False

    def values(self, cell: Counterpart, row: Row) -> pd.Series:
        """Return the measured values by seed. Raise `Missing` if the runs end before the row's epoch."""
        if not row.final and cell.reached < (row.epoch or 0):
            raise Missing("no_epoch", cell.reached, row.epoch, has_runs=True)
        return self.measure(cell, row).astype("float64")

    def remark(self, cell: Counterpart, row: Row) -> Reason:
        """Return which value was measured, if it is not that of the published epoch; empty if it is."""
        if cell.reached < (row.epoch or 0):
            return ("best_of" if row.best else "at_epoch", cell.reached)
        extrapolated = row.epoch is None and not cell.whole_epochs()
        return ("extrapolated",) if row.metric == "epoch_time" and extrapolated else ()

    def obstacles(self, cell: Counterpart, row: Row) -> list[Reason]:
        """Return why the value cannot be compared with the published one; empty if it can."""
        reasons = cell.differences(row, by_length=self.by_length)
        if cell.reached < (row.epoch or 0):
            reasons.insert(0, ("epochs", cell.reached, row.epoch))
        return reasons + ([(self.hardware,)] if self.hardware else [])


def _of_run(column: str) -> Callable[[Counterpart, Row], pd.Series]:
    return lambda cell, row: cell.runs.set_index("seed")[column]


def _step_time(cell: Counterpart, row: Row) -> pd.Series:
    rows = cell.at(row)
    return 1000 * rows["train_seconds"] / rows["steps"].astype("float64")


def _outcome(cell: Counterpart, row: Row) -> pd.Series:
    return cell.outcome(row, row.metric)


def _training_time(cell: Counterpart, row: Row) -> pd.Series:
    runs = cell.runs.set_index("seed")
    if cell.protocol.training_time == "fit call":
        return runs[FIT].sum(axis=1, min_count=len(FIT))
    return runs["end_to_end_seconds"]


def epoch_seconds(cell: Counterpart) -> pd.Series:
    """Return the seconds per published epoch, by seed.

    This is the mean of the epochs after the first if they were as long, otherwise the time that the examples
    of one take at the steady throughput of the run.
    """
    runs = cell.runs.set_index("seed")
    if cell.whole_epochs():
        later = cell.epochs[~cell.epochs["first_of_process"]]
        return later.groupby("seed")["train_seconds"].mean().reindex(runs.index)
    return cell.protocol.epoch_examples / _steady(cell)


def _steady(cell: Counterpart, row: Row | None = None) -> pd.Series:
    """Return steady examples/s by seed; of runs that contests timed one value, that of their contests."""
    runs = cell.runs.set_index("seed")
    speeds = runs["steady_examples_per_second"]
    return speeds[(runs["steady_source"] == OF_EPOCHS) | ~speeds.duplicated()]


def _epoch_time(cell: Counterpart, row: Row) -> pd.Series:
    if row.epoch is not None:
        return cell.at(row)["train_seconds"]
    return epoch_seconds(cell)


QUANTITIES = {
    "training_time": Quantity(
        _training_time, "hardware_training_time", digits=1, unit="s", by_length=True
    ),
    "step_time": Quantity(_step_time, "hardware_training", digits=1, unit="ms", needs_epoch=True),
    "epoch_time": Quantity(_epoch_time, "hardware_training", exact=True, digits=1, unit="s"),
    "throughput": Quantity(_steady, "hardware", exact=True, digits=1, unit="examples/s"),
    "parameters": Quantity(_of_run("parameters"), digits=0),
    **{f"target_{name}": Quantity(_of_run("target_value")) for name in METRICS},
    **dict.fromkeys(OUTCOMES, Quantity(_outcome, needs_epoch=True, by_length=True)),
}
