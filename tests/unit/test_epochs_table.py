"""Epoch by epoch: the published values and those of the records, in three formats."""

import pandas as pd
import pytest
from judge_rows import REUTERS, of_backend, tabulated
from make_experiments import reuters
from make_tables import beside, write


@pytest.fixture(scope="module")
def texts():
    return reuters()


def write_epochs(folder, made, experiment, *options, **more):
    runs, epochs = tabulated(made)
    return write(folder, "epochs", *beside(experiment), *options, runs=runs, epochs=epochs, **more)


@pytest.fixture(scope="module")
def by_epoch(texts, tmp_path_factory):
    return write_epochs(tmp_path_factory.mktemp("epochs"), texts, REUTERS, "--title", "A_title")


def test_measured_epochs_and_published_ones(by_epoch, texts):
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
    assert "TensorFlow TPU, for 8 TPU cores (Colab), TPUStrategy: no run was completed" in text
    latex = by_epoch["latex"].read_text()
    assert latex.count(r"\begin{table*}") == latex.count(r"\end{table*}") == 3
    assert r"\multicolumn{4}{l}{training loss}" in latex
    counts = [line.count("&") for line in latex.splitlines() if line.startswith("10 &")]
    assert counts == [4 * 4, 5 * 4, 5 * 4]  # the first system prints no step time
