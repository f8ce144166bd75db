"""What the rules find in a folder of results that no record tells by itself."""

import shutil

import pytest
from make_records import typed
from make_results import FIRST, find, of, write_results

from paragone.analysis import tidy
from paragone.records.compliance.rules import INVALID


@pytest.mark.parametrize(
    ("place", "to", "rule"),
    [(shutil.copytree, "again", "one-record"), (shutil.move, "elsewhere", "name")],
)
def test_a_record_in_another_folder(tmp_path, records, place, to, rule):
    folder = write_results(tmp_path, records)
    place(folder / "runs" / FIRST, folder / "runs" / to)
    (one,) = find(folder)
    assert (one.rule, one.run) == (rule, FIRST)


@pytest.mark.parametrize("content", ["{", "null"])
def test_an_unreadable_record(tmp_path, records, content):
    folder = write_results(tmp_path, records)
    path = folder / "runs" / FIRST / "record.json"
    path.write_text(content)
    found = find(folder)
    assert {(one.rule, one.run, one.file) for one in found} >= {("schema", FIRST, str(path))}
    assert {one.rule for one in found} <= {"schema", "seeds"}


def test_a_record_that_is_gone(tmp_path, records):
    """The tables know of a run that has no record."""
    folder = write_results(tmp_path, records)
    runs, _ = tidy.tables(typed(records), "one", {})
    tidy.write(runs, folder / "tables/one/runs.parquet")
    shutil.rmtree(folder / "runs" / FIRST)
    found = [one for one in find(folder) if one.rule == "missing"]
    assert [(one.experiment, one.run, one.severity) for one in found] == [("one", FIRST, INVALID)]


@pytest.mark.parametrize("passed", [False, None])
def test_parity_that_was_not_passed(tmp_path, records, passed):
    found = find(write_results(tmp_path, records, torch=passed))
    assert {one.rule for one in found} == {"parity"}
    assert {one.run for one in found} == {one["run"] for one in of(records, "torch")}
