"""All measurement rules on a folder of records: its experiments, and the rules that they break.

Rules on one record are in `records.compliance`. Those on the records of an experiment together are here:
values that must be equal, in the table `_EQUAL`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

from paragone.analysis import tidy
from paragone.base.errors import UserError
from paragone.config import questions
from paragone.records import parity_reports
from paragone.records.compliance import READABLE, Breach, Violation, of_contests, of_run, table
from paragone.records.contest_record import ContestsRecord
from paragone.records.record import decoded
from paragone.records.run_record import RunRecord

ALONE = ""  # the name of the experiment of records that belong to none


@dataclass
class Checked:
    """The records that can be read, of runs and of contests, in the order of their paths; what they break."""

    runs: list[RunRecord] = field(default_factory=list)
    contests: list[ContestsRecord] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)


def find(
    paths: Iterable[Path], parity: Iterable[Path], experiments: dict[str, set[str]]
) -> Checked:
    """Read the records at `paths`, and find every violation, in the order of experiment, rule and run.

    `parity`: reports of the parity gate. `experiments`: the runs and questions of each experiment. Runs that
    belong to none are compared with those of the same workload.
    """
    checked, files = Checked(), {}
    verdicts = parity_reports.read_parity(parity)
    breaches: list[tuple[str, Breach]] = []
    for path in paths:
        files[path.parent.name] = path
        breaches += [(path.parent.name, breach) for breach in _of_file(path, checked, verdicts)]
    groups = {name: {*runs} for name, runs in experiments.items()}
    members = set().union(*groups.values())
    for record in checked.runs:
        if record.run not in members:
            groups.setdefault(record.spec.workload.name, set()).add(record.run)
    rows = [
        (experiment, name, breach)
        for name, breach in breaches
        for experiment in [key for key, runs in groups.items() if name in runs] or [ALONE]
    ]
    for experiment, runs in groups.items():
        together = [record for record in checked.runs if record.run in runs]
        rows += [(experiment, name, breach) for name, breach in _odd_ones_out(together)]
    order = [*table()]
    checked.violations = sorted(
        {
            Violation(
                experiment,
                breach.rule,
                table()[breach.rule].severity,
                name,
                str(files[name]),
                breach.where,
                breach.value,
            )
            for experiment, name, breach in rows
        },
        key=lambda row: (row.experiment, order.index(row.rule), row.run, row.where, row.value),
    )
    return checked


def in_folder(folder: Path) -> tuple[list[Path], list[Path], dict[str, set[str]]]:
    """Return what `find` checks below a folder of results: records, parity reports, experiments.

    Raises `UserError` if there is no record.
    """
    records = sorted(folder.rglob("record.json"))
    if not records:
        raise UserError(f"{folder}: no record.json below it; name the folder of results")
    experiments = {
        path.parent.name: set(frame["run"])
        for path in sorted(folder.glob("tables/*/runs.parquet"))
        if "experiment" in (frame := tidy.read(path))
    }
    return records, sorted(folder.glob("parity/*.json")), experiments


def _of_file(path: Path, checked: Checked, verdicts: parity_reports.Parity) -> Iterator[Breach]:
    """Add the record at a path to those that can be read, and yield what breaks the rules in it."""
    try:
        record = decoded(path.read_bytes())
    except (OSError, ValueError) as error:
        yield Breach(READABLE, "record", f"cannot be read: {error}")
        return
    name = record.run if isinstance(record, RunRecord) else record.question
    if name != path.parent.name:
        yield Breach(READABLE, "run", f"{name}, in the folder {path.parent.name}")
    elif isinstance(record, RunRecord):
        checked.runs.append(record)
        yield from of_run(record)
        yield from _unproven(record, verdicts)
    else:
        checked.contests.append(record)
        yield from of_contests(record)


def _unproven(record: RunRecord, verdicts: parity_reports.Parity) -> Iterator[Breach]:
    """Yield what is missing if the backend has not passed the parity gate."""
    workload, backend = record.spec.workload.name, record.spec.backend.name
    if (workload, backend) not in verdicts:
        yield Breach("parity", "parity", f"no report on {workload} on {backend}")
    elif record.status not in ("unavailable", "unsupported"):
        if (passed := verdicts[workload, backend]) is False:
            yield Breach("parity-failed", "parity", f"{workload} on {backend}: failed")
        elif passed is None:
            text = f"{workload} on {backend}: the gate could not run the backend"
            yield Breach("parity", "parity", text)


# The records of an experiment together


def _threads_per_host(record: RunRecord) -> list[int]:
    """Return the threads of all workers of a host, which divide its cores."""
    ranks = defaultdict(set)  # per host; a resumed run has several processes per rank
    for process in record.processes:
        ranks[process.machine.host].add(process.rank)
    return sorted(
        {process.threads * len(ranks[process.machine.host]) for process in record.processes}
    )


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
    """Return the key that all records of an experiment have."""


# Rule, where, key and value: records of equal keys must have equal values.
_EQUAL: list[tuple[str, str, Callable[[Any], Hashable], Callable[[Any], object]]] = [
    (
        "same-data",
        "data.manifest_sha256",
        attrgetter("data.dataset", "data.source", "data.edition"),
        attrgetter("data.manifest_sha256"),
    ),
    ("mixed", "processes.machine", _experiment, _machines),
    (
        "mixed",
        "data.edition",
        attrgetter("data.dataset"),
        lambda record: f"{record.data.source}, {record.data.edition}",
    ),
    ("mixed", "processes.software", lambda record: questions.cell(record.spec), _software),
    ("mixed", "processes.threads", _experiment, _threads_per_host),
    ("mixed", "processes.git.commit", _experiment, _commits),
]


def _odd_ones_out(records: list[RunRecord]) -> Iterator[tuple[str, Breach]]:
    """Yield the records whose value is not that of most records of the same key.

    Of equally frequent values that of the first run by name is right.
    """
    for rule, where, key, value in _EQUAL:
        groups: dict[Hashable, dict[str, str]] = defaultdict(dict)
        for record in sorted(records, key=attrgetter("run")):
            if getattr(record, where.split(".")[0]):  # a run may have no data
                groups[key(record)][record.run] = str(value(record))
        for values in groups.values():
            # Of equal counts `most_common` returns the first that was counted.
            right, count = Counter(values.values()).most_common(1)[0]
            for run, text in values.items():
                if text != right:
                    yield run, Breach(rule, where, f"{text}, {count} other(s) have {right}")
