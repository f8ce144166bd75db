"""The tables of formats and of epochs, and the program that writes them."""

import pandas as pd
import pytest
from judge_rows import REUTERS, tabulated
from make_experiments import reuters
from make_records import of_backend
from make_tables import FORMATS, beside, write

from paragone.reporting import markup
from paragone.reporting.markup import Block, Table
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


def test_blocks_headings_and_remarks_in_every_format(tmp_path):
    blocks = [
        Block(pd.DataFrame({"e": ["1"], "a_b": ["2|3"]}), heading="First"),
        Block(pd.DataFrame({"x": ["50 %"]})),
        Block(pd.DataFrame(columns=["none"])),
    ]
    table = Table(pd.DataFrame({"tidy": [0.1]}), "A title", ["One & two."], blocks)
    paths = {kind: tmp_path / "new" / f"t.{suffix}" for kind, suffix in FORMATS.items()}
    markup.write(table, paths.values())
    assert paths["csv"].read_text() == "tidy\n0.1\n"
    text = paths["markdown"].read_text()
    assert text.startswith("# A title\n\n## First\n\n| e ")
    assert r"2\|3" in text
    assert text.endswith("\n\n- One & two.\n")
    latex = paths["latex"].read_text()
    assert latex.count(r"\begin{table*}") == latex.count(r"\par One \& two.") == 3
    assert [rf"\caption{{A title{end}}}" in latex for end in (". First", "")] == [True, True]
    assert [words in latex for words in (r"a\_b", r"50 \%")] == [True, True]


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
    assert "| test loss, PyTorch " in text
