"""The bundles in records/: listed, whole, and of a schema that this version still reads."""

import re

import pandas as pd
import pytest
from plan import Plan
from workspace import ROOT

import unbundle
from drawn_config import drawn, opened

CONTRIBUTED = sorted((ROOT / "records").glob("*.zip"))


def test_the_list_has_each():
    text = (ROOT / "records/README.md").read_text()
    assert re.findall(r"^\| \[(\S+)\]\(\1\) \|", text, re.MULTILINE) == [
        path.name for path in CONTRIBUTED
    ]
    assert CONTRIBUTED


@pytest.mark.parametrize("path", CONTRIBUTED, ids=lambda path: path.stem)
def test_it_is_tabulated_and_its_config_is_drawn(path, tmp_path):
    unbundle.main(["--bundles", str(path), "--results", str(tmp_path)])
    tables = [pd.read_parquet(table) for table in tmp_path.glob("tables/*/runs.parquet")]
    runs = pd.concat(tables)
    assert set(runs["run"]) == {folder.name for folder in (tmp_path / "runs").iterdir()}
    completed = runs[runs["status"] == "completed"]
    assert len(completed)
    assert set(completed["parity"]) == {"passed"}
    bundles = opened([str(path)])
    ((_, own),) = bundles.values()
    assert set(own["experiments"]) <= set(Plan(config=drawn({}, bundles)).sections)
