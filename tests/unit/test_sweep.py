"""The line on all runs: what is done and left, and an end from the runs that are most alike."""

import threading
from datetime import datetime

from make_results import valid_records, write_results

from paragone.records import sweep

NOW = datetime(2026, 1, 1, 12, 0)


def made(folder, ages: dict[str, float], seeds: int = 3):
    """Names of runs, and the folder of those whose backend has an age, with it."""
    records = valid_records(range(seeds), ["torch", "torch-xla"])
    for record in records:
        for process in record["processes"]:
            process["age"] = ages.get(record["spec"]["backend"]["name"])
    write_results(folder, [one for one in records if one["processes"][0]["age"]])
    return [one["run"] for one in records], folder / "runs"


def test_runs_that_are_alike_say_how_long_the_others_take(tmp_path):
    names, runs = made(tmp_path, {"torch": 600.0, "torch-xla": 60.0})
    for name in names[-2:]:  # the last of each backend
        (runs / name / "record.json").unlink()
    assert sweep.describe(names, runs, NOW) == (
        "4 of 6 runs done, 1 running, 1 waiting; about 11 min more, until 12:11"
    )


def test_a_backend_that_never_ran_is_estimated_by_its_workload(tmp_path):
    names, runs = made(tmp_path, {"torch": 1800.0})
    assert "about 1 h 30 min more, until 13:30" in sweep.describe(names, runs, NOW)


def test_nothing_is_promised_before_any_run_has_ended(tmp_path):
    names, _ = made(tmp_path, {"torch": 1.0})
    words = sweep.describe(names, tmp_path / "none", NOW, begun=False)
    assert words == (
        "0 of 6 runs done, 0 running, 6 waiting; no like run says yet how long that takes"
    )


def test_half_a_record_is_no_example(tmp_path):
    names, runs = made(tmp_path, {"torch": 60.0}, seeds=1)
    (runs / names[0] / "record.json").write_text('{"processes": [')
    assert "no like run" in sweep.describe([*names, names[1]], runs, NOW)


def test_a_record_of_an_earlier_call_is_an_example_and_not_done(tmp_path):
    names, runs = made(tmp_path, {"torch": 60.0, "torch-xla": 60.0})
    later = max(path.stat().st_mtime for path in runs.glob("*/record.json")) + 1
    assert sweep.describe(names, runs, NOW, later).startswith("0 of 6 runs done")
    assert "about 6 min more" in sweep.describe(names, runs, NOW, later)


def test_it_is_said_each_time_a_run_ends_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "_INTERVAL", 0.01)
    names, runs = made(tmp_path, {"torch": 60.0}, seeds=1)
    text = (runs / names[0] / "record.json").read_text()
    said, ended = [], threading.Semaphore(0)

    def say(line):
        said.append(line)
        ended.release()

    sweep.watch(names, runs, say)
    for name in names:
        assert ended.acquire(timeout=10)
        (runs / name).mkdir(exist_ok=True)
        (runs / name / "record.json").write_text(text)
    assert ended.acquire(timeout=10)
    assert [line.split(" done")[0] for line in said] == [f"{n} of 2 runs" for n in range(3)]
