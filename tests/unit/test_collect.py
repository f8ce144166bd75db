"""A record that cannot be right is refused; of others nothing is lost, and nothing unproven gets a speed."""

import copy
import json

import pandas as pd
import pytest
from make_records import (
    TUNED,
    make_record,
    speed,
    tabulated,
    time_to_target,
    typed,
    waited,
    write_parity,
    write_records,
)
from make_results import run_collect
from msgspec import to_builtins
from msgspec.structs import replace
from workspace import call, command, put, refused

from paragone.analysis import columns, tidy
from paragone.analysis.grouping import series_of, shares_cores
from paragone.analysis.pairwise import differences
from paragone.base import typed_json
from paragone.base.errors import UserError
from paragone.records import record
from paragone.records.run_record import CLOCK_PARTS
from paragone.training import results

BACKENDS = ["tensorflow-mirrored", "torch", "torch-xla"]


def passing(folder):
    return [write_parity(folder, "fashion-conv", dict.fromkeys(BACKENDS, True))]


VALID = {
    "resumed": make_record("torch-ddp", replicas=2, resumed_at=2, target=0.5),
    "failed": make_record("torch", status="crashed"),
}
BASE = make_record("torch", epochs=3, target=0.5, resumed_at=2)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("processes.0.started", "2026-13-01T00:00:00+00:00", "started"),
        ("epochs.1.epoch", 3, "epochs"),
        ("epochs.0.train_accuracy", 1.5, "train_accuracy"),
        ("data.dataset", "reuters", "data.dataset"),
        ("processes.1.manifest_sha256", "c" * 64, "processes"),
        ("run", "../up", "run"),
        ("processes", [], "processes"),
        ("processes.0.colour", 1, "colour"),
        ("processes.0.machine", ..., "machine"),
    ],
)
def test_wrong_value(path, value, words):
    broken = copy.deepcopy(BASE)
    put(broken, path, value)
    with pytest.raises(ValueError, match=words):
        typed([broken])


# Writing and reading


def test_the_time_of_an_epoch_that_was_not_finished_is_not_lost():
    """A full memory ends a run in the middle of one: half a second of training, as much of evaluation."""
    made = results.clocks(dict.fromkeys(CLOCK_PARTS, 0.5), [])
    assert (made.first_steps, made.other) == (0.5, 1.5)


@pytest.mark.parametrize("kind", VALID)
def test_a_record_is_read_as_it_was_written(tmp_path, kind):
    (made,) = typed([VALID[kind]])
    typed_json.write(typed_json.sealed(made), tmp_path / "new/record.json")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["record.json"]
    read = record.read(tmp_path / "new/record.json")
    assert read == made
    assert to_builtins(read) == VALID[kind]


def test_a_broken_record_is_never_written(tmp_path):
    (broken,) = typed([BASE])
    broken.clocks = replace(broken.clocks, first_steps=-1.0)
    with pytest.raises(ValueError, match="clocks"):
        typed_json.write(broken, tmp_path / "record.json")
    assert not list(tmp_path.iterdir())


CHANGED = [json.dumps({**BASE, "run": 1}), json.dumps({**BASE, "reason": "of another run"})]


@pytest.mark.parametrize("content", [None, "{", "[]", *CHANGED])
def test_an_unreadable_record_is_one_error_that_names_it(tmp_path, content):
    path = tmp_path / "record.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UserError, match=f"^{path}: not a valid record"):
        record.read(path)


# From records to tables


def test_values_arrive_in_named_columns(tmp_path):
    accuracies = [0.5, 0.7, 0.9, 0.8]
    made = make_record(seed=3, target=0.8, resumed_at=2, epochs=4, accuracies=accuracies)
    runs, epochs = run_collect(tmp_path, write_records(tmp_path, [made]), passing(tmp_path))
    row = runs.iloc[0]
    assert list(runs.columns) == list(columns.RUN_COLUMNS)
    assert row["steady_examples_per_second"] == speed(made)
    assert row["steady_source"] == "its epochs"
    assert row["compilation_seconds"] == made["clocks"]["compilation"]
    assert row["end_to_end_seconds"] == pytest.approx(waited(made))
    assert row["final_test_accuracy"] == 0.8
    assert row["target_first_hit_seconds"] == time_to_target(made)[1]
    assert bool(row["resumed"])
    assert row["parity"] == "passed"
    parts = sum(row[f"{part}_seconds"] for part in CLOCK_PARTS if part != "first_steps")
    assert parts == pytest.approx(row["end_to_end_seconds"])
    assert epochs["test_accuracy"].tolist() == accuracies
    assert epochs["first_of_process"].tolist() == [True, True, False, False]
    assert row["other_cpu_share"] == pytest.approx(0.02)


