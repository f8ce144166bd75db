"""The rules that the records of one experiment must obey together, one function each.

Every function gets valid records, and yields the run that breaks its rule with what it found there.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from paragone.analysis.convergence import MISSED, too_fast
from paragone.config.expand import REFERENCE
from paragone.records.compliance.rules import Checks, Finding, Record, limit

CHECKS = Checks()
Found = Iterator[tuple[str, Finding]]


@CHECKS.rule("initial-weights")
def initial_weights(records: list[Record]) -> Found:
    """Equal digests for equal workload, seed and initializer."""
    built = [record for record in records if record["model"]]
    yield from _odd_ones_out(
        built,
        "model.initial_weights",
        alike=lambda record: (
            record["spec"]["workload"]["name"],
            record["spec"]["seed"],
            record["model"]["initializer"],
        ),
        value=lambda record: record["model"]["initial_weights"],
    )


@CHECKS.rule("parameters")
def parameters(records: list[Record]) -> Found:
    """Equal counts for equal workloads."""
    yield from _odd_ones_out(
        [record for record in records if record["model"]],
        "model.parameters",
        alike=lambda record: record["spec"]["workload"]["name"],
        value=lambda record: record["model"]["parameters"],
    )


@CHECKS.rule("same-data")
def same_data(records: list[Record]) -> Found:
    """Equal manifests for equal editions."""
    yield from _odd_ones_out(
        [record for record in records if record["data"]],
        "data.manifest_sha256",
        alike=lambda record: tuple(record["data"][key] for key in ("dataset", "source", "edition")),
        value=lambda record: record["data"]["manifest_sha256"],
    )


@CHECKS.rule("seed-repeated")
def seed_repeated(records: list[Record]) -> Found:
    """Distinct seeds within a cell."""
    for cell in _cells(records).values():
        count = Counter(record["spec"]["seed"] for record in cell)
        for record in cell:
            if count[record["spec"]["seed"]] > 1:
                told = f"{record['spec']['seed']}, in {count[record['spec']['seed']]} runs"
                yield record["run"], Finding("spec.seed", told)


@CHECKS.rule("seed-used")
def seed_used(records: list[Record]) -> Found:
    """Distinct final weights within a cell."""
    for cell in _cells(records).values():
        ends = defaultdict(list)
        for record in cell:
            if record["model"] and record["model"]["final_weights"]:
                ends[record["model"]["final_weights"]].append(record)
        for digest, same in ends.items():
            if len({record["spec"]["seed"] for record in same}) > 1:
                for record in same:
                    told = f"{digest}, with {len(same)} seeds"
                    yield record["run"], Finding("model.final_weights", told)


@CHECKS.rule("seeds")
def seeds(records: list[Record]) -> Found:
    """The same seeds in every cell."""
    every = {record["spec"]["seed"] for record in records}
    for cell in _cells(records).values():
        if lacking := sorted(every - {record["spec"]["seed"] for record in cell}):
            for record in cell:
                yield record["run"], Finding("spec.seed", f"its cell has no run of seed {lacking}")


@CHECKS.rule("interleaved")
def interleaved(records: list[Record]) -> Found:
    """Rounds of repeats, one after the other."""
    ended: tuple[int, str] | None = None
    for record in sorted(records, key=_start):
        seed = record["spec"]["seed"]
        if ended and seed < ended[0]:
            told = f"{record['processes'][0]['started']}, after {ended[1]} of a later repeat"
            yield record["run"], Finding("processes[0].started", told)
        else:
            ended = seed, record["run"]


@CHECKS.rule("alone")
def alone(records: list[Record]) -> Found:
    """No overlap on a host; of runs of one process, whose end is known."""
    windows = defaultdict(list)
    for record in records:
        if record["clocks"] and len(record["processes"]) == 1:
            begun = _start(record)
            end = begun + timedelta(seconds=record["clocks"]["end_to_end"])
            windows[record["processes"][0]["host"]].append((begun, end, record["run"]))
    for of_host in windows.values():
        of_host.sort()
        last, holder = of_host[0][1], of_host[0][2]
        for begun, end, run in of_host[1:]:
            overlap = (last - begun).total_seconds()
            if overlap > limit("alone"):
                yield run, Finding("processes[0].started", f"{overlap:.1f} s before {holder} ended")
            if end > last:
                last, holder = end, run


@CHECKS.rule("one-machine")
def one_machine(records: list[Record]) -> Found:
    """The fingerprints of the machines."""
    yield from _odd_ones_out(
        records,
        "processes.machine",
        alike=lambda _: None,
        value=lambda record: "; ".join(
            sorted({one["machine"]["fingerprint"] for one in record["processes"]})
        ),
    )


@CHECKS.rule("one-edition")
def one_edition(records: list[Record]) -> Found:
    """Source and edition of each data set."""
    yield from _odd_ones_out(
        [record for record in records if record["data"]],
        "data.edition",
        alike=lambda record: record["data"]["dataset"],
        value=lambda record: f"{record['data']['source']}, {record['data']['edition']}",
    )


@CHECKS.rule("one-setting")
def one_setting(records: list[Record]) -> Found:
    """Software of a cell, threads a host of the experiment: workers that share one divide its cores."""
    yield from _odd_ones_out(
        records,
        "processes.software",
        alike=_cell,
        value=lambda record: "; ".join(
            sorted(
                {
                    f"{name} {version}"
                    for process in record["processes"]
                    for name, version in process["software"].items()
                }
            )
        ),
    )
    yield from _odd_ones_out(
        records,
        "processes.threads",
        alike=lambda _: None,
        value=_threads_a_host,
    )


@CHECKS.rule("one-code")
def one_code(records: list[Record]) -> Found:
    """The commits of the processes."""
    yield from _odd_ones_out(
        records,
        "processes.git.commit",
        alike=lambda _: None,
        value=lambda record: "; ".join(
            sorted({(one["git"] or {}).get("commit", "none") for one in record["processes"]})
        ),
    )


@CHECKS.rule("flop")
def flop(records: list[Record]) -> Found:
    """Counts of one model, by the counters of different frameworks."""
    counted = [record for record in records if record["efficiency"]]
    for same in _grouped(counted, lambda record: record["spec"]["workload"]["name"]).values():
        counts = [record["efficiency"]["train_flop_per_example"] for record in same]
        middle = median(counts)
        for record, count in zip(same, counts, strict=True):
            if abs(count / middle - 1) > limit("flop"):
                told = f"{count}, the median of {len(counts)} runs is {middle:g}"
                yield record["run"], Finding("efficiency.train_flop_per_example", told)


@CHECKS.rule("too-fast")
def too_fast_to_be_true(records: list[Record]) -> Found:
    """Epochs to the target against the reference backend's, same workload, batch and target."""
    tried = [
        record
        for record in records
        if record["target"] and record["status"] in ("completed", "diverged")
    ]
    for same in _grouped(tried, _question).values():
        reference = [_epochs_to_target(record) for record in same if _is_reference(record)]
        others = [record for record in same if not _is_reference(record)]
        for cell in _cells(others).values():
            verdict = too_fast([_epochs_to_target(record) for record in cell], reference)
            if verdict.p is not None and verdict.p <= limit("too-fast"):
                for record in cell:
                    yield record["run"], Finding("target.epoch", str(verdict))


