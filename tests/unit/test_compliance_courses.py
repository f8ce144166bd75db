"""The measurement rules on how runs went: their epochs, starts, ranks, order, and seeds."""

import copy
from datetime import datetime

import pytest
from make_records import clocks, set_times
from make_results import BACKENDS, FIRST, add_up, broken_rules, find, of, write_results
from msgspec.structs import asdict

from paragone.config.run_spec import Spec


def drop_an_epoch(records):
    record = records[0]
    record["epochs"].pop(0)
    add_up(record)


def lose_a_rank(records):
    """Of two, in what else is another run."""
    spec = Spec(**{**records[0]["spec"], "workers": 2})
    records[0] |= {"spec": asdict(spec), "run": spec.name}
    records[0]["devices"]["workers"] = 2
    records[0]["processes"][0]["config_sha256"] = spec.sha256


def overlap(records):
    set_times(records[1], datetime.fromisoformat(records[0]["processes"][0]["started"]))


def run_backend_by_backend(records):
    starts = sorted(record["processes"][0]["started"] for record in records)
    in_turn = [one for backend in BACKENDS for one in of(records, backend)]
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
    torch = of(records, "torch")
    torch[1]["model"]["final_weights"] = torch[0]["model"]["final_weights"]


def lack_a_seed(records):
    records.remove(of(records, "torch-xla")[2])


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


def test_a_long_run_overlaps_all_that_begin_before_its_end(tmp_path, records):
    """Not only the next one."""
    records.sort(key=lambda record: record["processes"][0]["started"])
    long, *others = records[:3]
    starts = [datetime.fromisoformat(one["processes"][0]["started"]) for one in records[:3]]
    longer = (starts[2] - starts[0]).total_seconds() + 5 - sum(clocks(long).values())
    long["clocks"]["other"] += longer
    set_times(long, starts[0])
    found = find(write_results(tmp_path, records))
    assert {one.run for one in found if one.rule == "alone"} == {one["run"] for one in others}


def test_two_runs_of_one_seed(tmp_path, records):
    """Another specification, the same cell: n would be one too many."""
    twin = copy.deepcopy(records[0])
    twin["spec"]["deterministic"] = False
    spec = Spec(**twin["spec"])
    twin["run"] = spec.name
    twin["processes"][0]["config_sha256"] = spec.sha256
    set_times(twin, datetime.fromisoformat("2025-12-31T00:00:00+00:00"))
    found = find(write_results(tmp_path, [*records, twin]))
    assert {(one.rule, one.run) for one in found} == {
        ("seed-repeated", FIRST),
        ("seed-repeated", twin["run"]),
    }
