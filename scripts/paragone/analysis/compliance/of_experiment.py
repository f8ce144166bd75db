"""The rules that the records of one experiment must obey together, one function per rule.

Each function takes valid records and yields the run that breaks its rule, with what was found there. Rules
that values are equal are in one table, `_EQUAL`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from datetime import datetime
from functools import partial
from operator import attrgetter
from statistics import median
from typing import Any

from paragone.analysis.convergence import MISSED, Convergence, too_fast
from paragone.analysis.statistics import holm
from paragone.config import questions
from paragone.records.compliance.asserted import as_json
from paragone.records.compliance.rules import Checks, Finding, limit
from paragone.records.run_metrics import Target, time_to_target
from paragone.records.run_record import RunRecord

Found = Iterator[tuple[str, Finding]]
CHECKS: Checks[Callable[[list[RunRecord]], Found]] = Checks()


@CHECKS.rule("seed-repeated")
def seed_repeated(records: list[RunRecord]) -> Found:
    """Distinct seeds within a cell."""
    for cell in _cells(records).values():
        counts = Counter(record.spec.seed for record in cell)
        for record in cell:
            if (count := counts[record.spec.seed]) > 1:
                yield record.run, Finding("spec.seed", f"{record.spec.seed}, in {count} runs")


@CHECKS.rule("seed-used")
def seed_used(records: list[RunRecord]) -> Found:
    """Distinct final weights within a cell."""
    for cell in _cells(records).values():
        trained = [record for record in cell if record.model and record.model.final_weights]
        for digest, same in _grouped(trained, attrgetter("model.final_weights")).items():
            if len({record.spec.seed for record in same}) > 1:
                for record in same:
                    finding = Finding("model.final_weights", f"{digest}, with {len(same)} seeds")
                    yield record.run, finding


@CHECKS.rule("seeds")
def seeds(records: list[RunRecord]) -> Found:
    """The same seeds in every cell."""
    every = {record.spec.seed for record in records}
    for cell in _cells(records).values():
        if lacking := sorted(every - {record.spec.seed for record in cell}):
            for record in cell:
                yield record.run, Finding("spec.seed", f"its cell has no run of seed {lacking}")


@CHECKS.rule("order")
def order(records: list[RunRecord]) -> Found:
    """No run begins after one of a later place in the same schedule."""
    starts = defaultdict(list)
    for record in records:
        if record.schedule and all(process.first_epoch == 1 for process in record.processes):
            same = record.processes[0].machine.host, record.schedule.of
            starts[same].append((_start(record), record.schedule.place, record.run))
    for of_schedule in starts.values():
        latest, holder = 0, ""
        for _, place, run in sorted(of_schedule):
            if place < latest:
                yield run, Finding("schedule.place", f"{place}, begun after {latest}, {holder}")
            else:
                latest, holder = place, run


@CHECKS.rule("alone")
def alone(records: list[RunRecord]) -> Found:
    """No overlap on a host; of a killed process the last checkpoint is known and not the end."""
    windows = defaultdict(list)
    for record in records:
        for process in record.processes:
            if process.ended:
                begun, end = map(datetime.fromisoformat, (process.started, process.ended))
                windows[process.machine.host].append((begun, end, record.run))
    for of_host in windows.values():
        of_host.sort()
        _, last, holder = of_host[0]
        for begun, end, run in of_host[1:]:
            overlap = (last - begun).total_seconds()
            if run != holder and overlap > limit("alone"):
                yield run, Finding("processes[0].started", f"{overlap:.1f} s before {holder} ended")
            if end > last:
                last, holder = end, run


@CHECKS.rule("flop")
def flop(records: list[RunRecord]) -> Found:
    """Counts of one model, by the counters of different frameworks."""
    where = "efficiency.train_flop_per_example"
    counted = [record for record in records if record.efficiency]
    for same in _grouped(counted, _workload).values():
        counts = {record.run: attrgetter(where)(record) for record in same}
        middle = median(counts.values())
        for run, count in counts.items():
            if abs(count / middle - 1) > limit("flop"):
                wrong = f"{count}, the median of {len(same)} runs is {middle:g}"
                yield run, Finding(where, wrong)


@CHECKS.rule("too-fast")
def too_fast_to_be_true(records: list[RunRecord]) -> Found:
    """Epochs to the target against the reference backend's; p adjusted over the cells of the experiment."""
    verdicts = [
        (cell, verdict, verdict.p)
        for cell, verdict in _convergence(records)
        if verdict.p is not None
    ]
    adjusted = holm([p for _, _, p in verdicts])
    for (cell, verdict, _), p in zip(verdicts, adjusted, strict=True):
        if p <= limit("too-fast"):
            found = f"{verdict}, {p:.4f} adjusted for {len(verdicts)}"
            for record in cell:
                yield record.run, Finding("target.epoch", found)


