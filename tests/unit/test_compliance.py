"""The measurement rules: a valid folder passes; each planted fault is caught by the rule meant, and shown."""

import copy
import json

import pytest
from draw_figures import Drawing, texts_of
from make_contests import valid_contests, write_contests
from make_records import (
    LABELS,
    make_activity,
    make_record,
    of_backend,
    sealed,
    typed,
    validated,
)
from make_results import (
    FIRST,
    find,
    run_collect,
    write_results,
)
from workspace import put

from paragone.analysis import columns, tidy
from paragone.analysis import compliance as rules
from paragone.analysis.contests import rounds
from paragone.analysis.grouping import series_of
from paragone.base import typed_json
from paragone.records.contest_record import ContestsRecord
from paragone.reporting import footnotes


def test_every_rule_of_the_table_is_broken_by_some_fault_here():
    planted = {rule for _, _, expected in VALUES for rule in expected}
    assert planted | {rule for _, rule in PARITY} | {"pace"} == {*rules.table().index}


# One fault each, in the run of PyTorch and seed 0 or in a contest: what is set, and the rules it must break.
VALUES = [
    ("spec.workload.train_examples", 60_001, {"examples"}),
    ("spec.workload.evaluation", {"first": 10_001}, {"examples"}),
    ("processes.0.threads", 3, {"mixed"}),
    ("processes.0.software.numpy", "1.0", {"mixed"}),
    ("processes.0.variables", {"MALLOC_ARENA_MAX": "1"}, {"requested"}),
    ("clocks.other", 9.0, {"clock-sum"}),
    ("processes.0.age", 1.0, {"clock-sum"}),
    ("epochs.0.train_seconds", 9.0, {"clock-sum", "clock-epoch"}),
    ("processes.0.epochs.0.seconds", 0.2, {"clock-epoch"}),  # an evaluation is timed as training
    ("epochs.0.batches", 58, {"counted"}),  # an order of its own
    ("epochs.1.updates", 59, {"counted"}),
    ("epochs.1.batches", ..., set()),  # of a record that does not say so
    ("epochs.0.train_examples", 30_000, {"weighed"}),  # those of one of two ranks
    ("epochs.2.test_examples", 5_000, {"weighed"}),
    ("epochs.2.test_labels", 8, {"weighed"}),  # those of other examples
    ("epochs.0.test_labels", ..., set()),  # of several workers, before a restart
    ("processes.0.epochs", [], set()),  # of a process that was not the first of its host
    ("data.manifest_sha256", "c" * 64, {"same-data"}),
    ("data.edition", "another", {"mixed"}),
    ("processes.0.life.busy", 12.5, {"isolation"}),
    ("processes.0.life.heat_throttles", 2, {"throttling"}),
    ("processes.0.modes.deterministic", False, {"requested"}),
    ("processes.0.modes.math_mode", "tf32", {"requested"}),
    # A rule of the project's in the place of a framework's own.
    ("spec.workload.learning_rate.schedule", {"name": "torch.optim.X"}, {"requested"}),
    ("processes.0.machine.fingerprint", "d" * 64, {"mixed"}),
    ("processes.0.removed_variables", ["OMP_NUM_THREADS"], {"environment"}),
    ("processes.0.git.dirty", True, {"clean-code"}),
    ("processes.0.git.commit", "d" * 40, {"mixed"}),
    ("first_steps.deviations.updates", 4e-2, {"first-steps"}),
    ("first_steps", None, {"first-steps-compared"}),
    ("contests.1.windows.2.sleeping", 0.6, {"asleep"}),
    ("contests.0.windows.3.updates", 8, {"counted"}),  # an engine that ends early
    ("contests.0.windows.3.batches", 1, {"counted"}),  # a window of one batch
    ("contests.0.windows.2.round", 1, {"once"}),
    ("contests.0.windows.3.host.stolen", 900.0, {"calm"}),
    ("contests.0.windows.3.host.heat_throttles", 1, {"throttling"}),
    ("contests.0.contestants.0.modes", None, {"requested"}),
    ("contests.0.contestants.0.processes.0.variables", {"OMP_WAIT_POLICY": "x"}, {"requested"}),
    ("contests.0.contestants.0.processes.0.git", None, {"clean-code"}),
    ("contests.0.contestants.0.first_steps.deviations.updates", 4e-2, {"first-steps"}),
    ("contests.0.contestants.0.first_steps", None, {"first-steps-compared"}),
]
CONTESTS = valid_contests({"torch": [[100, 110], [120, 105]], "jax": [[50, 60], [55, 52]]})
PASSED = {("fashion-cnn", "torch"): True, ("fashion-cnn", "jax"): True}