@pytest.mark.parametrize(("passed", "word"), [(False, "failed"), (None, "not checked")])
def test_without_parity_no_speed(passed, word):
    made = [make_record("torch"), make_record("torch-xla")]
    parity = {("fashion-conv", "torch"): True, ("fashion-conv", "torch-xla"): passed}
    runs, epochs = tabulated(made, parity)
    proven, unproven = (runs[runs["backend"] == name].iloc[0] for name in ("torch", "torch-xla"))
    assert unproven["parity"] == word
    assert unproven[columns.SPEED_COLUMNS].isna().all()
    assert proven[["steady_examples_per_second", "end_to_end_seconds"]].notna().all()
    seconds = epochs.loc[epochs["run"] == unproven["run"], "train_seconds"]
    assert len(seconds) == 3
    assert seconds.isna().all()
    assert unproven["final_test_accuracy"] > 0.8  # what it learned is still a result


def test_a_run_whose_first_steps_fail_has_no_speed():
    made = make_record("torch")
    made["first_steps"]["deviations"]["updates"] = None  # not finite
    runs, _ = tabulated([made, make_record("torch", seed=1)])
    assert runs["parity"].tolist() == ["failed", "passed"]
    assert runs["steady_examples_per_second"].isna().tolist() == [True, False]


def test_machines_editions_and_batches_are_never_pooled():
    made = [
        make_record("torch", seed=0, host="node-1"),
        make_record("torch", seed=1, host="node-1"),
        make_record("torch", seed=0, host="node-2"),
        make_record("torch", seed=2, global_batch=500, host="node-1"),
    ]
    runs, _ = tidy.tables(typed(made), "one", {})
    series = series_of(runs, {"torch": "PyTorch"})
    assert sorted(len(one.runs) for one in series) == [1, 1, 2]
    assert sum("node-2" in one.label for one in series) == 1
    made[1]["data"]["source"] = "synthetic"
    runs, _ = tidy.tables(typed(made), "one", {})
    assert sum("SYNTHETIC" in one.label for one in series_of(runs, {})) == 1


def test_precisions_and_tunings_are_series_of_their_own_and_compared_with_their_like():
    made = [make_record("torch", seed=seed) for seed in (0, 1)]
    made += [make_record("torch", precision="bfloat16"), make_record("torch-xla")]
    made += [make_record(backend, tuning=TUNED) for backend in ("torch", "torch-xla")]
    labels = {"torch": "PyTorch", "torch-xla": "XLA"}
    runs, _ = tidy.tables(typed(made), "one", {})
    series = {one.label: len(one.runs) for one in series_of(runs, labels)}
    assert series == {
        "PyTorch (bfloat16)": 1,
        "PyTorch": 2,
        "PyTorch (tuned)": 1,
        "XLA": 1,
        "XLA (tuned)": 1,
    }
    found = differences(runs, labels)[["tuning", "first", "second"]].drop_duplicates()
    assert {tuple(pair) for pair in found.to_numpy()} == {
        ("both", "PyTorch", "PyTorch (tuned)"),
        ("as-installed", "PyTorch (bfloat16)", "PyTorch"),
        ("as-installed", "PyTorch (bfloat16)", "XLA"),
        ("as-installed", "PyTorch", "XLA"),
        ("tuned", "PyTorch (tuned)", "XLA (tuned)"),
        ("both", "XLA", "XLA (tuned)"),
    }


@pytest.mark.parametrize(
    ("devices", "machines", "shared"),
    [
        (["cpu", "cpu"], [1, 1], True),
        (["cpu", "cpu"], [1, pd.NA], True),  # nothing was measured there
        (["cpu", "cpu"], [1, 2], False),  # workers on two hosts
        (["cpu", "gpu"], [1, 1], False),
    ],
)
def test_only_virtual_devices_of_one_machine_share_cores(devices, machines, shared):
    counts = pd.Series(machines, dtype="Int64")
    assert shares_cores(pd.DataFrame({"device": devices, "machines": counts})) is shared


# A terminal or batch system without a locale, and a Python that is not set to UTF-8.
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_a_program_prints_whatever_the_locale(tmp_path):
    folder = tmp_path / "Größe 東京"
    kinds = ("products", "all_runs", "all_runs_parquet", "all_epochs")
    files = {kind: folder / kind for kind in kinds}
    line = command("collect", type="join", runs=[folder / "lacking"], epochs=[], **files)
    refused(call(line, **ASCII), "lacking: not a table")
