"""The measurement rules: a valid folder passes; each planted fault is caught by the rule meant."""

import csv
import json
import re

import pytest
from documents import anchors
from make_results import FIRST, VALID, find, resume, valid_records, write_results

from paragone.analysis import compliance
from paragone.config.run_spec import Spec
from paragone.records import rules
from paragone.records.compliance import OF_CONTEST, OF_CONTESTANT

METHOD = rules.TABLE.parents[2] / "docs/method.md"


def test_every_rule_of_the_table_has_one_check_and_every_check_a_rule():
    checked = [
        "schema",
        *compliance.OF_RECORD,
        *(rule for rule in OF_CONTEST if rule not in compliance.OF_RECORD),
        *compliance.OF_EXPERIMENT,
        *compliance.OF_FILES,
    ]
    assert sorted(checked) == sorted(rules.table())
    assert {*OF_CONTESTANT} <= {*compliance.OF_RECORD}
    for rule in rules.table().values():
        assert rule.severity in rules.SEVERITIES
        assert rule.says
        reasons, *others = rule.source.split("; ")
        section = re.fullmatch(r"docs/method\.md#([a-z-]+)", reasons)
        assert section, rule
        assert section[1] in anchors(METHOD), rule
        assert all(other.startswith("MLPerf") for other in others), rule
    with rules.TABLE.open() as file:
        assert len(list(csv.DictReader(file))) == len(rules.table())  # no id twice


def test_a_resumed_run_breaks_no_rule(tmp_path, records):
    resume(records[0])
    assert find(write_results(tmp_path, records)) == []


@pytest.mark.parametrize(
    "change", [{"tuning": {"options": {"fused_optimizer": True}}}, {"precision": "bfloat16"}]
)
def test_tunings_and_precisions_have_the_same_seeds(tmp_path, change):
    """They are cells of their own."""
    made = valid_records(range(2), ["torch", "torch-ddp"])
    for one in made[1::2]:
        one["spec"] |= {"backend": made[0]["spec"]["backend"], **change}
        spec = Spec.from_json(json.dumps(one["spec"]))
        one["run"] = spec.name
        one["processes"][0]["config_sha256"] = spec.sha256
    assert find(write_results(tmp_path, made)) == []


