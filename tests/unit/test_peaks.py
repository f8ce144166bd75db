"""The share of the peak: of the same machine, device, threads and precision, or none."""

import json

import pytest
from make_products import make_case, make_result, table_of
from make_records import make_record, typed

from paragone.analysis import product_tables, tidy
from paragone.analysis.product_tables import read_peaks
from paragone.base.errors import UserError

PASSED = {("fashion-conv", "torch"): True}


def document(**changes):
    results = [
        make_result("torch", [make_case((512, 512, 512), gflops=(80, 100, 90))], **changes),
        make_result("torch-xla", [make_case((512, 512, 512), gflops=(200, 200, 200))], **changes),
    ]
    return product_tables.peaks_document(table_of(results))


def shares(peaks, **changes):
    runs, _ = tidy.tables(typed([make_record(**changes)]), "one", PASSED, peaks["peaks"])
    return runs.iloc[0]


def test_the_fastest_product_on_the_device_is_the_peak():
    row = shares(document())
    assert row["peak_flop_per_second"] == pytest.approx(200e9)
    assert row["steady_flop_per_second"] == 2_206_464 * row["steady_examples_per_second"]
    assert row["steady_peak_share"] == pytest.approx(row["steady_flop_per_second"] / 200e9)


@pytest.mark.parametrize(("key", "value"), [("precision", "bfloat16"), ("threads", 1)])
def test_other_conditions_have_no_share(key, value):
    peaks = document()
    for row in peaks["peaks"]:
        row[key] = value
    row = shares(peaks)
    assert row[["peak_flop_per_second", "steady_peak_share"]].isna().all()
    assert row["steady_flop_per_second"] > 0


def test_without_parity_no_share():
    runs, _ = tidy.tables(typed([make_record()]), "one", {}, document()["peaks"])
    assert runs[["steady_flop_per_second", "steady_peak_share"]].isna().all(axis=None)


def test_read(tmp_path):
    path = tmp_path / "peaks.json"
    path.write_text(json.dumps(document()))
    assert len(read_peaks(path)) == 2
    path.write_text('{"peaks": [{}]}')
    with pytest.raises(UserError, match=r"peaks\.json"):
        read_peaks(path)


def test_another_machine_has_no_share():
    assert shares(document(host="node-2")).isna()["steady_peak_share"]