@pytest.mark.parametrize(("path", "value", "expected"), VALUES)
def test_a_wrong_value_is_caught_by_its_rule(tmp_path, records, path, value, expected):
    contests = copy.deepcopy(CONTESTS)
    put(contests if path.startswith("contests") else records[0], path, value)
    folder = write_results(tmp_path, records)
    file = write_contests(folder, typed_json.typed(ContestsRecord, contests))
    if not path.startswith("contests"):
        file = folder / f"runs/{FIRST}/record.json"
    found = find(folder)
    assert {one.rule for one in found} == expected
    for one in found:
        assert (folder / one.file).samefile(file)
        assert one.severity == rules.table().loc[one.rule, "severity"]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("epochs.0.validation_examples", 3000, {"weighed"}),  # those of one of two ranks
        ("epochs.1.validation_labels", 7, {"weighed"}),  # the test split
        ("epochs.0.validation_labels", ..., set()),  # of several workers, before a restart
        ("data.validation_examples", ..., {"weighed"}),
        ("spec.workload.train_examples", 66_000, set()),
        ("spec.workload.train_examples", 66_001, {"examples"}),
    ],
)
def test_a_validation_split_is_judged_as_the_test_split(path, value, expected):
    made = validated(make_record("torch"))
    assert {one.rule for one in rules.of_run(*typed([made]))} == set()
    put(made, path, value)
    assert {one.rule for one in rules.of_run(*typed([made]))} == expected


def test_a_record_without_the_validation_that_its_workload_has_is_none():
    made = validated(make_record("torch"))
    del made["epochs"][1]["validation_accuracy"]
    with pytest.raises(ValueError, match="has no validation_accuracy"):
        typed([made])


PARITY = [(False, "parity-failed"), (None, "parity")]


@pytest.mark.parametrize(("passed", "rule"), PARITY)
def test_parity_that_was_not_passed(tmp_path, records, passed, rule):
    found = find(write_results(tmp_path, records, torch=passed))
    assert {one.rule for one in found} == {rule}
    assert {one.run for one in found} == {one["run"] for one in of_backend(records, "torch")}


@pytest.mark.parametrize(
    ("factor", "wrong"),
    [
        (2.0, set()),  # hours of a machine differ by as much
        (4.0, {"epochs.train_seconds"}),  # an evaluation in the epochs
        (0.25, {"contests[0].contestants[0]", "contests[1].contestants[0]"}),  # or in the turns
    ],
)
def test_the_slower_of_two_clocks_of_a_cell_has_no_speed(tmp_path, factor, wrong):
    made = make_record("torch", speed=1000)
    folder = write_results(tmp_path, [made])
    contests = valid_contests({"torch": [[1000 * factor]] * 2}, "fashion-conv", 1000)
    file = write_contests(folder, typed_json.typed(ContestsRecord, contests))
    found = find(folder)
    assert {one.rule for one in found} <= {"pace"}
    assert {one.where for one in found} == wrong
    places = folder.glob("runs/*/record.json"), [file], [*folder.glob("parity/*.json")]
    tables = tidy.of_experiment("one", *places)
    speeds = tables["rounds"]["examples_per_second"]
    assert [speeds.isna().all(), speeds.notna().all()] == [factor < 1, factor > 1]


# What figures and tables show


def collected(folder, records):
    """Check and collect as the rule does; the runs and epochs."""
    paths = sorted(write_results(folder, records).glob("runs/*/record.json"))
    parity = [folder / "parity/fashion-conv.json"]
    return run_collect(folder, paths, parity)