# One fault each, in the run of PyTorch and seed 0: what is set, and the rules it must break, exactly.
VALUES = [
    ("schema", 3, {"schema", "seeds"}),  # the seed of a record that cannot be read is missing
    ("status", "fine", {"schema", "seeds"}),
    ("spec.seed", 7, {"name", "seeds", "read"}),
    ("spec.colour", "red", {"schema", "seeds"}),
    ("spec.deterministic", False, {"name", "read"}),
    ("spec.workload.train_examples", 60_001, {"name", "read", "examples"}),
    ("spec.workload.evaluation", {"first": 10_001}, {"name", "read", "examples"}),
    ("reason", "it rained", {"status"}),
    ("status", "diverged", {"status"}),
    ("epochs.3.train_loss", None, {"status"}),
    ("data.source", "synthetic", {"data", "manifest", "one-edition"}),
    ("devices.replicas", 2, {"devices"}),
    ("devices", None, {"devices"}),
    ("processes.0.threads", 3, {"threads", "one-setting"}),
    ("processes.0.variables", {"MALLOC_ARENA_MAX": "1"}, {"tuning"}),
    ("clocks.other", 9.0, {"clock-sum"}),
    ("processes.0.age", 1.0, {"clock-sum", "time-of-day"}),
    ("processes.0.ended", "2026-01-01T00:00:00+00:00", {"time-of-day"}),
    ("processes.0.started", "2026-01-01T00:00:00", {"schema", "seeds"}),
    ("epochs.0.train_seconds", 9.0, {"clock-sum", "epoch-clock"}),
    ("processes.0.epochs.2.seconds", 9.0, {"epoch-clock"}),
    ("processes.0.epochs", [], set()),  # of a process that was not the first of its host
    ("processes.0.window", VALID[0]["processes"][0]["window"][:3], {"epoch-clock"}),
    ("processes.0.window.1.seconds", 1.0, {"epoch-clock"}),
    ("window", [], {"epoch-clock"}),
    ("window.1.updates", 8, {"counted"}),
    ("window.1.batches", 1, {"counted"}),
    ("epochs.1.epoch", 3, {"epochs"}),
    ("processes.0.first_epoch", 2, {"processes", "epoch-clock"}),
    ("processes.0.rank", 1, {"ranks", "clock-sum"}),
    ("epochs.2.steps", 59, {"work"}),
    ("epochs.3.learning_rate", 0.1, {"learning-rate"}),
    ("epochs.0.test_accuracy", 0.70004, {"accuracy"}),
    ("model.final_weights", VALID[0]["model"]["initial_weights"], {"weights"}),
    ("model.initial_weights", "c" * 64, {"initial-weights"}),
    ("model.parameters", 108_811, {"parameters"}),
    ("data.manifest_sha256", "c" * 64, {"same-data", "read"}),
    ("data.edition", "another", {"manifest", "one-edition"}),
    ("processes.0.started", "2026-01-01T05:00:00+00:00", {"order", "time-of-day"}),
    ("processes.0.load.life.busy", 12.5, {"isolation"}),
    ("processes.0.window.1.stolen", 2.1, {"isolation"}),
    ("processes.0.load.life.heat_throttles", 2, {"throttling"}),
    ("processes.0.load.life.accelerator_slowed", [0.1, 0.0], {"throttling"}),
    ("processes.0.modes.deterministic", False, {"modes"}),
    ("processes.0.modes.math_mode", "tf32", {"modes"}),
    ("processes.0.machine.fingerprint", "d" * 64, {"fingerprint", "one-machine"}),
    ("processes.0.cores", 3, {"threads"}),
    ("data.input_shape", [28, 28, 3], {"manifest", "same-data"}),
    ("data.test_examples", 5000, {"manifest", "same-data"}),
    ("data.train_majority", 0.2, {"manifest"}),
    ("processes.0.removed_variables", ["OMP_NUM_THREADS"], {"environment"}),
    ("processes.0.git.dirty", True, {"clean-code"}),
    ("processes.0.git.commit", "d" * 40, {"one-code"}),
    ("processes.0.config_sha256", "d" * 64, {"read"}),
    ("efficiency.train_flop_per_example", 10_000, {"flop"}),
    ("first_steps.deviations.updates", 4e-2, {"first-steps"}),
    ("first_steps", None, {"first-steps-compared"}),
    ("processes.0.software.numpy", "1.0", {"one-setting"}),
]


@pytest.mark.parametrize(("path", "value", "expected"), VALUES)
def test_wrong_value_is_caught_by_its_rule(tmp_path, records, path, value, expected):
    *parents, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    at = records[0]
    for key in parents:
        at = at[key]
    at[last] = value
    if path.startswith("spec."):  # the folder keeps the name; the record gives it still
        records[0]["run"] = FIRST
    found = find(write_results(tmp_path, records))
    assert {one.rule for one in found} == expected
    for one in found:
        assert one.run
        assert one.file.endswith("record.json")
        assert one.severity == rules.table()[one.rule].severity
    assert not expected or FIRST in {one.run for one in found}
    if expected and "seeds" not in expected:  # a missing seed affects other runs, too
        assert {one.run for one in found} == {FIRST}


def test_a_record_that_was_changed_is_caught_by_its_digest(tmp_path, records):
    """A loss, which nothing else in the record determines."""
    folder = write_results(tmp_path, records)
    path = folder / "runs" / FIRST / "record.json"
    changed = json.loads(path.read_text())
    changed["epochs"][0]["test_loss"] += 1e-9
    path.write_text(json.dumps(changed))
    assert {(one.rule, one.run) for one in find(folder)} == {("digest", FIRST)}
