"""The bundles in records/: listed, whole, and of a schema that this version still reads."""

import re

import pandas as pd
import pytest
from workspace import ROOT

import unbundle

CONTRIBUTED = sorted((ROOT / "records").glob("*.zip"))


def test_the_list_has_each():
    text = (ROOT / "records/README.md").read_text()
    assert re.findall(r"^\| \[(\S+)\]\(\1\) \|", text, re.MULTILINE) == [
        path.name for path in CONTRIBUTED
    ]
    assert CONTRIBUTED


@pytest.mark.parametrize("path", CONTRIBUTED, ids=lambda path: path.stem)
def test_it_is_tabulated(path, tmp_path):
    unbundle.main(["--bundles", str(path), "--results", str(tmp_path)])
    tables = [pd.read_parquet(table) for table in tmp_path.glob("tables/*/runs.parquet")]
    runs = pd.concat(tables)
    assert set(runs["run"]) == {folder.name for folder in (tmp_path / "runs").iterdir()}
    completed = runs[runs["status"] == "completed"]
    assert len(completed)
    assert set(completed["parity"]) == {"passed"}
