"""The measurement rules: a valid folder passes; each planted fault is caught by the rule meant."""

import copy
import csv
import json
import re
from dataclasses import asdict
from datetime import datetime

import pytest
from documents import anchors
from make_records import clocks, set_times, typed
from make_results import BACKENDS, FIRST, VALID, find, of, write_results

import check_records
from paragone.analysis.compliance import checks, of_experiment
from paragone.base.clock_names import COLD, PARTS
from paragone.config import code_inputs
from paragone.config.run_spec import Spec
from paragone.records.compliance import rules

METHOD = rules.TABLE.parents[2] / "docs/method.md"


def broken_rules(folder) -> set[str]:
    return {one.rule for one in find(folder)}


def test_a_valid_folder_breaks_no_rule(tmp_path, records, capsys):
    folder = write_results(tmp_path, records)
    assert find(folder) == []
    check_records.main([str(folder)])
    assert "9 records" in capsys.readouterr().out


def test_every_rule_of_the_table_has_one_check_and_every_check_a_rule():
    checked = [*checks.OF_JSON, *checks.OF_ONE, *of_experiment.CHECKS, *checks.ELSEWHERE]
    assert sorted(checked) == sorted(rules.table())
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


def test_a_rule_that_is_only_judged_retrains_nothing():
    loop = code_inputs.code_inputs("train.py", "paragone.engines.torch")
    names = {path.rpartition("/")[2] for path in loop if "/compliance/" in path}
    assert names == {"__init__.py", "asserted.py", "rules.py"}


def add_up(record: dict) -> None:
    """Let the ages of its processes be what its clocks are now."""
    set_times(record, datetime.fromisoformat(record["processes"][0]["started"]))


def resume(record: dict) -> None:
    """As if the third epoch had begun a second process, hours later."""
    first = record["processes"][0]
    second = copy.deepcopy(first)
    first["epochs"], second["epochs"] = first["epochs"][:2], first["epochs"][2:]
    first["window"] = []
    record["processes"].append({**second, "first_epoch": 3})
    add_up(record)
    for key in ("started", "ended"):
        record["processes"][1][key] = record["processes"][1][key].replace("T00:", "T06:")


def test_a_resumed_run_breaks_no_rule(tmp_path, records):
    resume(records[0])
    assert find(write_results(tmp_path, records)) == []


