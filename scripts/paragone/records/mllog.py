"""A record as MLPerf's log lines (MLLOG), which the package mlperf-logging parses and checks.

The times are those of the record: its parts one after the other from its start, without the speed window.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from paragone.records import run_metrics
from paragone.records.run_record import RunRecord

_PREFIX = ":::MLLOG "
POINT, START, END = "POINT_IN_TIME", "INTERVAL_START", "INTERVAL_END"


def lines(record: RunRecord, organization: str) -> Iterator[str]:
    """The log of a run, in the order of time; of one without clocks what is known before training."""
    for milliseconds, kind, key, value, metadata in _events(record, organization):
        content = {
            "namespace": "",
            "time_ms": round(milliseconds),
            "event_type": kind,
            "key": key,
            "value": value,
            "metadata": metadata,
        }
        yield _PREFIX + json.dumps(content)


def _events(
    record: RunRecord, organization: str
) -> Iterator[tuple[float, str, str, Any, dict[str, Any]]]:
    spec, machine = record.spec, record.processes[0].machine
    now = datetime.fromisoformat(record.processes[0].started).timestamp() * 1000
    about = {
        "submission_benchmark": spec.workload["name"],
        "submission_org": organization,
        "submission_division": "open",
        "submission_status": "research",
        "submission_platform": f"{machine.processor}, {spec.replicas} x {spec.backend['device']}",
        "cache_clear": True,
        "seed": spec.seed,
        "global_batch_size": spec.global_batch,
        "opt_name": spec.workload.get("optimizer", {}).get("name", "not recorded"),
        "opt_base_learning_rate": spec.workload.get("learning_rate", {}).get("base"),
    }
    if record.data:
        about["train_samples"] = record.data.train_examples
        about["eval_samples"] = record.data.test_examples
    yield now, START, "init_start", None, {}
    for key, value in about.items():
        yield now, POINT, key, value, {}
    parts = run_metrics.parts(record)
    if parts is None:
        return
    now += 1000 * sum(parts[part] for part in ("imports", "devices", "data", "compilation"))
    yield now, END, "init_stop", None, {}
    yield now, START, "run_start", None, {}
    for epoch in record.epochs:
        at = {"epoch_num": epoch.epoch}
        yield now, START, "epoch_start", None, at
        now += 1000 * epoch.train_seconds
        yield now, END, "epoch_stop", None, at
        yield now, START, "eval_start", None, at
        now += 1000 * epoch.evaluate_seconds
        yield now, POINT, "eval_accuracy", epoch.test_accuracy, at
        yield now, END, "eval_stop", None, at
    status = "success" if record.status == "completed" else "aborted"
    yield now, END, "run_stop", None, {"status": status}
