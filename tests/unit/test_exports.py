"""Runs as neighbours read them, read by the neighbours' own readers."""

import warnings
from pathlib import Path

import pytest
from make_records import make_record, typed, write_records
from mlperf_logging.compliance_checker import mlp_compliance
from mlperf_logging.compliance_checker.mlp_parser import parse_file

import export_runs
from paragone.analysis import tidy

MADE = [
    make_record("torch", epochs=3, resumed_at=2),
    make_record("torch", seed=1, status="diverged"),
    make_record("torch-ddp", status="out_of_memory"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("results")
    write_records(made, MADE)
    tidy.write(tidy.tables(typed(MADE), "one", {})[0], made / "runs.parquet")
    for kind in ("mllog", "tensorboard"):
        arguments = ["--results", made, "--runs", made / "runs.parquet", "--output", made / kind]
        export_runs.main([kind, *map(str, arguments)])
    return made


def log_of(folder: Path, record: dict) -> Path:
    return folder / "mllog" / f"{record['run']}.txt"


@pytest.mark.parametrize("record", MADE, ids=[one["status"] for one in MADE])
def test_mlperf_parses_every_line(folder, record):
    path = log_of(folder, record)
    found, errors = parse_file(str(path), ruleset="5.1.0")
    assert errors == []
    assert len(found) == len(path.read_text().splitlines()) > 8
    assert [one.timestamp for one in found] == sorted(one.timestamp for one in found)


@pytest.mark.parametrize("record", MADE[:2], ids=["completed", "diverged"])
def test_mlperf_finds_nothing_wrong_with_the_form(folder, record):
    """The rules common to all benchmarks; those of one benchmark ask for one of MLPerf's own names."""
    checker = mlp_compliance.make_checker("training", "5.1.0", quiet=True, werror=False)
    found, _ = parse_file(str(log_of(folder, record)), ruleset="5.1.0")
    config = Path(mlp_compliance.__file__).parent / "training_5.1.0/common.yaml"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checker.configured_checks(found, str(config))
    assert not checker.has_messages()


def test_the_form_is_really_checked(folder):
    path = log_of(folder, MADE[0])
    lines = [line for line in path.read_text().splitlines() if '"eval_accuracy"' not in line]
    (cut := folder / "cut.txt").write_text("\n".join(lines))
    checker = mlp_compliance.make_checker("training", "5.1.0", quiet=True, werror=False)
    config = Path(mlp_compliance.__file__).parent / "training_5.1.0/common.yaml"
    checker.configured_checks(parse_file(str(cut), ruleset="5.1.0")[0], str(config))
    assert checker.has_messages()


def test_the_log_holds_the_accuracies_of_the_record(folder):
    found, _ = parse_file(str(log_of(folder, MADE[0])), ruleset="5.1.0")
    accuracies = [one.value["value"] for one in found if one.key == "eval_accuracy"]
    assert accuracies == [epoch["test_accuracy"] for epoch in MADE[0]["epochs"]]


def test_tensorboard_reads_the_epochs(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / "tensorboard" / MADE[0]["run"]))
    events.Reload()
    points = events.Scalars("test_accuracy")
    assert [one.step for one in points] == [1, 2, 3]
    expected = [epoch["test_accuracy"] for epoch in MADE[0]["epochs"]]
    assert [one.value for one in points] == pytest.approx(expected)
    assert events.Tags()["tensors"] == ["specification"]
    # The diverged run has no loss in its last epoch.
    events = EventAccumulator(str(folder / "tensorboard" / MADE[1]["run"]))
    events.Reload()
    assert [one.step for one in events.Scalars("train_loss")] == [1]
