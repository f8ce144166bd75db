"""Matrix products: measured through the program, proven right, refused or explained, tabulated and drawn."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from draw_figures import Drawing, texts_of
from make_products import PUBLISHED, make_case, make_result, table_of, varied_table
from make_records import FLOP, make_record, tabulated
from workspace import call, command, refused, succeed

from paragone.analysis import product_tables, verdicts
from paragone.analysis.product_tables import with_share
from paragone.base import typed_json
from paragone.config.narrow import MULTIPLYING
from paragone.microbenchmarks import products as measure
from paragone.records import measurements


def products(output: Path, engine: str, device: str = "cpu", **options: object) -> list[str]:
    backend = {"name": f"a-{engine}", "engine": engine, "strategy": "single", "device": device}
    usual = {"products": [[30, 20, 10]], "squares": [64], "precisions": ["float32", "bfloat16"]}
    usual |= {"repeats": 3, "threads": 1, "backend": backend, "result": output}
    return command("measure_products", **usual | options)


def test_what_cannot_be_measured_is_a_status_or_one_message(tmp_path):
    """A missing device; an unknown engine, two numbers."""
    output = tmp_path / "products.json"
    printed = succeed(products(output, "torch", device="tpu"), timeout=60)
    cases = typed_json.read(measurements.Products, output, "result").cases
    assert {case.status for case in cases} == {"unavailable"}
    reason = "1 replica(s) on tpu asked for; PyTorch sees no tpu here"
    assert {case.reason for case in cases} == {reason}
    assert f"unavailable: {reason}" in printed
    other = tmp_path / "other.json"
    assert {*MULTIPLYING} == {*measure.FRAMEWORKS}
    refused(call(products(other, "mxnet")), "mxnet", "microbenchmarks/products.py")
    refused(call(products(other, "torch", products=[[1, 2]])), "products", "length 3")
    assert not other.exists()


class NumPy:
    """A framework whose product can be made wrong, or fail."""

    def __init__(self, multiply=np.matmul):
        self.multiply = multiply

    put = staticmethod(lambda array, precision: array)
    wait = staticmethod(lambda tensor: None)
    sample = staticmethod(lambda tensor, steps: tensor[:: steps[0], :: steps[1]].astype("float64"))


def tf32(a, b):
    """What a GPU does with float32 unless told otherwise: 10 bits of each operand's fraction."""
    mask = np.uint32(0xFFFFE000)
    return (a.view("uint32") & mask).view("float32") @ (b.view("uint32") & mask).view("float32")


@pytest.mark.parametrize(
    "wrong",
    [
        tf32,
        lambda a, b: a @ b * np.float32(1.001),
        lambda a, b: np.full((len(a), b.shape[1]), np.nan),
        lambda a, b: (a @ b).T,
        lambda a, b: a[:, :-1] @ b[:-1],
    ],
)
def test_a_wrong_product_gets_no_speed(wrong):
    shape = (80, 70, 80)
    assert measure.measure(NumPy(), shape, "float32", 2)["status"] == "completed"
    case = measure.measure(NumPy(wrong), shape, "float32", 2)
    assert (case["status"], case["runs"]) == ("wrong", [])
    assert "relative error" in case["reason"]


def test_a_product_beyond_the_memory_is_not_tried():
    case = measure.measure(NumPy(pytest.fail), (4_000_000, 1, 4_000_000), "float32", 2)
    assert (case["status"], case["runs"]) == ("out_of_memory", [])
    assert "64,000" in case["reason"]


class Timed(NumPy):
    """A product takes `seconds(m, k, n)` of a clock of its own."""

    def __init__(self, monkeypatch, seconds):
        super().__init__(self.start)
        self.now, self.seconds, self.rows = 0.0, seconds, []
        monkeypatch.setattr(measure, "time", SimpleNamespace(perf_counter=lambda: self.now))

    def start(self, a, b):
        self.rows.append(len(a))
        self.now += self.seconds(*a.shape, b.shape[1])
        return a @ b