def _convergence(records: list[RunRecord]) -> Iterator[tuple[list[RunRecord], Convergence]]:
    """Each cell, and how it converges beside the reference: same workload, batch, data and target."""
    ended = [record for record in records if record.status in ("completed", "diverged")]
    for same in _grouped(
        [record for record in ended if time_to_target(record)], _question
    ).values():
        reference = [_epochs_to(time_to_target(record)) for record in same if _is_reference(record)]
        others = [record for record in same if not _is_reference(record)]
        for cell in _grouped(others, _cell).values():
            yield cell, too_fast([_epochs_to(time_to_target(record)) for record in cell], reference)


def _workload(record: RunRecord) -> str:
    return str(record.spec.workload["name"])


def _cell(record: RunRecord) -> Hashable:
    return questions.cell(record.spec)


def _question(record: RunRecord) -> Hashable:
    """What is the same for runs whose epochs to the target are compared."""
    goal = record.spec.workload.get("target")
    return _workload(record), record.spec.global_batch, str(goal), str(as_json(record.data))


def _cells(records: list[RunRecord]) -> dict[Hashable, list[RunRecord]]:
    return _grouped(records, _cell)


def _grouped(
    records: Iterable[RunRecord], key: Callable[[Any], Hashable]
) -> dict[Hashable, list[RunRecord]]:
    groups = defaultdict(list)
    for record in records:
        groups[key(record)].append(record)
    return groups


def _threads_per_host(record: RunRecord) -> list[int]:
    ranks = defaultdict(set)  # per host; a resumed run has several processes per rank
    for process in record.processes:
        ranks[process.machine.host].add(process.rank)
    return sorted({each.threads * len(ranks[each.machine.host]) for each in record.processes})


def _is_reference(record: RunRecord) -> bool:
    return (record.spec.backend["engine"], record.spec.backend["strategy"]) == ("torch", "single")


def _epochs_to(target: Target | None) -> float:
    return target.epoch if target and target.reached and target.epoch is not None else MISSED


def _start(record: RunRecord) -> datetime:
    return datetime.fromisoformat(record.processes[0].started)


def _joined(names: Iterable[str]) -> str:
    return "; ".join(sorted(set(names)))


def _machines(record: RunRecord) -> str:
    return _joined(process.machine.fingerprint for process in record.processes)


def _commits(record: RunRecord) -> str:
    return _joined(process.git.commit if process.git else "none" for process in record.processes)


def _software(record: RunRecord) -> str:
    pairs = (pair for process in record.processes for pair in process.software.items())
    return _joined(f"{name} {version}" for name, version in pairs)


def _experiment(record: RunRecord) -> None:
    """The key that all records have."""


# Rule -> what it compares: where, key, value. Records of equal keys must have equal values. Threads are
# compared per host of the experiment, because workers on one host divide its cores.
_EQUAL: dict[str, list[tuple[str, Callable[[Any], Hashable], Callable[[Any], object]]]] = {
    "initial-weights": [
        (
            "model.initial_weights",
            lambda record: (_workload(record), record.spec.seed, record.model.initializer),
            attrgetter("model.initial_weights"),
        )
    ],
    "parameters": [("model.parameters", _workload, attrgetter("model.parameters"))],
    "same-data": [
        (
            "data.manifest_sha256",
            attrgetter("data.dataset", "data.source", "data.edition"),
            attrgetter("data.manifest_sha256"),
        ),
        (
            "data.input_shape",
            attrgetter("data.manifest_sha256"),
            attrgetter("data.input_shape", "data.test_examples"),
        ),
    ],
    "one-machine": [("processes.machine", _experiment, _machines)],
    "one-edition": [
        (
            "data.edition",
            attrgetter("data.dataset"),
            lambda record: f"{record.data.source}, {record.data.edition}",
        )
    ],
    "one-setting": [
        ("processes.software", _cell, _software),
        ("processes.threads", _experiment, _threads_per_host),
    ],
    "one-code": [("processes.git.commit", _experiment, _commits)],
}


def _odd_ones_out(rule: str, records: list[RunRecord]) -> Found:
    """The records whose value is not that of most records of the same key.

    Of equally frequent values that of the reference backend is right, or else that of the first run by name.
    """
    first = sorted(records, key=lambda record: (not _is_reference(record), record.run))
    for where, key, value in _EQUAL[rule]:
        part = where.split(".")[0]  # the model or the data may be null
        for same in _grouped((record for record in first if getattr(record, part)), key).values():
            values = {record.run: str(value(record)) for record in same}
            # Of equal counts `most_common` returns the first that was counted.
            right, count = Counter(values.values()).most_common(1)[0]
            for run, found in values.items():
                if found != right:
                    yield run, Finding(where, f"{found}, {count} other(s) have {right}")


CHECKS |= {rule: partial(_odd_ones_out, rule) for rule in _EQUAL}
