"""The tables of formats, of epochs and of accuracies, and the program that writes them."""

import json

import pandas as pd
import pytest
from judge_rows import REUTERS, of_backend, tabulated
from make_experiments import reuters
from make_records import make_record, typed
from make_tables import FORMATS, beside, write

from paragone.analysis import tidy
from paragone.reporting import markup
from paragone.reporting.markup import WIDE, Block, Table
from paragone.reporting.tables import TABLES


def test_an_unknown_table_or_a_missing_input_is_one_message(tmp_path, capsys):
    for name, words in (
        ("no_such", f"'no_such' is none of the tables: {', '.join(sorted(TABLES))}"),
        ("differences", "--runs: missing"),
        ("matmul_comparison", "--products: missing"),
    ):
        with pytest.raises(SystemExit):
            write(tmp_path, name)
        assert f"error: {words}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_blocks_headings_and_remarks_in_three_formats(tmp_path):
    levels = pd.DataFrame(
        [["1", "2|3"]], columns=pd.MultiIndex.from_tuples([("e", ""), ("a", "b")])
    )
    blocks = [
        Block(levels, f"l{WIDE}", heading="First", caption="A_caption", size=markup.TINY),
        Block(
            pd.DataFrame({"x": ["50 %"], "y": ["no"]}), "l", for_latex=pd.DataFrame({"x": ["5"]})
        ),
        Block(pd.DataFrame(columns=["none"]), "l"),
    ]
    table = Table(pd.DataFrame({"tidy": [0.1]}), "A title", ["One & two."], blocks)
    paths = {kind: tmp_path / "new" / f"t.{suffix}" for kind, suffix in FORMATS.items()}
    markup.write(table, paths.values())
    assert paths["csv"].read_text() == "tidy\n0.1\n"
    text = paths["markdown"].read_text()
    assert text.startswith("# A title\n\n## First\n\n| e ")
    assert "| a, b " in text
    assert r"2\|3" in text
    assert text.endswith("\n\n- One & two.\n")
    latex = paths["latex"].read_text()
    assert latex.count(r"\begin{table*}") == latex.count(r"\par One \& two.") == 3
    assert r"\caption{A\_caption}" in latex
    assert latex.count(r"\caption{A title}") == 2
    assert latex.count(r"\tiny") == 1
    assert "no" not in latex.split(r"\caption{A title}")[1].split(r"\par")[0].replace("none", "")


def test_measured_epochs_and_published_ones_in_every_format(tmp_path):
    made = reuters()
    runs, epochs = tabulated(made)
    written = write(tmp_path, "epochs", *beside(REUTERS), runs=runs, epochs=epochs)
    table = pd.read_csv(written["csv"])
    (torch, _) = of_backend(made, "torch")
    here = table[(table["source"] == "PyTorch") & (table["system"].str.startswith("1 GPU"))]
    losses = here[here["metric"] == "test_loss"].sort_values("epoch")
    assert losses["value"].tolist() == pytest.approx([r["test_loss"] for r in torch["epochs"]])
    assert set(losses["runs"]) == {torch["run"]}
    mine = table[(table["source"] == "published") & (table["metric"] == "test_loss")]
    last = mine[mine["epoch"] == 10].set_index("system")["value"]
    assert last["2 logical GPUs (Colab), MirroredStrategy"] == 2.67
    assert len(mine) == 30
    text, latex = written["markdown"].read_text(), written["latex"].read_text()
    assert text.count("## Published: ") == text.count("\n| 10 ") == 3
    assert latex.count(r"\begin{table*}") == latex.count(r"\end{table*}") == 3
    counts = [line.count("&") for line in latex.splitlines() if line.startswith("10 &")]
    assert counts == [4 * 4, 5 * 4, 5 * 4]  # the first system prints no step time


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
    assert "device not available" in (tmp_path / "accuracies.md").read_text()


def test_pairs_are_of_one_seed(tmp_path):
    """The same accuracies in another order of seeds: an equal mean, but other differences per seed."""
    other = [0.79 - 0.80, 0.83 - 0.82, 0.81 - 0.81, 0.82 - 0.83, 0.80 - 0.79]
    rows = rows_of(tmp_path, [*cell("torch", 0, 0, 0, 0, 0), *cell("torch-xla", *other)])
    row = rows.loc["PyTorch/XLA SPMD"]
    assert row["accuracy"] == pytest.approx(0.81)
    assert row["high"] > 0.009


def test_one_pair_has_no_interval_and_without_the_baseline_the_message_names_it(tmp_path, capsys):
    made = [make_record(name, accuracies=[0.8] * 3) for name in ("torch", "torch-xla")]
    row = rows_of(tmp_path, made).loc["PyTorch/XLA SPMD"]
    assert (row["verdict"], row["difference"]) == ("undecided", 0)
    assert pd.isna(row["low"])
    with pytest.raises(SystemExit):
        rows_of(tmp_path, cell("torch-xla", 0, 0, 0, 0, 0))
    assert "error: baseline: torch does not train fashion-conv" in capsys.readouterr().err
