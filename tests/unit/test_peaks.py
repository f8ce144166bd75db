"""The share of the peak: of the same machine, device, threads and precision, or none."""

import pytest
from make_products import make_case, make_result, table_of
from make_records import make_record, typed

from paragone.analysis import tidy

PASSED = {("fashion-conv", "torch"): True}


def products(**changes):
    made = [
        make_result("torch", [make_case((512, 512, 512), gflops=(80, 100, 90))]),
        make_result("torch-xla", [make_case((512, 512, 512), gflops=(200, 200, 200))]),
    ]
    return table_of(made).assign(**changes)


def share(products, parity=PASSED):
    runs, _ = tidy.tables(typed([make_record()]), "one", parity, products)
    return runs.iloc[0]


def test_the_fastest_product_on_the_device_is_the_peak():
    row = share(products())
    assert row["peak_flop_per_second"] == pytest.approx(200e9)
    assert row["steady_flop_per_second"] == 2_206_464 * row["steady_examples_per_second"]
    assert row["steady_peak_share"] == pytest.approx(row["steady_flop_per_second"] / 200e9)


@pytest.mark.parametrize(
    ("key", "value"), [("precision", "bfloat16"), ("threads", 1), ("machine", "another")]
)
def test_other_conditions_have_no_share(key, value):
    row = share(products(**{key: value}))
    assert row[["peak_flop_per_second", "steady_peak_share"]].isna().all()
    assert row["steady_flop_per_second"] > 0


def test_without_parity_no_share():
    assert share(products(), {})[["steady_flop_per_second", "steady_peak_share"]].isna().all()
