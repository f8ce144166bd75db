"""The formats of tables, and the program that writes them."""

import json

import pandas as pd
import pytest
from draw_figures import FORMATS, Drawing

from paragone.base.errors import UserError
from paragone.reporting import tables
from paragone.reporting.tables import TABLES, TextTable


def test_an_unknown_table_or_a_missing_input_is_one_message(tmp_path):
    for name, words in (
        ("no_such", f"'no_such' is none of the tables: {', '.join(sorted(TABLES))}"),
        ("differences", "runs: missing"),
        ("matmul_comparison", "products: missing"),
    ):
        with pytest.raises(UserError, match=words):
            Drawing(tmp_path).table(name)
    assert not list(tmp_path.iterdir())


def test_cells_and_remarks_in_every_format(tmp_path):
    cells = pd.DataFrame({"e": ["1", None], "a_b": ["2|3", "4"]})
    rows, runs = pd.DataFrame({"tidy": [0.1]}), ["r1 r2 r1", ""]
    table = TextTable(rows, "A title", ["One & two."], cells, runs=runs)
    paths = {kind: tmp_path / "new" / f"t.{suffix}" for kind, suffix in FORMATS.items()}
    tables.save(table, paths.values())
    assert paths["csv"].read_text() == "tidy\n0.1\n"
    text = paths["markdown"].read_text()
    assert text.startswith("# A title\n\n| e ")
    assert r"2\|3" in text
    assert text.endswith("\n\n- One & two.\n")
    shown = json.loads(paths["cells"].read_text())
    assert (shown["lines"], shown["runs"]) == ([["1", "2|3"], ["", "4"]], [["r1", "r2"], []])
