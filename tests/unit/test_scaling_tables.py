"""The table of scaling: what records say, in words where there is no value."""

import pandas as pd
import pytest
from make_records import LABELS
from make_scaling import COUNTS, EACH, scaling, tabulated
from make_tables import write

from paragone.analysis import tidy
from paragone.analysis.scaling import scaling_table


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scaling")
    return {how: tabulated(folder, scaling(how, noise=0.02), how) for how in ("strong", "weak")}


@pytest.mark.parametrize("how", ["strong", "weak"])
def test_the_table_says_that_cores_are_shared(files, tmp_path, how):
    written = write(tmp_path, "scaling", runs=files[how])
    text = written["markdown"].read_text()
    assert f"# A title ({how} scaling)" in text
    assert "share the cores of one machine" in text
    assert text.count("| shared cores |") == 2 * len(COUNTS)
    assert r"\begin{tabularx}" in written["latex"].read_text()


def test_a_record_that_cannot_be_read_is_named_in_words(files, tmp_path):
    """Only what its name says of such a run is known."""
    runs = tidy.read(files["weak"])
    known = ["run", "experiment", "workload", "backend", "replicas", "global_batch", "seed"]
    broken = (runs["backend"] == "torch-xla") & (runs["replicas"] == 4)
    runs.loc[broken, [name for name in runs if name not in known]] = pd.NA
    runs.loc[broken, ["status", "violations"]] = ["invalid", "schema"]
    found = scaling_table(runs, LABELS)
    row = found[(found["backend"] == "torch-xla") & (found["replicas"] == 4)].iloc[0]
    assert (row["per_replica_batch"], row["n"], row["ideal"]) == (EACH, 0, 1)
    assert row["words"]
    assert found["speed_up"].notna().sum() == 7
    assert row["words"] in write(tmp_path, "scaling", runs=runs)["markdown"].read_text()


def test_broken_rules_are_stated(files, tmp_path):
    runs = tidy.read(files["strong"])
    runs.loc[:1, "violations"] = "clean-code"
    written = write(tmp_path, "scaling", runs=runs)
    line = f"- Rules broken: clean-code (2 of {len(runs)} runs).\n"
    assert line in written["markdown"].read_text()
    assert "Rules broken: clean-code" in written["latex"].read_text()