def test_a_run_that_breaks_a_rule_is_shown_as_such(tmp_path, records):
    records[0]["clocks"]["other"] += 9.0
    records[1]["processes"][0]["life"] = make_activity(10.0, others=0.5)
    records[2]["processes"][0]["git"]["dirty"] = True
    runs, epochs = collected(tmp_path, records)
    assert len(runs) == len(records)
    broken = runs.set_index("run").loc[FIRST]
    assert (broken["status"], broken["violations"]) == ("invalid", "clock-sum")
    assert broken["reason"].startswith("was completed; clock-sum: processes.age ")
    assert broken[columns.SPEED_COLUMNS].isna().all()
    assert epochs.loc[epochs["run"] == FIRST, "train_seconds"].isna().all()
    busy = runs.set_index("run").loc[records[1]["run"]]
    assert (busy["status"], busy["violations"]) == ("completed", "isolation")
    assert busy["steady_examples_per_second"] > 0
    series = series_of(runs, LABELS)
    assert [len(one.measured) for one in series] == [3, 2, 3]
    text = texts_of(Drawing(tmp_path, runs=runs).figure("variants"))
    assert "breaks a rule (1 of 3 runs)" in text
    assert "BUSY MACHINE: other processes used up to 50 %" in text
    assert "Rules broken: clean-code (1 of 9 runs), clock-sum (1 of 9 runs)." in text


def test_of_mixed_runs_what_differs_is_told(tmp_path, records):
    records[0]["processes"][0]["threads"] = 3
    records[1]["processes"][0]["software"]["numpy"] = "1.0"
    runs, _ = collected(tmp_path, records)
    mixed = runs.set_index("run")["mixed"].dropna()
    assert mixed.to_dict() == {
        FIRST: f"threads 3, {len(records) - 1} other(s) have 2",
        records[1]["run"]: "software numpy 1.0, 2 other(s) have numpy 2.3.0",
    }
    (text,) = [text for text in footnotes.violations(runs) if text.startswith("Mixed")]
    assert all(value in text for value in mixed)
    assert "Mixed" not in " ".join(footnotes.violations(runs.assign(mixed=None)))


def test_a_record_of_another_folder_is_refused(tmp_path, records, capsys):
    folder = write_results(tmp_path, records)
    file = folder / "runs" / FIRST / "record.json"
    records[0]["run"] = "another"
    file.write_text(json.dumps(sealed(records[0])))
    with pytest.raises(SystemExit):
        run_collect(folder, [file], [folder / "parity/fashion-conv.json"])
    assert f"{file}: " in capsys.readouterr().err
    assert not (folder / "runs.parquet").exists()


# Contests


@pytest.mark.parametrize(
    ("path", "value", "lost"),
    [
        ("contests.0.windows.1.sleeping", 2.0, {(1, 1, "jax")}),
        ("contests.0.windows.1.updates", 8, {(1, 1, "jax")}),
        ("contests.1.contestants.0.modes.math_mode", "tf32", {(2, 1, "torch"), (2, 2, "torch")}),
        ("contests.0.contestants.0.processes.0.git", None, set()),  # a remark
    ],
)
def test_what_breaks_a_rule_has_no_speed_and_says_so(path, value, lost):
    contests = copy.deepcopy(CONTESTS)
    put(contests, path, value)
    table = rounds([typed_json.typed(ContestsRecord, contests)], "asked", PASSED)
    without = table[table["examples_per_second"].isna()]
    assert {*zip(without["contest"], without["round"], without["backend"], strict=True)} == lost
    assert "" not in [*without["violations"]]
    assert len(table) == 8


def test_a_speed_leaves_out_the_start_of_an_epoch():
    """The record is made of these speeds, and of 50 ms for each start."""
    table = rounds([typed_json.typed(ContestsRecord, CONTESTS)], "asked", PASSED).set_index(
        "backend"
    )
    speeds = table["examples_per_second"]
    assert speeds["torch"].tolist() == pytest.approx([100, 110, 120, 105])
    assert speeds["jax"].tolist() == pytest.approx([50, 60, 55, 52])
