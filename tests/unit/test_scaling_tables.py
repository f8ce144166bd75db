"""Tables of scaling and of the cost model: what records and model say, in words where there is no value."""

import json

import pandas as pd
import pytest
from make_records import LABELS
from make_scaling import COUNTS, EACH, MODELS, scaling
from make_tables import PUBLISHED, calibrated, write
from workspace import CONFIG

from paragone.analysis import tidy
from paragone.analysis.scaling.measured import points_of, table_of


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    made = [scaling(how, noise=0.02) for how in ("strong", "weak")]
    return calibrated(tmp_path_factory.mktemp("scaling"), *made)


@pytest.mark.parametrize("how", ["strong", "weak"])
def test_the_table_says_that_cores_are_shared(files, tmp_path, how):
    (runs,) = [path for path in files["runs"] if path.stem == how]
    written = write(tmp_path, "scaling", runs=runs)
    text = written["markdown"].read_text()
    assert f"# A title ({how} scaling)" in text
    assert "share the cores of one machine" in text
    assert text.count("| shared cores |") == 2 * len(COUNTS)
    assert r"\begin{tabularx}" in written["latex"].read_text()


def test_a_record_that_cannot_be_read_stands_in_words(files, tmp_path):
    """Of such a run only what its name says is known."""
    runs = tidy.read(files["runs"][1])
    known = ["run", "experiment", "workload", "backend", "replicas", "global_batch", "seed"]
    broken = (runs["backend"] == "torch-xla") & (runs["replicas"] == 4)
    runs.loc[broken, [name for name in runs if name not in known]] = pd.NA
    runs.loc[broken, ["status", "violations"]] = ["invalid", "schema"]
    found = table_of(points_of(runs, LABELS))
    row = found[(found["backend"] == "torch-xla") & (found["replicas"] == 4)].iloc[0]
    assert (row["per_replica_batch"], row["n"], row["ideal"]) == (EACH, 0, 1)
    assert row["words"]
    assert found["speed_up"].notna().sum() == 7
    written = write(tmp_path, "scaling", runs=runs)
    assert row["words"] in written["markdown"].read_text()


@pytest.mark.parametrize("name", ["scaling", "scaling_steps"])
def test_broken_rules_are_stated(files, tmp_path, name):
    runs = tidy.read(files["runs"][0])
    runs.loc[:1, "violations"] = "clean-code"
    given = {kind: files[kind] for kind in ("models", "steps")} if name == "scaling_steps" else {}
    written = write(tmp_path, name, runs=runs, **given)
    line = f"- Rules broken: clean-code (2 of {len(runs)} runs).\n"
    assert line in written["markdown"].read_text()
    assert "Rules broken: clean-code" in written["latex"].read_text()


def test_the_table_of_steps_states_the_error(files, tmp_path):
    given = {kind: files[kind] for kind in ("runs", "models", "steps")}
    written = write(tmp_path, "scaling_steps", **given)
    steps = pd.read_csv(written["csv"])
    assert steps["seconds"].tolist() == tidy.read(files["steps"][0])["seconds"].tolist()
    assert len(steps) == 2 * 2 * len(COUNTS)
    assert steps["relative_error"].abs().between(0, 0.2).all()
    text = written["markdown"].read_text()
    for words in ("predicted (ms)", "ms per step", "GB/s", "leave-one-out error"):
        assert words in text
    assert all(f"- {LABELS[backend]}, fashion-cnn: host" in text for backend in MODELS)


def test_synthetic_data_are_said_first(tmp_path):
    options = {"counts": (1,), "source": "synthetic", "edition": "made"}
    files = calibrated(tmp_path, *(scaling(how, 1, **options) for how in ("strong", "weak")))
    given = {kind: files[kind] for kind in ("runs", "models", "steps")}
    text = write(tmp_path, "scaling_steps", **given)["markdown"].read_text()
    remarks = [line for line in text.splitlines() if line.startswith("- ")]
    assert remarks[0].startswith("- SYNTHETIC DATA")
    assert "too few cells to leave one out" in text


def test_published_speed_ups_are_held_against_the_model(tmp_path):
    checks = json.dumps({"checks": CONFIG["scaling"]["checks"]})
    options = ["--published", PUBLISHED, "--settings", checks]
    written = write(tmp_path, "scaling_published", *options)
    found = pd.read_csv(written["csv"])
    assert found.groupby("experiment").size().to_dict() == {
        "mirrored_mobilenet": 2,
        "multiworker_mobilenet": 4,
    }
    assert found["predicted"].between(1.5, 2).all()
    text = written["markdown"].read_text()
    assert "4.17 = 150 / 36" in text
    assert "does not say whether" in text


@pytest.mark.parametrize("settings", ["{}", '{"checks": [{"published": "x"}]}'])
def test_settings_without_checks_are_named(tmp_path, capsys, settings):
    with pytest.raises(SystemExit):
        write(tmp_path, "scaling_published", "--published", PUBLISHED, "--settings", settings)
    assert "error: --settings: `checks` is not a list of checks" in capsys.readouterr().err
