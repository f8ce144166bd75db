"""The measurement rules on how runs went, and on what is in a folder of results."""

import copy
import shutil
from datetime import datetime

import msgspec
import pytest
from make_records import of_backend, set_times, typed
from make_results import (
    BACKENDS,
    FIRST,
    add_up,
    broken_rules,
    find,
    write_results,
)

from paragone.analysis import tidy
from paragone.config.run_spec import Spec
from paragone.records.rules import INVALID


def drop_an_epoch(records):
    record = records[0]
    record["epochs"].pop(0)
    add_up(record)


def lose_a_rank(records):
    """Of two, in what else is another run."""
    records[0]["spec"]["workers"] = 2
    spec = msgspec.convert(records[0]["spec"], Spec)
    records[0]["run"] = spec.name
    records[0]["devices"]["workers"] = 2
    records[0]["processes"][0]["config_sha256"] = spec.sha256


def overlap(records):
    set_times(records[1], datetime.fromisoformat(records[0]["processes"][0]["started"]))


def run_backend_by_backend(records):
    starts = sorted(record["processes"][0]["started"] for record in records)
    in_turn = [one for backend in BACKENDS for one in of_backend(records, backend)]
    for record, start in zip(in_turn, starts, strict=True):
        set_times(record, datetime.fromisoformat(start))


def measure_too_shortly(records):
    """Nineteen steps of a second each."""
    record = records[0]
    record["window"] = [{"steps": steps, "seconds": float(steps)} for steps in (3, 16)]
    record["processes"][0]["window"] = []
    record["clocks"]["window"] = 19.0
    add_up(record)


def interrupt_and_begin_later(records):
    """Not resumed: as if its checkpoint had been lost."""
    set_times(records[4], datetime.fromisoformat("2026-01-02T00:00:00+00:00"))


def same_ends(records):
    torch = of_backend(records, "torch")
    torch[1]["model"]["final_weights"] = torch[0]["model"]["final_weights"]


def lack_a_seed(records):
    records.remove(of_backend(records, "torch-xla")[2])


@pytest.mark.parametrize(
    ("plant", "expected"),
    [
        (drop_an_epoch, {"epochs", "planned-epochs"}),
        (lose_a_rank, {"ranks"}),
        (overlap, {"alone"}),
        (run_backend_by_backend, {"order"}),
        (measure_too_shortly, {"window"}),
        (interrupt_and_begin_later, {"order"}),
        (same_ends, {"seed-used"}),
        (lack_a_seed, {"seeds"}),
    ],
)
def test_wrong_course_is_caught_by_its_rule(tmp_path, records, plant, expected):
    plant(records)
    found = broken_rules(write_results(tmp_path, records))
    assert expected <= found
    assert found - expected <= {"alone", "epoch-clock", "time-of-day"}  # what follows from it


def test_two_runs_of_one_seed(tmp_path, records):
    """Another specification, the same cell: n would be one too many."""
    other = copy.deepcopy(records[0])
    other["spec"]["deterministic"] = False
    spec = msgspec.convert(other["spec"], Spec)
    other["run"] = spec.name
    other["processes"][0]["config_sha256"] = spec.sha256
    set_times(other, datetime.fromisoformat("2025-12-31T00:00:00+00:00"))
    found = find(write_results(tmp_path, [*records, other]))
    assert {one.rule for one in found} == {"seed-repeated"}
    assert {one.run for one in found} == {FIRST, other["run"]}


# Files of a folder


@pytest.mark.parametrize(
    ("place", "to", "rule"),
    [(shutil.copytree, "again", "one-record"), (shutil.move, "elsewhere", "name")],
)
def test_a_record_in_another_folder(tmp_path, records, place, to, rule):
    folder = write_results(tmp_path, records)
    place(folder / "runs" / FIRST, folder / "runs" / to)
    (one,) = find(folder)
    assert (one.rule, one.run) == (rule, FIRST)


@pytest.mark.parametrize("content", ["{", "null"])
def test_an_unreadable_record(tmp_path, records, content):
    folder = write_results(tmp_path, records)
    path = folder / "runs" / FIRST / "record.json"
    path.write_text(content)
    found = find(folder)
    assert {(one.rule, one.run, one.file) for one in found} >= {("schema", FIRST, str(path))}
    assert {one.rule for one in found} <= {"schema", "seeds"}


def test_a_record_that_is_gone(tmp_path, records):
    """The tables know of a run that has no record."""
    folder = write_results(tmp_path, records)
    runs, _ = tidy.tables(typed(records), "one", {})
    tidy.write(runs, folder / "tables/one/runs.parquet")
    shutil.rmtree(folder / "runs" / FIRST)
    found = [one for one in find(folder) if one.rule == "missing"]
    assert [(one.experiment, one.run, one.severity) for one in found] == [("one", FIRST, INVALID)]


@pytest.mark.parametrize(("passed", "rule"), [(False, "parity-failed"), (None, "parity")])
def test_parity_that_was_not_passed(tmp_path, records, passed, rule):
    found = find(write_results(tmp_path, records, torch=passed))
    assert {one.rule for one in found} == {rule}
    assert {one.run for one in found} == {one["run"] for one in of_backend(records, "torch")}