def _odd_ones_out(
    records: list[Record],
    where: str,
    alike: Callable[[Record], Any],
    value: Callable[[Record], Any],
) -> Found:
    """The records whose value is not that of most of those that must be alike.

    Where two values are as frequent, that of the reference backend is right, else the first by name.
    """
    for same in _grouped(records, alike).values():
        ordered = sorted(same, key=lambda record: (not _is_reference(record), record["run"]))
        values = [str(value(record)) for record in ordered]
        right, count = Counter(values).most_common(1)[0]  # of equals the first that was counted
        for record, found in zip(ordered, values, strict=True):
            if found != right:
                yield record["run"], Finding(where, f"{found}, {count} other(s) have {right}")


def _grouped(records: list[Record], key: Callable[[Record], Any]) -> dict[Any, list[Record]]:
    groups = defaultdict(list)
    for record in records:
        groups[key(record)].append(record)
    return groups


def _cells(records: list[Record]) -> dict[Any, list[Record]]:
    return _grouped(records, _cell)


def _cell(record: Record) -> tuple:
    """What runs share that differ by seed alone."""
    spec = record["spec"]
    batch = spec["batch"]["global"]
    return spec["workload"]["name"], spec["backend"]["name"], spec["replicas"], batch


def _threads_a_host(record: Record) -> list[int]:
    ranks = defaultdict(set)  # by host; a resumed run has several processes a rank
    for process in record["processes"]:
        ranks[process["host"]].add(process["rank"])
    return sorted({one["threads"] * len(ranks[one["host"]]) for one in record["processes"]})


def _question(record: Record) -> tuple:
    """What runs share whose convergence is compared."""
    target = record["target"]
    goal = (target["accuracy"], target["patience"])
    data = json.dumps(record["data"], sort_keys=True)
    return record["spec"]["workload"]["name"], record["spec"]["batch"]["global"], goal, data


def _is_reference(record: Record) -> bool:
    backend = record["spec"]["backend"]
    return all(backend[key] == REFERENCE[key] for key in ("engine", "strategy"))


def _epochs_to_target(record: Record) -> float:
    return record["target"]["epoch"] if record["target"]["reached"] else MISSED


def _start(record: Record) -> datetime:
    return datetime.fromisoformat(record["processes"][0]["started"])
