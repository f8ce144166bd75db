"""The measured runs that a published row is compared with: same workload, batch and replicas."""

from dataclasses import dataclass

import pandas as pd

from paragone.analysis import run_states
from paragone.analysis.published import Protocol, Row, settings


class Missing(Exception):
    """There is no such value; the message names what is missing."""


class NoRuns(Missing):
    """There is no run that a published number could be compared with."""


@dataclass(frozen=True)
class Cell:
    """Completed runs that differ only by seed, their epochs, and the published protocol."""

    runs: pd.DataFrame
    epochs: pd.DataFrame
    protocol: Protocol

    @property
    def synthetic(self) -> bool:
        """Whether the runs used the synthetic stand-in."""
        return run_states.holds_synthetic(self.runs)

    @property
    def reached(self) -> int:
        """Epochs that every run has."""
        return int(self.runs["epochs"].min())

    def whole_epochs(self) -> bool:
        """Whether the epochs are as long as the published ones, except for a last partial batch."""
        published = self.protocol.epoch_examples
        shortest = (self.epochs["examples"] + self.epochs["examples"] // self.epochs["steps"]).min()
        return published is None or bool(shortest > published)

    def other_model(self) -> list[str]:
        """Settings of the model that differ from the published ones."""
        measured = settings(self.runs["model_settings"].iloc[0])
        return [
            f"{key} {measured.get(key, 'not set')}, published {value}"
            for key, value in self.protocol.model.items()
            if measured.get(key) != value
        ]

    def other_input(self) -> list[str]:
        """The shape of an input, if it differs from the published one."""
        measured, published = self.runs["input_shape"].iloc[0], self.protocol.input_shape
        if published in ("", measured):
            return []
        return [f"inputs of {measured}, published {published}"]

    def differences(self, row: Row, *, any_length: bool = False) -> list[str]:
        """How the data and the protocol of the runs differ from the published ones.

        `any_length`: ignore the length of the epochs.
        """
        found = ["SYNTHETIC DATA"] if self.synthetic else []
        published = self.protocol.batch_of(row)
        if published is not None:
            for batch in sorted(set(self.runs["global_batch"]) - {published}):
                found.append(f"global batch {batch}, published {published}")
        found += [f"{one} arithmetic" for one in sorted(set(self.runs["precision"]) - {"float32"})]
        if not any_length:
            found += self._other_length()
        return found + self.other_input() + self.other_model()

    def _other_length(self) -> list[str]:
        if (steps := self.protocol.steps_per_epoch) is not None:
            counts = sorted(set(self.epochs["steps"]) - {steps})
            return [f"{count} steps per epoch, published {steps}" for count in counts]
        if self.whole_epochs():
            return []
        shortest, whole = self.epochs["examples"].min(), self.protocol.epoch_examples
        return [f"{shortest:,} examples per epoch, published {whole:,}"]

    def other_replicas(self, row: Row) -> str:
        """How the replicas differ from the published ones; empty if they do not."""
        count, published = int(self.runs["replicas"].iloc[0]), self.protocol.replicas
        if published in (None, count):
            return ""
        each = (self.protocol.batch_of(row) or 0) // published
        here = self.runs["per_replica_batch"].iloc[0]
        return f"{count} x batch {here} per replica, published {published} x {each}"

    def asides(self, row: Row) -> list[str]:
        """Differences that leave an outcome comparable, but that a reader must know of."""
        replicas = self.other_replicas(row)
        editions = sorted(set(self.runs["data_edition"]) - {"official", "synthetic"})
        return [*([replicas] if replicas else []), *(f"edition {name}" for name in editions)]


def pick(
    row: Row, protocol: Protocol, runs: pd.DataFrame, epochs: pd.DataFrame, *, exact: bool
) -> Cell:
    """The cell among `runs` (of one backend and machine) that is compared with `row`.

    Unless `exact`, a single other batch size replaces the published one, and the nearest number of
    replicas the published number: `Cell.differences` and `Cell.asides` report it. Raises `Missing`.
    """
    # Masks until the end: a selection copies every column of a wide table.
    found = runs["workload"] == protocol.workload
    if not found.any():
        raise NoRuns(f"no run of workload {protocol.workload}")
    batch = protocol.batch_of(row)
    sizes = sorted(set(runs.loc[found, "global_batch"]))
    if batch is not None and (exact or len(sizes) > 1):
        found &= runs["global_batch"] == batch
        if not found.any():
            there = f"{', '.join(map(str, sizes))} {'is' if len(sizes) == 1 else 'are'}"
            raise NoRuns(f"no run with global batch {batch} ({there} there)")
    if protocol.replicas is not None:
        found = _with_replicas(runs, found, protocol.replicas, exact)
    completed = runs[found & (runs["status"] == "completed")]
    if completed.empty:
        words = "; ".join(run_states.not_completed(runs[found]))
        raise NoRuns(f"no run was completed: {words}")
    return Cell(completed, epochs[epochs["run"].isin(completed["run"])], protocol)


def _with_replicas(runs: pd.DataFrame, found: pd.Series, replicas: int, exact: bool) -> pd.Series:
    """The mask of those `found` that have the published number of replicas, or the nearest number."""
    same = found & (runs["replicas"] == replicas)
    completed = found & (runs["status"] == "completed")
    if exact or not completed.any() or (same & completed).any():
        if exact and not same.any():
            raise NoRuns(f"no run with {replicas} replica{'s' if replicas > 1 else ''}")
        return same if same.any() else found
    counts = set(runs.loc[completed, "replicas"])
    nearest = min(counts, key=lambda count: (abs(count - replicas), count))
    return completed & (runs["replicas"] == nearest)
