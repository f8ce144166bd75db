"""The rules on contests: a valid record breaks none, each planted fault breaks the rule that is meant."""

import copy
import json

import pytest
from make_contests import sealed, valid_contests
from make_results import broken_rules, find, write_results
from workspace import put

from paragone.analysis.contests import rounds
from paragone.base.typed_json import typed
from paragone.records import rules
from paragone.records.contest_record import ContestsRecord

VALID = valid_contests({"torch": [[100, 110], [120, 105]], "jax": [[50, 60], [55, 52]]})
PASSED = {("fashion-cnn", "torch"): True, ("fashion-cnn", "jax"): True}

# One fault each: what is set, and the rules that it must break, exactly.
FAULTS = [
    ("contests.1.windows.2.sleeping", 0.6, {"asleep"}),
    ("contests.0.windows.3.updates", 8, {"counted"}),  # an engine that ends early
    ("contests.0.windows.3.batches", 1, {"counted"}),  # a window of one batch
    ("contests.0.contestants.1.restored", False, {"restored"}),
    ("contests.0.contestants.1.restored", None, {"restored"}),
    ("contests.0.contestants.1.reason", "it rained", {"status"}),
    ("contests.0.contestants.1.status", "crashed", {"status"}),
    ("contests.0.windows.3.round", 1, {"turns"}),
    ("contests.0.windows.3.contestant", 0, {"turns"}),
    ("contests.0.windows.3.steps", 41, {"turns"}),
    ("contests.0.windows.3.host.seconds", 9.0, {"turns"}),
    ("contests.0.windows.3.first", 5.0, {"turns"}),
    ("contests.0.ready_seconds", 13.0, {"turns"}),
    ("contests.0.windows.3.host.stolen", 900.0, {"isolation"}),
    ("contests.0.windows.3.host.heat_throttles", 1, {"throttling"}),
    ("contests.0.contestants.0.devices.replicas", 2, {"devices"}),
    ("contests.0.contestants.0.devices", None, {"devices"}),
    ("contests.0.contestants.0.modes.math_mode", "tf32", {"modes"}),
    ("contests.0.contestants.0.modes", None, {"modes"}),
    ("contests.0.contestants.0.processes", [], {"status"}),
    ("contests.0.contestants.0.steps", None, {"status", "turns"}),
    ("contests.0.contestants.0.processes.0.rank", 1, {"ranks"}),
    ("contests.0.contestants.0.processes.0.threads", 3, {"threads"}),
    ("contests.0.contestants.0.processes.0.variables", {"OMP_WAIT_POLICY": "x"}, {"tuning"}),
    ("contests.0.contestants.0.processes.0.config_sha256", "d" * 64, {"read"}),
    ("contests.0.contestants.0.processes.0.git", None, {"clean-code"}),
    ("contests.0.contestants.0.first_steps.deviations.updates", 4e-2, {"first-steps"}),
    ("contests.0.contestants.0.first_steps", None, {"first-steps-compared"}),
    ("data.dataset", "reuters", {"data"}),
    ("question", "another", {"name"}),
    ("planned", "many", {"schema"}),
]


def planted(path: str, value: object) -> dict:
    """The valid record with one other value."""
    record = copy.deepcopy(VALID)
    put(record, path, value)
    return record


def written(tmp_path, record: dict):
    """A folder of results with a record of contests and no run."""
    folder = write_results(tmp_path, [])
    path = folder / "contests/made/1/record.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(record))
    return folder


@pytest.mark.parametrize(("path", "value", "expected"), FAULTS)
def test_a_fault_is_caught_by_its_rule(tmp_path, path, value, expected):
    record = planted(path, value)
    found = find(written(tmp_path, record if "schema" in expected else sealed(record)))
    assert {one.rule for one in found} == expected
    for one in found:
        assert one.file.endswith("contests/made/1/record.json")
        assert one.severity == rules.table()[one.rule].severity


def test_a_record_that_was_changed_is_caught_by_its_digest(tmp_path):
    record = planted("contests.0.windows.0.working", 0.1)
    assert broken_rules(written(tmp_path, record)) == {"digest"}


@pytest.mark.parametrize(
    ("path", "value", "lost"),
    [
        ("contests.0.windows.1.sleeping", 2.0, {(1, 1, "jax")}),
        ("contests.0.windows.1.updates", 8, {(1, 1, "jax")}),
        ("contests.0.contestants.1.restored", False, {(1, 1, "jax"), (1, 2, "jax")}),
        ("contests.1.contestants.0.devices.replicas", 2, {(2, 1, "torch"), (2, 2, "torch")}),
        ("contests.0.contestants.0.processes.0.git", None, set()),  # a remark
    ],
)
def test_what_breaks_a_rule_has_no_speed_and_says_so(path, value, lost):
    record = typed(ContestsRecord, planted(path, value))
    table = rounds([record], "asked", PASSED)
    without = table[table["examples_per_second"].isna()]
    assert {*zip(without["contest"], without["round"], without["backend"], strict=True)} == lost
    assert "" not in [*without["violations"]]
    assert len(table) == 8


def test_a_speed_leaves_out_the_start_of_an_epoch():
    """The record is made of these speeds, and of 50 ms for each start."""
    table = rounds([typed(ContestsRecord, VALID)], "asked", PASSED).set_index("backend")
    speeds = table["examples_per_second"]
    assert speeds["torch"].tolist() == pytest.approx([100, 110, 120, 105])
    assert speeds["jax"].tolist() == pytest.approx([50, 60, 55, 52])
