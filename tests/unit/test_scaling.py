"""Figure and table of scaling: what they show is what records say, or the reason why there is no value."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from draw_figures import Drawing
from make_contests import windows
from make_experiments import COSTS, COUNTS, EACH, GLOBAL, of_cell, scaling
from make_records import LABELS, make_record, speed, tabulated


def drawing(folder, records, how):
    parity = {("fashion-cnn", backend): True for backend in COSTS}
    return Drawing(folder, runs=tabulated(records, parity, how)[0])


@pytest.mark.parametrize("how", ["strong", "weak"])
def test_speed_up_and_efficiency_pair_seeds(tmp_path, how):
    records = scaling(how, noise=0.02)
    measured = drawing(tmp_path, records, how).shown("scaling").set_index(["series", "replicas"])
    assert len(measured) == 2 * len(COUNTS)
    for backend, replicas in product(COSTS, COUNTS):
        cell = of_cell(records, backend, replicas)
        ratios = [
            speed(b) / speed(a) for a, b in zip(of_cell(records, backend, 1), cell, strict=True)
        ]
        row = measured.loc[(LABELS[backend], replicas)]
        assert row["speed_up"] == pytest.approx(np.median(ratios))
        expected = min(ratios), max(ratios)
        assert (row["speed_up_low"], row["speed_up_high"]) == pytest.approx(expected)
        assert row["efficiency"] == pytest.approx(np.median(ratios) / replicas)
        batch = GLOBAL if how == "strong" else EACH * replicas
        assert row["step_seconds"] == pytest.approx(np.median([batch / speed(one) for one in cell]))
        assert (row["n"], row["pairs"], row["ideal"]) == (3, 3, 1)


def test_without_one_replica_there_is_no_speed_up(tmp_path):
    lonely = [one for one in scaling("weak", 1) if one["spec"]["replicas"] > 1]
    measured = drawing(tmp_path, lonely, "weak").shown("scaling")
    assert measured["speed_up"].isna().all()
    assert measured["step_seconds"].notna().all()
    assert set(measured["words"]) == {"no run of one replica to compare with"}


def test_figure_and_table_have_the_speeds_of_contests(tmp_path):
    """Three contests and one run are there, and the contests decide."""
    runs, _ = tabulated([make_record("torch", replicas=count, speed=1000.0) for count in (1, 2)])
    same = ["workload", "global_batch", "machine", "machine_name", "data_edition", "data_source"]
    about, speeds = runs[same].iloc[0], np.array([[900.0] * 2, [1000.0] * 2, [1100.0] * 2])
    held = [windows({"torch": count * speeds}, **about, replicas=count) for count in (1, 2)]
    rounds = pd.concat(held, ignore_index=True)
    drawn = Drawing(tmp_path, runs=runs, rounds=rounds)
    files = drawn.table("scaling")
    table = pd.read_csv(files["csv"])
    pd.testing.assert_frame_equal(table, drawn.shown("scaling"))
    assert table[["n", "speed_up"]].to_numpy().tolist() == [[3, 1], [3, 2]]
    assert "n = 3 contests each" in files["markdown"].read_text()