def test_a_product_that_would_take_too_long_is_foreseen_and_not_tried(monkeypatch):
    # The larger, the slower: 1e6 and 1e4 FLOP/s.
    timed = Timed(monkeypatch, lambda m, k, n: 2 * m * k * n / (1e6 if m < 40 else 1e4))
    shapes = [(100, 100, 100), (30, 30, 30), (40, 40, 40)]
    cases = list(measure.measure_all(timed, shapes, "float32", 2))
    statuses = [(case["shape"][0], case["status"]) for case in cases]
    assert statuses == [(30, "completed"), (40, "completed"), (100, "too_slow")]
    assert cases[2]["reason"] == "200 s foreseen, from 0.0 GFLOP/s of the next smaller product"
    assert 100 not in timed.rows


def test_short_products_share_a_run_and_slow_cases_stop_early(monkeypatch):
    timed = Timed(monkeypatch, lambda m, k, n: 0.01 if m < 50 else 9.0)
    short = measure.measure(timed, (8, 8, 8), "float32", 4)
    assert (short["calls"], short["runs"]) == (5, pytest.approx([0.05] * 4))
    slow = measure.measure(timed, (64, 8, 8), "float32", 9)
    assert (slow["calls"], len(slow["runs"])) == (1, 3)  # 27 s: the third went past 20 s
    assert timed.rows.count(64) == 1 + 3  # one warm-up


def test_the_peak_is_the_highest_median_of_a_square():
    found = product_tables.peaks(varied_table()).set_index(["backend", "precision"])
    # The fastest single run, 400, belongs to a size whose median is 130.
    assert found.loc[("torch", "float32"), "size"] == 512
    assert found.loc[("torch", "float32"), "median"] == pytest.approx(155e9)
    assert ("torch-xla", "bfloat16") not in found.index
    assert len(found) == 5


def test_published_times_are_compared_with_those_of_their_device(tmp_path):
    drawing = Drawing(tmp_path, products=varied_table())
    written = drawing.table("matmul_comparison", "device_matmul")
    found = pd.read_csv(written["csv"]).set_index("system")
    cpu, gpu = found.loc["CPU (Colab)"], found.loc["GPU (Colab)"]
    assert (cpu["published"], gpu["published"]) == ("6 s", "under 1 s")
    m, k, n = PUBLISHED
    assert float(cpu["PyTorch"].split()[0]) == pytest.approx(2 * m * k * n / 45e9, abs=5e-4)
    assert cpu["PyTorch"].endswith("s (n = 3)")
    assert cpu["TensorFlow Mirrored"] == "-"
    for words in ("TensorFlow Mirrored: it was out_of_memory", "other hardware", "1 s resolution"):
        assert words in cpu["why"]
    assert set(found["verdict"]) == {verdicts.NOT_COMPARABLE}
    assert gpu["PyTorch"] == "-"
    assert "measured on a cpu" in gpu["why"]


def squares(**changes):
    made = [
        make_result("torch", [make_case((512, 512, 512), gflops=(80, 100, 90))]),
        make_result("torch-xla", [make_case((512, 512, 512), gflops=(200, 200, 200))]),
    ]
    return table_of(made).assign(**changes)


def share(products, parity=True):
    return with_share(tabulated([make_record()], parity)[0], products).iloc[0]


def test_the_fastest_product_on_the_device_is_the_peak():
    row = share(squares())
    assert row["peak_flop_per_second"] == pytest.approx(200e9)
    assert row["steady_flop_per_second"] == FLOP * row["steady_examples_per_second"]
    assert row["steady_peak_share"] == pytest.approx(row["steady_flop_per_second"] / 200e9)


def test_speeds_have_their_share_of_the_peak_where_products_are_read(tmp_path):
    runs, _ = tabulated([make_record(seed=seed) for seed in range(2)])
    for files in ({}, {"products": squares()}):
        figure = Drawing(tmp_path, runs=runs, **files).figure("variants")
        assert ("% of peak:" in texts_of(figure)) is bool(files)


def test_under_other_conditions_or_without_parity_there_is_no_share():
    for changes in ({"precision": "bfloat16"}, {"threads": 1}, {"machine": "another"}):
        row = share(squares(**changes))
        assert row[["peak_flop_per_second", "steady_peak_share"]].isna().all(), changes
        assert row["steady_flop_per_second"] > 0
    assert share(squares(), {})[["steady_flop_per_second", "steady_peak_share"]].isna().all()
