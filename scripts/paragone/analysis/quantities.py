"""The measured quantity that corresponds to each published metric, and what it measures."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pandas as pd

from paragone.analysis.match_runs import Cell, Missing
from paragone.analysis.published import Row

FIT = ["compilation_seconds", "train_seconds", "evaluate_seconds"]


@dataclass(frozen=True)
class Quantity:
    """How to measure a published metric.

    `measure`: values by seed. `hardware`: it depends on the machine as much as on the method. `exact`:
    it requires the published batch and replicas. `meaning`: what is measured, printed beside the value
    if it differs from the published quantity. `any_length`: it does not depend on the length of the
    epochs.
    """

    measure: Callable[[Cell, Row], pd.Series]
    hardware: bool = False
    exact: bool = False
    digits: int = 4
    meaning: Callable[[Cell, Row], str] = lambda cell, row: ""
    needs_epoch: bool = False
    any_length: bool = False

    def values(self, cell: Cell, row: Row) -> pd.Series:
        """The measured values by seed. Raises `Missing` if the runs end before the row's epoch."""
        if row.epoch is not None and not row.final and cell.reached < row.epoch:
            raise Missing(f"not measured: the runs had {cell.reached} epochs")
        return self.measure(cell, row).astype("float64")

    def remark(self, cell: Cell, row: Row) -> str:
        """The remark printed beside a value."""
        if self._short(cell, row):
            return f" at epoch {cell.reached}"
        if self is QUANTITIES["epoch_time"] and _extrapolated(cell, row):
            return ", extrapolated"
        return ""

    def obstacles(self, cell: Cell, row: Row) -> list[str]:
        """Why the value cannot be compared with the published one; empty if it can."""
        found = cell.differences(row, any_length=self.any_length)
        if self._short(cell, row):
            found.insert(0, f"only {cell.reached} of the published {row.epoch} epochs were run")
        if self.hardware:
            meaning = self.meaning(cell, row)
            found.append(f"other hardware; {meaning}" if meaning else "other hardware")
        return found

    def _short(self, cell: Cell, row: Row) -> bool:
        return row.epoch is not None and cell.reached < row.epoch


def _at_epoch(cell: Cell, row: Row) -> pd.DataFrame:
    epoch = min(cell.reached, row.epoch or cell.reached)
    return cell.epochs[cell.epochs["epoch"] == epoch].set_index("seed")


def _outcome(column: str) -> Quantity:
    return Quantity(lambda cell, row: _at_epoch(cell, row)[column], needs_epoch=True)


def _of_run(column: str) -> Callable[[Cell, Row], pd.Series]:
    return lambda cell, row: cell.runs.set_index("seed")[column]


def _step_time(cell: Cell, row: Row) -> pd.Series:
    rows = _at_epoch(cell, row)
    return 1000 * rows["train_seconds"] / rows["steps"].astype("float64")


def _training_time(cell: Cell, row: Row) -> pd.Series:
    runs = cell.runs.set_index("seed")
    if cell.protocol.training_time == "fit call":
        return runs[FIT].sum(axis=1, min_count=len(FIT))
    return runs["end_to_end_seconds"]


def _training_time_meaning(cell: Cell, row: Row) -> str:
    if cell.protocol.training_time == "fit call":
        return "measured: compilation, training and evaluation"
    return "measured from process start to the end of the run"


def epoch_seconds(cell: Cell) -> pd.Series:
    """Seconds per published epoch, by seed: the mean of those after the first if they were as long,
    otherwise the time of its examples at the steady throughput of the run."""
    runs = cell.runs.set_index("seed")
    if cell.whole_epochs():
        later = cell.epochs[~cell.epochs["first_of_process"]]
        return later.groupby("seed")["train_seconds"].mean().reindex(runs.index)
    return cell.protocol.epoch_examples / runs["steady_examples_per_second"]


def _epoch_time(cell: Cell, row: Row) -> pd.Series:
    if row.epoch is not None:
        return _at_epoch(cell, row)["train_seconds"]
    return epoch_seconds(cell)


def _extrapolated(cell: Cell, row: Row) -> bool:
    return row.epoch is None and not cell.whole_epochs()


def _epoch_time_meaning(cell: Cell, row: Row) -> str:
    if row.epoch is not None:
        return "measured: training alone"
    if _extrapolated(cell, row):
        return f"{cell.protocol.epoch_examples:,} examples at the steady throughput"
    return "measured: training alone, mean of the epochs after the first"


_timed = partial(Quantity, hardware=True, digits=1)
_timed_as_published = partial(_timed, exact=True, any_length=True)

QUANTITIES = {
    "training_time": _timed(_training_time, meaning=_training_time_meaning),
    "step_time": _timed(
        _step_time,
        meaning=lambda cell, row: "measured without compilation and evaluation",
        needs_epoch=True,
        any_length=True,
    ),
    "epoch_time": _timed_as_published(_epoch_time, meaning=_epoch_time_meaning),
    "throughput": _timed_as_published(_of_run("steady_examples_per_second")),
    "parameters": Quantity(_of_run("parameters"), digits=0, any_length=True),
    "target_accuracy": Quantity(_of_run("target_accuracy"), any_length=True),
    **{
        name: _outcome(name)
        for name in ("train_loss", "train_accuracy", "test_loss", "test_accuracy")
    },
}
