"""Through the whole workflow: a run that cannot be completed is a result, drawn, and stops no other."""

import json

import pandas as pd
import pytest
from workspace import Checkout, memory_limited

from paragone.records import record

pytestmark = pytest.mark.full

LIMIT = 3 * 2**30  # bytes; the frameworks themselves need less than half of it
# By workload, backend and global batch.
EXPECTED = {
    ("fashion-conv", "torch", 100): "completed",
    ("fashion-conv", "torch", 30_000): "out_of_memory",
    ("wild", "torch", 200): "diverged",
    ("fashion-cnn", "torch", 100): "completed",
    ("fashion-cnn", "torch-gpu", 100): "unavailable",
}


@pytest.fixture(scope="module")
def swept(fashion, tmp_path_factory) -> Checkout:
    """A batch that fits and one that does not, a run that diverges, a device that is not there."""
    made = Checkout(tmp_path_factory.mktemp("swept"))
    made.config["data"]["folder"] = str(fashion.folder)
    torch = made.config["backends"]["torch"]
    absent = {**torch, "device": "gpu", "label": "PyTorch on a GPU", "color": "#56B4E9"}
    made.config["backends"] = {"torch": torch, "torch-gpu": absent}
    cnn = made.config["workloads"]["fashion-cnn"]
    made.config["workloads"]["wild"] = {**cnn, "learning_rate": {"base": 1e6}}
    cell = {"backend": "torch", "replicas": 1}
    wild = {**cell, "workload": "wild", "global_batch": 200}
    sizes = {**cell, "global_batch": [100, 30_000]}
    short = {"epochs": 2, "steps_per_epoch": 2}
    experiments = made.config["experiments"]
    bars = experiments["xla_fashion_cnn"]
    by_size = {**experiments["batch_size_throughput"], **short, "workload": "fashion-conv"}
    by_size.pop("train_examples")
    made.only("xla_fashion_cnn", ["torch", "torch-gpu"], **short)
    made.config["experiments"] |= {
        "batch_size_throughput": {**by_size, "matrix": [sizes, wild]},
        "wild": {**bars, **short, "workload": "wild", "matrix": [wild]},
    }
    made.configure()
    with memory_limited(LIMIT):
        done = made.snakemake("all", "--cores", "2")
    assert done.returncode == 0, done.stdout
    return made


def test_statuses_in_records_and_table(swept):
    found = {}
    for path in swept.folder.glob("results/runs/*/record.json"):
        made = record.read(path)
        spec = made.spec
        cell = spec.workload["name"], spec.backend["name"], spec.global_batch
        found[cell] = made.status
    assert found == EXPECTED
    runs = pd.read_csv(swept / "results/tables/runs.csv")
    columns = (runs[name] for name in ("workload", "backend", "global_batch", "status"))
    assert {
        (one, two, three): four for one, two, three, four in zip(*columns, strict=True)
    } == found
    speeds = runs["steady_examples_per_second"].notna()
    assert (speeds == (runs["status"] == "completed")).all()


def test_parity_of_an_absent_device_is_neither_passed_nor_failed(swept):
    parity = json.loads((swept / "results/parity/fashion-cnn.json").read_text())["backends"]
    passed = {name: verdict["passed"] for name, verdict in parity.items()}
    assert passed == {"torch": True, "torch-gpu": None}


def test_the_figure_of_batch_sizes_says_so_where_marks_would_be(swept):
    folder = swept / "results/figures/batch_size_throughput"
    points = pd.read_csv(folder / "batch_size_throughput.csv")
    measured = points[points["panel"] == "measured"]
    words = measured[measured["kind"] == "words"].groupby("x")["words"].agg(" ".join)
    assert "out of memory" in words[30_000]
    assert "diverged" in words[200]
    assert set(measured.loc[measured["kind"] == "median", "x"]) == {100}
    svg = (folder / "batch_size_throughput.svg").read_text()  # each text is a comment in it
    assert "out of memory" in svg
    assert "diverged" in svg


def test_bars_say_so_and_every_figure_is_drawn(swept):
    figures = swept / "results/figures"
    for experiment, words in (("xla_fashion_cnn", "device not available"), ("wild", "diverged")):
        assert words in (figures / experiment / "throughput.svg").read_text()
        for figure in swept.config["experiments"][experiment]["figures"]:
            assert (figures / experiment / f"{figure}.pdf").stat().st_size > 1000
