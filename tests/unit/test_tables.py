"""The program that writes tables."""

import pandas as pd
import pytest
from make_tables import FORMATS, write

from paragone.reporting import markup
from paragone.reporting.markup import WIDE, Block, Table
from paragone.reporting.tables import TABLES


def test_an_unknown_table_is_an_error_that_lists_the_known_ones(tmp_path, capsys):
    with pytest.raises(SystemExit):
        write(tmp_path, "no_such")
    assert (
        f"error: 'no_such' is none of the tables: {', '.join(sorted(TABLES))}"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("name", "option"),
    [("differences", "--runs"), ("matmul_comparison", "--products")],
)
def test_a_missing_input_is_named(tmp_path, capsys, name, option):
    with pytest.raises(SystemExit):
        write(tmp_path, name)
    assert f"error: {option}: missing" in capsys.readouterr().err
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