# One fault each, in the run of PyTorch and seed 0: what is set, and the rules it must break, exactly.
VALUES = [
    ("schema", 2, {"schema", "seeds"}),  # the seed of a record that cannot be read is missing
    ("colour", "red", {"schema", "seeds"}),
    ("status", "fine", {"schema", "seeds"}),
    ("epochs.1.test_accuracy", 1.5, {"schema", "seeds"}),
    ("clocks.window", -1.0, {"schema", "seeds"}),
    ("spec.seed", 7, {"name", "seeds", "read"}),
    ("spec.colour", "red", {"specification", "seeds"}),
    ("spec.backend", None, {"specification", "seeds"}),
    ("spec.workload.dataset", None, {"specification", "seeds"}),
    ("spec.deterministic", False, {"name", "read"}),
    ("reason", "it rained", {"status"}),
    ("status", "diverged", {"status"}),
    ("model.final_weights", None, {"status"}),
    ("epochs.3.train_loss", None, {"status"}),
    ("data.dataset", "cifar", {"data", "manifest"}),
    ("data.source", "synthetic", {"data", "manifest", "one-edition"}),
    ("devices.replicas", 2, {"devices"}),
    ("devices.workers", 2, {"devices"}),
    ("devices.kind", "gpu", {"devices"}),
    ("devices", None, {"devices"}),
    ("processes.0.threads", 3, {"threads", "one-setting"}),
    ("clocks.other", 9.0, {"clock-sum"}),
    ("clocks.cold.imports", 0.0, {"clock-sum"}),
    ("processes.0.age", 1.0, {"clock-sum", "time-of-day"}),
    ("processes.0.age", None, {"clock-sum"}),
    ("processes.0.ended", "2026-01-01T00:00:00+00:00", {"time-of-day"}),
    ("processes.0.ended", "2026-01-01T00:00:99+00:00", {"schema", "seeds"}),
    ("processes.0.started", "2026-01-01T00:00:00", {"schema", "seeds"}),
    ("epochs.1.evaluate_seconds", 9.0, {"clock-sum"}),
    ("epochs.0.train_seconds", 9.0, {"clock-sum", "epoch-clock"}),
    ("processes.0.epochs.2.seconds", 9.0, {"epoch-clock"}),
    ("processes.0.epochs", [], set()),  # of a process that was not the first of its host
    ("processes.0.window", VALID[0]["processes"][0]["window"][:3], {"epoch-clock"}),
    ("processes.0.window.1.seconds", 1.0, {"epoch-clock"}),
    ("clocks.window", 0.5, {"clock-sum"}),
    ("window.1.seconds", 90.0, {"clock-sum", "epoch-clock"}),
    ("window", [], {"window", "epoch-clock"}),
    ("epochs.1.epoch", 3, {"epochs"}),
    ("processes.0.first_epoch", 2, {"processes", "epoch-clock"}),
    ("processes.0.rank", 1, {"ranks", "clock-sum"}),
    ("epochs.2.steps", 59, {"work"}),
    ("epochs.3.learning_rate", 0.1, {"learning-rate"}),
    ("epochs.0.test_accuracy", 0.70004, {"accuracy"}),
    ("epochs.0.train_accuracy", 0.71001, {"accuracy"}),
    ("model.final_weights", VALID[0]["model"]["initial_weights"], {"weights"}),
    ("model.initial_weights", "c" * 64, {"initial-weights"}),
    ("model.parameters", 108_811, {"parameters"}),
    ("data.manifest_sha256", "c" * 64, {"same-data", "read"}),
    ("data.edition", "rebuilt", {"manifest", "one-edition"}),
    ("data.edition", "synthetic", {"data", "manifest", "one-edition"}),
    (
        "processes.0.started",
        "2026-01-01T05:00:00+00:00",
        {"order", "processes", "time-of-day"},
    ),
    ("processes.0.load.life.busy", 12.5, {"isolation"}),
    ("processes.0.load.life.stolen", 2.1, {"isolation"}),
    ("processes.0.window.1.stolen", 2.1, {"isolation"}),
    ("processes.0.load.life.heat_throttles", 2, {"throttling"}),
    ("processes.0.load.life.quota_throttled", 0.1, {"throttling"}),
    ("processes.0.load.accelerator_throttled", True, {"throttling"}),
    ("processes.0.machine.fingerprint", "d" * 64, {"fingerprint", "one-machine"}),
    ("processes.0.machine.memory_gib", 9, {"fingerprint"}),
    ("processes.0.machine.host", "node-2", {"fingerprint"}),
    ("processes.0.cores", 3, {"threads"}),
    ("data.input_shape", [28, 28, 3], {"manifest", "same-data"}),
    ("data.test_examples", 5000, {"manifest", "same-data"}),
    ("data.train_examples", 59_000, {"manifest"}),
    ("processes.0.git", None, {"clean-code", "one-code"}),
    ("processes.0.git.dirty", True, {"clean-code"}),
    ("processes.0.git.commit", "d" * 40, {"one-code"}),
    ("processes.0.config_sha256", "d" * 64, {"read"}),
    ("processes.0.manifest_sha256", "d" * 64, {"read"}),
    ("efficiency.train_flop_per_example", 10_000, {"flop"}),
    ("first_steps.deviations.updates", 4e-2, {"first-steps"}),
    ("first_steps.deviations.training", None, {"first-steps"}),
    ("first_steps.allowed.updates", 1e-3, {"first-steps"}),
    ("first_steps.deviations", {}, {"first-steps-compared"}),
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
    if expected and "seeds" not in expected:  # that tells of other runs too
        assert {one.run for one in found} == {FIRST}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("change", [0.06, -0.06])
def test_each_part_of_the_clocks_must_add_up(records, part, change):
    made = records[0]
    clocks_of, key = (made["clocks"]["cold"] if part in COLD else made["clocks"]), part
    if part in ("train", "evaluate"):
        clocks_of, key = made["epochs"][1], f"{part}_seconds"
    clocks_of[key] += change
    (record,) = typed([made])
    (first, *_) = checks.OF_ONE["clock-sum"](record)
    assert first.where == "processes.age"


def test_a_record_that_was_changed_is_told_by_its_digest(tmp_path, records):
    """A loss, which nothing else in the record determines."""
    folder = write_results(tmp_path, records)
    path = folder / "runs" / FIRST / "record.json"
    changed = json.loads(path.read_text())
    changed["epochs"][0]["test_loss"] += 1e-9
    path.write_text(json.dumps(changed))
    assert {(one.rule, one.run) for one in find(folder)} == {("digest", FIRST)}


def test_data_are_compared_with_the_manifest_that_they_name_alone(tmp_path, records):
    folder = write_results(tmp_path, records)
    path = folder / "data/fashion_mnist/manifest.json"
    assert find(folder) == []
    path.write_text(path.read_text().replace("28", "14"))
    assert find(folder) == []  # of other data


def drop_an_epoch(records):
    record = records[0]
    record["epochs"].pop(0)
    add_up(record)


def stop_early(records):
    record = records[0]
    record["epochs"].pop()
    record["processes"][0]["epochs"].pop()
    add_up(record)


def resume_in_the_past(records):
    resume(records[0])
    records[0]["processes"][1]["started"] = "2025-01-01T00:00:00+00:00"


def forget_the_resumption(records):
    resume(records[0])
    records[0]["processes"].pop()


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
        (stop_early, {"planned-epochs"}),
        (resume_in_the_past, {"processes", "time-of-day"}),
        (forget_the_resumption, {"clock-sum"}),
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


def test_a_resumed_run_may_be_late(tmp_path, records):
    resume(records[4])
    for process in records[4]["processes"]:
        for key in ("started", "ended"):
            process[key] = process[key].replace("2026-01-01", "2026-01-02")
    assert find(write_results(tmp_path, records)) == []


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
