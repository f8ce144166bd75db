"""Figure and table of scaling: what they show is what records say, or the reason why there is no value."""

import numpy as np
import pandas as pd
import pytest
from draw_figures import Drawing, texts_of
from make_experiments import of_cell
from make_records import LABELS, make_record, speed
from make_scaling import COSTS, COUNTS, EACH, GLOBAL, scaling, tabulated
from make_tables import write

from paragone.analysis import tidy
from paragone.analysis.scaling import scaling_table


def drawing(folder, records, how):
    return Drawing(folder, runs=[tabulated(folder, records, how)])


@pytest.fixture(scope="module", params=["strong", "weak"])
def study(request, tmp_path_factory):
    """Which scaling, its records and its drawing."""
    records = scaling(request.param, noise=0.02)
    return request.param, records, drawing(tmp_path_factory.mktemp("s"), records, request.param)


def test_speed_up_and_efficiency_pair_seeds(study):
    how, records, drawn = study
    measured = drawn.draw("scaling")[1].set_index(["series", "replicas"])
    assert len(measured) == 2 * len(COUNTS)
    for backend in COSTS:
        single = of_cell(records, backend, 1)
        for replicas in COUNTS:
            cell = of_cell(records, backend, replicas)
            ratios = [speed(b) / speed(a) for a, b in zip(single, cell, strict=True)]
            row = measured.loc[(LABELS[backend], replicas)]
            assert row["speed_up"] == pytest.approx(np.median(ratios))
            expected = min(ratios), max(ratios)
            assert (row["speed_up_low"], row["speed_up_high"]) == pytest.approx(expected)
            assert row["efficiency"] == pytest.approx(np.median(ratios) / replicas)
            batch = GLOBAL if how == "strong" else EACH * replicas
            assert row["step_seconds"] == pytest.approx(
                np.median([batch / speed(one) for one in cell])
            )
            assert (row["n"], row["pairs"], row["ideal"]) == (3, 3, 1)


def test_figure_and_table_say_that_cores_are_shared(study, tmp_path):
    how, _, drawn = study
    text = texts_of(drawn.figure("scaling"))
    assert "Replicas here are virtual" in text
    assert f"{how.capitalize()} scaling" in text
    table = write(tmp_path, "scaling", runs=drawn.files["runs"])["markdown"].read_text()
    assert f"# A title ({how} scaling)" in table
    assert table.count("| shared cores |") == 2 * len(COUNTS)


def test_no_mark_is_cut_at_the_top(tmp_path):
    """Of steps that take about as long, the margin is little of an axis that begins at 0."""
    records = scaling("strong", 1, counts=(1, 2), backends=["torch-xla"])
    records[1]["window"] = records[0]["window"]
    drawn = drawing(tmp_path, records, "strong")
    milliseconds = 1e3 * drawn.draw("scaling")[1]["step_seconds"]
    assert milliseconds.max() < 1.2 * milliseconds.min()
    assert milliseconds.max() < 0.96 * drawn.figure("scaling").axes[0].get_ylim()[1]


def test_cells_without_speed_are_named_in_words(tmp_path):
    gone = [
        make_record(
            "torch-xla",
            seed=seed,
            replicas=8,
            global_batch=GLOBAL,
            workload="fashion-cnn",
            status="out_of_memory",
        )
        for seed in range(2)
    ]
    drawn = drawing(tmp_path, [*scaling("strong", 2, counts=(1, 2, 4)), *gone], "strong")
    rows = drawn.draw("scaling")[1]
    row = rows[rows["replicas"] == 8].iloc[0]
    assert (row["words"], row["n"]) == ("out of memory (both runs)", 0)
    assert "8 replica(s): out of memory (both runs)." in texts_of(drawn.figure("scaling"))


def test_without_one_replica_there_is_no_speed_up(tmp_path):
    lonely = [one for one in scaling("weak", 1) if one["spec"]["replicas"] > 1]
    measured = drawing(tmp_path, lonely, "weak").draw("scaling")[1]
    assert measured["speed_up"].isna().all()
    assert measured["step_seconds"].notna().all()
    assert set(measured["words"]) == {"no run of one replica to compare with"}


def test_a_record_that_cannot_be_read_has_the_reason(tmp_path):
    """Only what its name says of such a run is known."""
    runs = tidy.read(tabulated(tmp_path, scaling("weak", 1), "weak"))
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
