"""Valid records of contests, made up: every variant in every round, in the order of their places."""

import copy
from datetime import datetime, timedelta
from pathlib import Path

import pandas as pd
from make_records import FIRST_STEPS, MODEL, make_activity, make_data, make_process
from msgspec import to_builtins
from workspace import make_spec

from paragone.analysis.contests import rounds
from paragone.base import typed_json
from paragone.base.typed_json import typed
from paragone.config.run_spec import Spec
from paragone.records.contest_record import ContestsRecord

QUESTION = "fashion-conv.b1000.float32.abcd1234"
STEPS = 40  # of a window
FIRST = 0.05  # seconds of an epoch of one step


def make_contests(started: str, *speeds: dict[str, float]) -> ContestsRecord:
    """One contest for each of `speeds`, examples/s by backend: of two rounds, and a minute after the last."""
    by_backend = {name: [[each[name]] * 2 for each in speeds] for name in speeds[0]}
    made = valid_contests(by_backend, "fashion-conv", 1000) | {"question": QUESTION}
    for number, contest in enumerate(made["contests"]):
        begun = datetime.fromisoformat(started) + timedelta(minutes=number)
        contest["started"] = begun.isoformat()
    return typed(ContestsRecord, made)


def write_contests(results: Path, record: ContestsRecord) -> Path:
    """Write a record of contests where the workflow does."""
    path = results / f"contests/{record.question}/record.json"
    path.parent.mkdir(parents=True)
    typed_json.write(typed_json.sealed(record), path)
    return path


def valid_contests(
    speeds: dict[str, list[list[float]]], workload: str = "fashion-cnn", batch: int = 128
) -> dict:
    """The record of one question; `speeds`: backend -> examples/s by contest and round, None for none."""
    specs = [make_spec(workload, backend, global_batch=batch) for backend in speeds]
    contests = [
        _contest(specs, [of_backend[number] for of_backend in speeds.values()])
        for number in range(len(next(iter(speeds.values()))))
    ]
    return {
        "schema": 1,
        "digest": None,
        "question": "made",
        "data": make_data(),
        "planned": 8,
        "ended": "decided",
        "contests": contests,
    }


def _contest(specs: list[Spec], speeds: list[list[float]]) -> dict:
    windows = []
    for number in range(len(speeds[0])):
        for place, spec in enumerate(specs):
            if speeds[place][number] is None:
                continue
            seconds = STEPS * spec.global_batch / speeds[place][number]
            windows.append(
                {
                    "round": number + 1,
                    "contestant": place,
                    "steps": STEPS,
                    "first": FIRST,
                    "seconds": FIRST + seconds,
                    "sleeping": 0.001 * seconds,
                    "host": make_activity(2 * FIRST + seconds),
                    "updates": STEPS + 2,
                    "batches": STEPS + 2,
                }
            )
    return {
        "together": True,
        "contestants": [_contestant(spec) for spec in specs],
        "windows": windows,
        "load": 0.1,
        "started": "2026-01-01T00:00:00+00:00",
        "seconds": 12.0 + sum(FIRST + window["seconds"] for window in windows),
    }


def _contestant(spec: Spec) -> dict:
    return {
        "spec": to_builtins(spec),
        "status": "completed",
        "reason": None,
        "steps": STEPS,
        "model": {**MODEL},
        "modes": {"math_mode": "ieee", "deterministic": True, "collectives": None},
        "first_steps": copy.deepcopy(FIRST_STEPS),
        "processes": [make_process(1, "node-1", 0)],
    }


def windows(speeds: dict[str, list], **columns: object) -> pd.DataFrame:
    """The table of rounds of such a record, all passing the gate, with other columns."""
    record = typed(ContestsRecord, valid_contests(speeds))
    return rounds([record], "asked", {("fashion-cnn", name): True for name in speeds}).assign(
        **columns
    )
