"""Epoch by epoch: the published values beside those of the records, in three formats."""

import pandas as pd
import pytest
from judge_rows import FOLDER, REUTERS, of_backend, tabulated
from make_experiments import reuters
from make_records import LABELS, make_record

import tabulate_epochs
from paragone.analysis import tidy


@pytest.fixture(scope="module")
def texts():
    return reuters()


@pytest.fixture(scope="module")
def by_epoch(texts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("epochs")
    for name, table in zip(("runs", "epochs"), tabulated(texts), strict=True):
        tidy.write(table, folder / f"{name}.parquet")
    files = {kind: folder / f"e.{kind}" for kind in ("csv", "markdown", "latex")}
    tabulate_epochs.main(
        [f"--{name}={folder / name}.parquet" for name in ("runs", "epochs")]
        + [f"--{name}={FOLDER / name}.csv" for name in ("published", "protocols")]
        + ["--published-experiment", REUTERS, "--title", "A_title", "--labels"]
        + [f"{name}={label}" for name, label in LABELS.items()]
        + [f"--{kind}={path}" for kind, path in files.items()]
    )
    return files


def test_epochs_beside_the_published_ones(by_epoch, texts):
    table = pd.read_csv(by_epoch["csv"])
    (torch, _) = of_backend(texts, "torch")
    here = table[(table["source"] == "PyTorch") & (table["system"].str.startswith("1 GPU"))]
    losses = here[here["metric"] == "test_loss"].sort_values("epoch")
    assert losses["value"].tolist() == pytest.approx([r["test_loss"] for r in torch["epochs"]])
    assert set(losses["runs"]) == {torch["run"]}
    mine = table[(table["source"] == "published") & (table["metric"] == "test_loss")]
    last = mine[mine["epoch"] == 10].set_index("system")["value"]
    assert last["2 logical GPUs (Colab), MirroredStrategy"] == 2.67
    assert len(mine) == 30


def test_ten_epoch_tables_in_markdown_and_latex(by_epoch):
    text = by_epoch["markdown"].read_text()
    assert text.count("## Published: ") == 3
    assert text.count("\n| 10 ") == 3
    assert "TensorFlow TPU, beside 8 TPU cores (Colab), TPUStrategy: no run was completed" in text
    latex = by_epoch["latex"].read_text()
    assert latex.count(r"\begin{table*}") == latex.count(r"\end{table*}") == 3
    assert r"\multicolumn{4}{l}{training loss}" in latex
    counts = [line.count("&") for line in latex.splitlines() if line.startswith("10 &")]
    assert counts == [4 * 4, 5 * 4, 5 * 4]  # the first system prints no step time


def test_a_final_value_stands_beside_its_epoch_only(tmp_path):
    for name, table in zip(("runs", "epochs"), tabulated([make_record(epochs=3)]), strict=True):
        tidy.write(table, tmp_path / f"{name}.parquet")
    tabulate_epochs.main(
        [f"--{name}={tmp_path / name}.parquet" for name in ("runs", "epochs")]
        + [f"--{name}={FOLDER / name}.csv" for name in ("published", "protocols")]
        + ["--published-experiment", "tpu_fashion_conv", "--title", "t"]
        + [f"--{kind}={tmp_path / kind}.csv" for kind in ("csv", "markdown", "latex")]
    )
    table = pd.read_csv(tmp_path / "csv.csv")
    measured = table[table["source"] == "torch"]
    assert set(measured["epoch"]) == {1, 2, 3}  # of the published five
    assert "test_loss" not in set(measured["metric"])  # printed after the fifth alone
    assert len(table[table["source"] == "published"]) == 17


def test_no_values_by_epoch_is_an_error(tmp_path, capsys):
    for name, table in zip(("runs", "epochs"), tabulated([make_record()]), strict=True):
        tidy.write(table, tmp_path / f"{name}.parquet")
    with pytest.raises(SystemExit):
        tabulate_epochs.main(
            [f"--{name}={tmp_path / name}.parquet" for name in ("runs", "epochs")]
            + [f"--{name}={FOLDER / name}.csv" for name in ("published", "protocols")]
            + ["--published-experiment", "mirrored_mobilenet", "--title", "t"]
            + [f"--{kind}={tmp_path / kind}.csv" for kind in ("csv", "markdown", "latex")]
        )
    assert "no values by epoch" in capsys.readouterr().err
    assert not (tmp_path / "csv.csv").exists()
