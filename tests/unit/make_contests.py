"""Records of contests in which made variants take turns."""

from datetime import datetime, timedelta
from pathlib import Path

from unit.make_processes import make_activity, make_process
from unit.make_records import make_record
from workspace import make_spec

from paragone.base.typed_json import typed
from paragone.records import contest_record
from paragone.records.contest_record import ContestsRecord

QUESTION = "fashion-conv.b1000.float32.abcd1234"


def make_contests(started: str, *speeds: dict[str, float]) -> ContestsRecord:
    """One contest for each of `speeds`, examples/s by backend: of two rounds, and a minute after the last."""
    contests = []
    for number, of_backends in enumerate(speeds):
        begun = datetime.fromisoformat(started) + timedelta(minutes=number)
        contestants = [
            {
                "spec": make_spec("fashion-conv", backend, global_batch=1000),
                "processes": [make_process(1, "node-1", 0, "0" * 64)],
            }
            for backend in of_backends
        ]
        windows = [
            {
                "round": turn,
                "contestant": place,
                "steps": 10,
                "seconds": 10_000 / speed,
                "working": 10_000 / speed,
                "sleeping": 0.0,
                "host": make_activity(10_000 / speed),
            }
            for turn in (1, 2)
            for place, speed in enumerate(of_backends.values())
        ]
        about = {"started": begun.isoformat(), "ready_seconds": 10.0, "seconds": 30.0}
        contests.append({"contestants": contestants, "windows": windows, **about})
    made = {"question": QUESTION, "data": make_record()["data"], "contests": contests}
    return typed(ContestsRecord, made)


def write_contests(results: Path, session: int, record: ContestsRecord) -> Path:
    """Write a record of contests where the workflow does."""
    path = results / f"contests/{record.question}/{session}/record.json"
    path.parent.mkdir(parents=True)
    contest_record.write(record, path)
    return path
