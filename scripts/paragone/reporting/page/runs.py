"""The section of each run: what it was, where its seconds went, its epochs, costs, machine, its log's end."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from paragone.analysis.run_states import words_of
from paragone.records import host_metrics, run_metrics
from paragone.records import record as io
from paragone.records.run_record import Process, RunRecord

TAIL = 25  # lines of a log


@dataclass(frozen=True)
class Part:
    """A part of a run's time: seconds, and the share of the whole."""

    name: str
    seconds: float
    share: float


@dataclass(frozen=True)
class Run:
    """What the section of a run shows beside its record."""

    record: RunRecord
    state: str
    timeline: list[Part]
    steady: float | None
    specification: str
    log: str

    @property
    def first(self) -> Process:
        """The process that wrote the record."""
        return self.record.processes[0]

    @property
    def epochs(self) -> list[dict[str, Any]]:
        """Each epoch with its seconds since the first, and what others used of the machine meanwhile."""
        elapsed = run_metrics.elapsed(self.record)
        return [
            {
                **vars(epoch),
                "elapsed": seconds,
                "others": host_metrics.other_cpu_share(host_metrics.of_epoch(self.record, epoch)),
            }
            for epoch, seconds in zip(self.record.epochs, elapsed, strict=True)
        ]


def read(results: Path, run: str, logs: Path) -> Run:
    """A run of the tables, and the tail of its log if there is one; a bundle's run is `<run>@<label>`."""
    record = replace(io.read(results / "runs" / run / "record.json"), run=run)
    parts = run_metrics.parts(record) or {}
    whole = sum(parts.values())
    timeline = [Part(name, seconds, seconds / whole) for name, seconds in parts.items() if seconds]
    window = run_metrics.steady(record.window, record.spec.global_batch)
    specification = yaml.safe_dump(vars(record.spec), sort_keys=False, width=100)
    return Run(
        record,
        words_of(record.status),
        timeline,
        window.examples_per_second if window else None,
        specification,
        _tail(logs / f"{record.run}.log"),
    )


def _tail(path: Path) -> str:
    """The last lines of a log; empty where there is none, as beside records from elsewhere."""
    if not path.exists():
        return ""
    return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL:])
