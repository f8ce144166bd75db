"""Published times of machines that are not here, beside the bounds of programs compiled for them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from paragone.analysis.ahead_of_time.roofline import Bound, bound
from paragone.analysis.published import Protocol, Ratio, Row
from paragone.records.compilations import CompilationRecord

VERDICT = "lower bound, compiled, not run"
NO_BOUND = "no bound"
METRICS = ("step_time", "epoch_time", "training_time", "throughput")


@dataclass(frozen=True)
class Beside:
    """A published time or speed, the steps that it covers, and the bounds of one such step by backend.

    `batch`: examples of a step. `seconds`: of a step, as published, with all that the source's clock
    included. Without bounds `why` says what is missing.
    """

    experiment: str
    workload: str
    target: str
    row: Row
    batch: int | None
    steps: int | None
    bounds: dict[str, Bound]
    why: str

    @property
    def seconds(self) -> float | None:
        """Seconds of one step, as published."""
        if self.steps is None:
            return None
        if self.row.metric == "throughput":
            return self.batch / float(self.row.value) if self.batch else None
        return self.row.seconds / self.steps

    @property
    def lower(self) -> float | None:
        """The longest of the bounds, of the program that needs most."""
        return max((one.seconds for one in self.bounds.values()), default=None)

    @property
    def apart(self) -> float | None:
        """Seconds of a step of the program that needs most, if no parts of it overlap."""
        return max((one.apart for one in self.bounds.values()), default=None)

    @property
    def explained(self) -> float | None:
        """The share of the published time that arithmetic, memory and links explain at their documented
        peaks, one after the other, of the program that needs most."""
        if self.seconds is None or self.apart is None:
            return None
        return self.apart / self.seconds

    @property
    def verdict(self) -> str:
        """Never one of a measured comparison."""
        return VERDICT if self.explained is not None else NO_BOUND


@dataclass(frozen=True)
class SpeedUp:
    """A published ratio of two times, and those of the bounds of both programs: what devices allow where
    both steps are the same multiple of their bound.

    `least`, `most`: where all parts overlap and where none do, in order.
    """

    ratio: Ratio
    least: float
    most: float


def speed_ups(found: list[Beside], ratios: list[Ratio]) -> dict[Row, SpeedUp]:
    """The published ratios of times that both have a bound, by the row that is held against another."""
    known = {
        one.row: (one.steps * one.lower, one.steps * one.apart)
        for one in found
        if one.steps and one.lower and one.apart and one.row.metric != "throughput"
    }
    return {
        ratio.row: SpeedUp(ratio, *sorted(map(ratio.of, known[ratio.row], known[ratio.reference])))
        for ratio in ratios
        if ratio.row in known and ratio.reference in known
    }


def sentences(table: pd.DataFrame) -> Iterator[str]:
    """One sentence per published system and workload of the table `published_bounds`: what peaks explain.

    Of several times of a system that whose step is the shortest, which the bound comes closest to.
    """
    for (system, workload), rows in table.groupby(["system", "workload"], sort=False):
        about = f"{system}, {workload}"
        known = rows.dropna(subset="explained")
        if known.empty:
            yield f"{about}: {NO_BOUND} ({'; '.join(dict.fromkeys(rows['why']))})."
            continue
        row = known.loc[known["explained"].idxmax()]
        yield (
            f"{about}: arithmetic, memory and links of {row['target_label']} at their documented peaks, one "
            f"after the other, explain {_share(row['explained'])} of a published step "
            f"({1e3 * row['step_seconds']:.3g} ms from {row['metric'].replace('_', ' ')} {row['published']}, "
            f"{row['condition']}; {VERDICT}: {1e3 * row['bound_seconds']:,.3g} ms). {_rest(row['explained'])}"
        )
        yield from map(_speed_up, rows.dropna(subset="speed_up").to_dict("records"))


def _share(share: float) -> str:
    return f"at most {100 * share:.2g} %" if share < 1 else "all"


def _rest(share: float) -> str:
    if share < 1:
        return "What the rest was, the source does not say."
    return "One after the other they would take longer: they overlapped, or the machine was another one."


def _speed_up(row: dict[str, Any]) -> str:
    rest = row["speed_up"] / row["allowed_most"]
    ends = dict.fromkeys(f"{row[end]:.2g}" for end in ("allowed_least", "allowed_most"))
    return (
        f"{row['system']} ({row['condition']}) against {row['against']}: published {row['speed_up']:.2g} x "
        f"as fast; the compiled programs allow {' to '.join(ends)} x where both steps are the same multiple "
        f"of their bound ({VERDICT}). If they are, the rest, {rest:.2g} x at least, is not of arithmetic, "
        "memory and links."
    )


def beside(
    experiment: str,
    system: str,
    target: str,
    rows: list[Row],
    protocols: dict[str, Protocol],
    records: list[CompilationRecord],
) -> list[Beside]:
    """The published times of a system, each with the bounds of the records of its target."""
    return [
        _beside(experiment, row, protocols[system], target, records)
        for row in rows
        if row.system == system and row.metric in METRICS
    ]


def _beside(
    experiment: str, row: Row, protocol: Protocol, target: str, records: list[CompilationRecord]
) -> Beside:
    batch = protocol.batch_of(row)
    same = [
        record
        for record in records
        if record.target.name == target
        and record.program.workload == protocol.workload
        and record.program.global_batch == batch
        and record.program.step == "train"
    ]
    bounds = {record.program.backend: found for record in same if (found := bound(record))}
    steps, why = _steps(row, protocol), ""
    if not bounds:
        failed = [f"{record.program.backend}: {record.reason}" for record in same]
        why = "; ".join(failed) or "no such program was compiled"
    elif steps is None:
        why = "the source does not say how many steps this time covers"
    return Beside(experiment, protocol.workload, target, row, batch, steps, bounds, why)


def _steps(row: Row, protocol: Protocol) -> int | None:
    """Steps that a published time covers; whole batches, so that no bound is too high."""
    if row.metric in ("step_time", "throughput"):
        return 1
    batch = protocol.batch_of(row)
    whole = protocol.epoch_examples // batch if protocol.epoch_examples and batch else None
    of_epoch = protocol.steps_per_epoch or whole
    if row.metric == "epoch_time" or of_epoch is None:
        return of_epoch
    return of_epoch * row.epoch if row.epoch and row.final else None
