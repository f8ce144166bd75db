"""The least time of a compiled step: arithmetic, memory and links, each at its peak.

    arithmetic = FLOP / peak FLOP/s   of convolutions and products of matrices, done directly
    memory     = bytes / bandwidth    that operations left after fusion read from main memory and write to it
    links      = bytes / bandwidth    that a device sends: for an all-reduce of n chips 2 (n-1)/n of it

All are of one device. A step takes at least the longest of the three, even if they overlap whole (the
roofline of Williams, Waterman and Patterson, Communications of the ACM 52(4), 2009,
doi:10.1145/1498765.1498785); if nothing overlaps, their sum. Bytes over links are those of Patarasuk and
Yuan (Journal of Parallel and Distributed Computing 69, 2009, doi:10.1016/j.jpdc.2008.09.002), the least
that any algorithm sends whose sums are made by the devices. Devices of one chip add first, and share its
links. Latencies, dispatch and input are 0.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from ahead_of_time.records import Collective, Compilation, Cost, MeasuredStep, Step
from paragone.analysis.statistics import Estimate, summarize
from paragone.config.numbers import Protocol, Row

PARTS = ("arithmetic", "memory", "links")
STRONG, WEAK = "strong", "weak"
LEAST = 3  # numbers of devices that make a scaling series
TIMES = (
    "step_time",
    "epoch_time",
    "training_time",
    "throughput",
)  # metrics that a bound is held against


@dataclass(frozen=True)
class Bound:
    """Seconds of one step; None where a count or a peak is not known."""

    arithmetic: float | None
    memory: float
    links: float

    @property
    def parts(self) -> dict[str, float]:
        """The parts that are known, by name."""
        parts = {name: getattr(self, name) for name in PARTS}
        return {name: seconds for name, seconds in parts.items() if seconds is not None}

    @property
    def seconds(self) -> float:
        """The least time: all parts overlap."""
        return max(self.parts.values())

    @property
    def binds(self) -> str:
        """The part that decides the least time."""
        return max(self.parts, key=self.parts.__getitem__)

    @property
    def apart(self) -> float:
        """The time at every peak if no parts overlap."""
        return sum(self.parts.values())


def bound(record: Compilation) -> Bound | None:
    """The bound of a compiled step; None where nothing was compiled."""
    if (cost := record.cost) is None:
        return None
    device = record.target.device
    peak = device.flops.get(record.step.precision)
    return Bound(
        arithmetic=flop_of(record.step, cost) / peak if peak else None,
        memory=cost.memory_traffic / device.memory_bandwidth,
        links=sent(cost.collectives, device.per_chip) / device.link_bandwidth,
    )


def flop_of(step: Step, cost: Cost) -> float:
    """FLOP of one device in one step: the model's count, or the compiler's where that is less.

    A compiler may leave out products with the zeros of a padding; as a rule its count is the larger one,
    since it counts all other operations as well.
    """
    per_example = step.exported and step.exported.flop_per_example
    counted = (per_example or math.inf) * step.global_batch / step.devices
    return counted if cost.flop is None else min(counted, cost.flop)


def sent(collectives: Iterable[Collective], per_chip: int = 1) -> float:
    """The least bytes that one device sends in a step; a chip divides what it sends over its devices."""
    return sum(_sent(collective, per_chip) * collective.count for collective in collectives)


def _sent(collective: Collective, per_chip: int) -> float:
    chips = math.ceil(collective.group / per_chip)
    other_share = (chips - 1) / chips  # the share of a result that other chips have
    match collective.kind:
        case "all-reduce":
            return 2 * other_share * collective.bytes / per_chip
        case "reduce-scatter":
            return float((chips - 1) * collective.bytes)  # its result is the n-th part
        case "all-to-all":
            return other_share * collective.bytes
        case "collective-permute":
            return float(collective.bytes) if chips > 1 else 0.0
    return other_share * collective.bytes / per_chip  # all-gather, collective-broadcast


def table(records: list[Compilation]) -> pd.DataFrame:
    """One row per record, in their order; seconds, bytes and FLOP are of one device and one step."""
    return pd.DataFrame([_row(record) for record in records])


def _row(record: Compilation) -> dict[str, object]:
    step, target, cost, least = record.step, record.target, record.cost, bound(record)
    return {
        "program": step.name,
        "label": step.label,
        "workload": step.workload,
        "backend": step.backend,
        "precision": step.precision,
        "global_batch": step.global_batch,
        "devices": step.devices,
        "target": target.label,
        "device": target.device.name,
        "status": record.status,
        "reason": record.reason,
        "flop": flop_of(step, cost) if cost else None,
        "memory_traffic": cost.memory_traffic if cost else None,
        "sent_bytes": sent(cost.collectives, target.device.per_chip) if cost else None,
        **{f"{part}_seconds": getattr(least, part) if least else None for part in PARTS},
        "bound_seconds": least.seconds if least else None,
        "apart_seconds": least.apart if least else None,
        "binds": least.binds if least else None,
        "memory_bytes": cost.memory if cost else None,
        "device_memory": target.device.memory,
    }


def published_bounds(
    experiment: str,
    system: str,
    target: str,
    rows: list[Row],
    protocol: Protocol,
    records: list[Compilation],
) -> pd.DataFrame:
    """One row per published time or speed of a system, with the bounds of the steps compiled for its target.

    `step_seconds`: of one step as published, with all that the source's clock included.
    `bound_seconds_<backend>`: the bound of each program, `bound_seconds` the largest. `explained`: the share
    of `step_seconds` that arithmetic, memory and links take at their peaks, one after the other, in the
    program that needs most. Without a bound `why` says what is missing.
    """
    comparisons = []
    for row in rows:
        if row.system != system or row.metric not in TIMES:
            continue
        batch = protocol.batch_of(row)
        compilations = [
            record
            for record in records
            if (record.target.label, record.step.workload, record.step.global_batch)
            == (target, protocol.workload, batch)
        ]
        bounds = {record.step.backend: least for record in compilations if (least := bound(record))}
        seconds = _seconds(row, protocol)
        apart = max((least.apart for least in bounds.values()), default=None)
        if seconds is None:
            why = "the source does not say how many steps this time covers"
        elif bounds:
            why = " or ".join(sorted({least.binds for least in bounds.values()})) + " binds"
        else:
            reasons = [f"{record.step.backend}: {record.reason}" for record in compilations]
            why = "; ".join(reasons) or "no such step was compiled"
        comparisons.append(
            {
                "experiment": experiment,
                "workload": protocol.workload,
                "system": system,
                "target": target,
                "global_batch": batch,
                "condition": row.condition,
                "metric": row.metric,
                "published": row.printed,
                "step_seconds": seconds,
                "bound_seconds": max((least.seconds for least in bounds.values()), default=None),
                "explained": apart / seconds if apart and seconds else None,
                "why": f"{why}; {row.note}" if row.note else why,
                **{f"bound_seconds_{name}": least.seconds for name, least in bounds.items()},
            }
        )
    return pd.DataFrame(comparisons)


def _seconds(row: Row, protocol: Protocol) -> float | None:
    """Seconds of one step; None where the source does not say how many steps a time covers.

    Epochs have whole batches, so that no bound is too high.
    """
    batch = protocol.batch_of(row)
    if row.metric == "throughput":
        return batch / row.number if batch else None
    if row.metric == "step_time":
        return row.seconds
    whole = protocol.epoch_examples // batch if protocol.epoch_examples and batch else None
    steps = protocol.steps_per_epoch or whole
    epochs = 1 if row.metric == "epoch_time" else row.epoch if row.final else None
    return row.seconds / (steps * epochs) if steps and epochs else None


def scaling(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of `table` with one batch, or one batch per device, over several numbers of devices.

    With the columns scaling and fixed (examples of all devices or of each), and what the bounds allow of
    the efficiency, throughput over that of one device times their number: `bound_efficiency` where
    arithmetic, memory and links overlap whole, `apart_efficiency` where nothing does. A series without one
    device has none.
    """
    rows = rows[rows["status"] == "compiled"]
    rows = rows.assign(per_device=rows["global_batch"] / rows["devices"])
    series = [pd.DataFrame()]
    for kind, key in ((STRONG, "global_batch"), (WEAK, "per_device")):
        for _, part in rows.groupby(["label", "backend", "precision", "device", key], sort=False):
            if part["devices"].nunique() >= LEAST:
                part = part.assign(scaling=kind, fixed=part[key])
                for end in ("bound", "apart"):
                    throughput = part["per_device"] / part[f"{end}_seconds"]
                    alone = throughput[part["devices"] == 1].max()  # NaN without one device
                    part[f"{end}_efficiency"] = throughput / alone
                series.append(part)
    return pd.concat(series, ignore_index=True)


def validated(record: MeasuredStep) -> Estimate:
    """Seconds of a measured step over its bound by the speeds of this machine, of all timed runs.

    None is below 1 unless a cache holds what the bound has in memory.
    """
    least = Bound(
        arithmetic=flop_of(record.step, record.cost) / record.product.per_second,
        memory=record.cost.memory_traffic / record.triad.per_second,
        links=0.0,
    )
    return summarize([run / record.calls / least.seconds for run in record.runs])
