"""From records to tables: nothing is lost, nothing unproven gets a speed, errors name the file."""

import numpy as np
import pandas as pd
import pytest
from make_records import (
    TUNED,
    make_record,
    sealed,
    speed,
    time_to_target,
    typed,
    waited,
    write_parity,
    write_records,
)

import collect
from paragone.analysis import columns, tidy
from paragone.analysis.grouping import series_of, shares_cores
from paragone.analysis.pairwise import differences
from paragone.base.clock_names import PARTS
from paragone.base.errors import UserError

BACKENDS = ["tensorflow-mirrored", "torch", "torch-xla"]


def run_collect(folder, made, parity, experiment="one"):
    runs, epochs = (folder / f"{experiment}.{kind}.parquet" for kind in ("runs", "epochs"))
    collect.main(
        [
            *("runs", "--experiment", experiment),
            *("--records", *map(str, write_records(folder, made))),
            *("--parity", *map(str, parity)),
            *("--runs", str(runs), "--epochs", str(epochs)),
        ]
    )
    return tidy.read(runs), tidy.read(epochs)


def passing(folder, **failed):
    verdicts = {**dict.fromkeys(BACKENDS, True), **failed}
    return [write_parity(folder, "fashion-conv", verdicts)]


def test_values_arrive_in_named_columns(tmp_path):
    accuracies = [0.5, 0.7, 0.9, 0.8]
    made = make_record(seed=3, target=0.8, resumed_at=2, epochs=4, accuracies=accuracies)
    runs, epochs = run_collect(tmp_path, [made], passing(tmp_path))
    row = runs.iloc[0]
    assert list(runs.columns) == list(columns.RUN_COLUMNS)
    assert row["run"] == made["run"]
    assert row["seed"] == 3
    assert row["experiment"] == "one"
    assert row["steady_examples_per_second"] == speed(made)
    assert row["steady_constant_seconds"] == pytest.approx(0.1)
    assert bool(row["window_adequate"])
    assert row["compilation_seconds"] == made["clocks"]["cold"]["compilation"]
    assert row["end_to_end_seconds"] == pytest.approx(waited(made))
    assert row["final_test_accuracy"] == 0.8
    assert row["target_first_hit_seconds"] == time_to_target(made).first_hit
    assert bool(row["resumed"])
    assert row["parity"] == "passed"
    assert (row["feed"], row["math_mode"]) == ("batches", "ieee")
    assert epochs["input_share"].tolist() == [pytest.approx(0.02)] * 4
    parts = sum(row[f"{part}_seconds"] for part in PARTS if part != "window")
    assert parts == pytest.approx(row["end_to_end_seconds"])
    assert epochs["test_accuracy"].tolist() == accuracies
    elapsed = np.cumsum([e["train_seconds"] for e in made["epochs"]])
    assert epochs["elapsed_train_seconds"].tolist() == pytest.approx(elapsed)
    assert epochs["first_of_process"].tolist() == [True, True, False, False]
    assert epochs["other_cpu_share"].tolist() == pytest.approx([0.02] * 4)
    assert row["other_cpu_share"] == pytest.approx(0.02)


@pytest.mark.parametrize(("passed", "word"), [(False, "failed"), (None, "not checked")])
def test_without_parity_no_speed(tmp_path, passed, word):
    made = [make_record("torch"), make_record("torch-xla")]
    verdicts = {"torch": True} | ({} if passed is None else {"torch-xla": passed})
    parity = [write_parity(tmp_path, "fashion-conv", verdicts)]
    runs, epochs = run_collect(tmp_path, made, parity)
    proven, unproven = (runs[runs["backend"] == name].iloc[0] for name in ("torch", "torch-xla"))
    assert unproven["parity"] == word
    assert unproven[columns.SPEED_COLUMNS].isna().all()
    assert proven[["steady_examples_per_second", "end_to_end_seconds"]].notna().all()
    seconds = epochs.loc[epochs["run"] == unproven["run"], "train_seconds"]
    assert len(seconds) == 3
    assert seconds.isna().all()
    assert unproven["final_test_accuracy"] > 0.8  # what it learned is still a result


def test_a_run_whose_first_steps_fail_has_no_speed(tmp_path):
    made = make_record("torch")
    made["first_steps"]["deviations"]["updates"] = None  # not finite
    runs, _ = run_collect(tmp_path, [sealed(made), make_record("torch", seed=1)], passing(tmp_path))
    assert runs["parity"].tolist() == ["failed", "passed"]
    assert runs["steady_examples_per_second"].isna().tolist() == [True, False]


def test_broken_record_is_named_and_nothing_is_written(tmp_path, capsys):
    path = write_records(tmp_path, [make_record()])[0]
    path.write_text(path.read_text().replace('"status": "completed"', '"status": "fine"'))
    outputs = [tmp_path / "runs.parquet", tmp_path / "epochs.parquet"]
    line = ["runs", "--experiment", "one", "--records", path]
    with pytest.raises(SystemExit) as stopped:
        collect.main([str(word) for word in (*line, "--runs", outputs[0], "--epochs", outputs[1])])
    message = capsys.readouterr().err
    assert stopped.value.code == 1
    assert str(path) in message
    assert "$.status" in message
    assert "Traceback" not in message
    assert not any(output.exists() for output in outputs)


def test_the_same_run_twice_is_an_error():
    with pytest.raises(UserError, match="more than once"):
        tidy.tables(typed([make_record(), make_record()]), "one", {})


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
    assert len({one.label for one in series}) == 3
    assert sum("node-2" in one.label for one in series) == 1
    assert all(len(set(one.runs["machine"])) == 1 for one in series)
    made[1]["data"]["source"] = "synthetic"
    runs, _ = tidy.tables(typed(made), "one", {})
    series = series_of(runs, {})
    assert len(series) == 4
    assert sum("SYNTHETIC" in one.label for one in series) == 1


def test_precisions_are_series_of_their_own_and_compared():
    made = [make_record("torch", seed=seed) for seed in (0, 1)]
    mixed = make_record("torch", seed=0, precision="bfloat16")
    runs, _ = tidy.tables(typed([*made, mixed]), "one", {})
    series = series_of(runs, {"torch": "PyTorch"})
    assert [one.label for one in series] == ["PyTorch (bfloat16)", "PyTorch"]
    assert [len(one.runs) for one in series] == [1, 2]
    compared = differences(runs, {"torch": "PyTorch"})[["first", "second"]].drop_duplicates()
    assert compared.to_numpy().tolist() == [["PyTorch (bfloat16)", "PyTorch"]]


def test_variants_are_compared_within_a_tuning_and_each_with_itself():
    made = [
        make_record(backend, tuning=tuning)
        for backend in ("torch", "torch-xla")
        for tuning in (None, TUNED)
    ]
    runs, _ = tidy.tables(typed(made), "one", {})
    found = differences(runs, {"torch": "PyTorch", "torch-xla": "XLA"})
    pairs = found[["tuning", "first", "second"]].drop_duplicates().to_numpy().tolist()
    assert pairs == [
        ["both", "PyTorch", "PyTorch (tuned)"],
        ["as-installed", "PyTorch", "XLA"],
        ["tuned", "PyTorch (tuned)", "XLA (tuned)"],
        ["both", "XLA", "XLA (tuned)"],
    ]


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
