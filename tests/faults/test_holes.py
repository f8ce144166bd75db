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
# Figures, and the words in them.
DRAWN = [
    ("batch_size_throughput/batch_size_throughput", ["out of memory", "diverged"]),
    ("xla_fashion_cnn/throughput", ["device not available"]),
    ("wild/throughput", ["diverged"]),
]


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
    files = ["results/tables/runs.csv", *(f"results/figures/{name}.svg" for name, _ in DRAWN)]
    with memory_limited(LIMIT):
        done = made.snakemake(*files, "--cores", "2")
    assert done.returncode == 0, done.stdout
    return made


def test_statuses_in_records_and_table(swept):
    made = [record.read(path) for path in swept.folder.glob("results/runs/*/record.json")]
    cells = [(m.spec.workload.name, m.spec.backend.name, m.spec.global_batch) for m in made]
    assert dict(zip(cells, (m.status for m in made), strict=True)) == EXPECTED
    runs = pd.read_csv(swept / "results/tables/runs.csv")
    statuses = runs.set_index(["workload", "backend", "global_batch"])["status"]
    assert statuses.to_dict() == EXPECTED
    speeds = runs["steady_examples_per_second"].notna()
    assert (speeds == (runs["status"] == "completed")).all()
    parity = json.loads((swept / "results/parity/fashion-cnn.json").read_text())["backends"]
    passed = {name: verdict["passed"] for name, verdict in parity.items()}
    assert passed == {"torch": True, "torch-gpu": None}


def test_figures_say_so_where_marks_would_be(swept):
    """Each text of an SVG file is a comment in it."""
    figures = swept / "results/figures"
    points = pd.read_csv(figures / "batch_size_throughput/batch_size_throughput.csv")
    measured = points[points["panel"] == "measured"]
    words = measured[measured["kind"] == "words"].groupby("x")["words"].agg(" ".join)
    assert "out of memory" in words[30_000]
    assert "diverged" in words[200]
    assert set(measured.loc[measured["kind"] == "median", "x"]) == {100}
    for file, texts in DRAWN:
        svg = (figures / f"{file}.svg").read_text()
        assert [text for text in texts if text not in svg] == []
