"""Accuracies compared with the baseline's: what the table says is what was put into the records."""

import json

import pandas as pd
import pytest
from make_records import make_record, typed
from make_tables import write

from paragone.analysis import tidy

SETTINGS = ["--settings", json.dumps({"baseline": "torch"})]
BASE = (0.80, 0.82, 0.81, 0.83, 0.79)


def cell(backend: str, *off: float, **about) -> list[dict]:
    """Five seeds that are off from the baseline's by so much."""
    return [
        make_record(backend, seed=seed, epochs=1, accuracies=[base + by], **about)
        for seed, (base, by) in enumerate(zip(BASE, off, strict=True))
    ]


def rows_of(tmp_path, made: list[dict]) -> pd.DataFrame:
    runs, _ = tidy.tables(typed(made), "one", {})
    outputs = write(tmp_path, "accuracies", *SETTINGS, runs=runs)
    found = pd.read_csv(outputs["csv"])
    return found[found["split"] == "test"].set_index("series")


def test_equal_different_and_undecided_variants(tmp_path):
    made = [
        *cell("torch", 0, 0, 0, 0, 0),
        *cell("torch-xla", 0.001, -0.001, 0, 0.002, -0.002),
        *cell("tensorflow-mirrored", -0.06, -0.05, -0.06, -0.05, -0.055),
        *cell("torch-ddp", 0.05, -0.05, 0.04, -0.06, 0.0),
        make_record("tensorflow-tpu", status="unavailable"),
    ]
    rows = rows_of(tmp_path, made)
    assert rows["verdict"].to_dict() == {
        "PyTorch": "baseline",
        "PyTorch/XLA SPMD": "equal",
        "TensorFlow Mirrored": "differs",
        "PyTorch DDP": "undecided",
        "TensorFlow TPU": "undecided",
    }
    assert rows.loc["TensorFlow Mirrored", "difference"] == pytest.approx(-0.055)
    assert rows.loc["PyTorch", "accuracy"] == pytest.approx(0.81)
    # Five differences of mean 0 and deviation 0.001581; t(4) at 95 % is 2.131847.
    equal, half = rows.loc["PyTorch/XLA SPMD"], 2.131847 * 0.00158114 / 5**0.5
    assert (equal["low"], equal["high"]) == pytest.approx((-half, half), rel=1e-4)
    assert "device not available" in (tmp_path / "accuracies.markdown").read_text()


def test_pairs_are_of_one_seed(tmp_path):
    """The same accuracies in another order of seeds: an equal mean, but other differences per seed."""
    other = [0.79 - 0.80, 0.83 - 0.82, 0.81 - 0.81, 0.82 - 0.83, 0.80 - 0.79]
    rows = rows_of(tmp_path, [*cell("torch", 0, 0, 0, 0, 0), *cell("torch-xla", *other)])
    row = rows.loc["PyTorch/XLA SPMD"]
    assert row["accuracy"] == pytest.approx(0.81)
    assert row["high"] > 0.009


def test_one_pair_has_no_interval(tmp_path):
    made = [make_record(name, accuracies=[0.8] * 3) for name in ("torch", "torch-xla")]
    row = rows_of(tmp_path, made).loc["PyTorch/XLA SPMD"]
    assert (row["verdict"], row["difference"]) == ("undecided", 0)
    assert pd.isna(row["low"])


def test_without_the_baseline_the_message_names_it(tmp_path, capsys):
    with pytest.raises(SystemExit):
        rows_of(tmp_path, cell("torch-xla", 0, 0, 0, 0, 0))
    assert "error: baseline: torch does not train fashion-conv" in capsys.readouterr().err
