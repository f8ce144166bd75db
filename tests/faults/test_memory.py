"""A batch too large for the memory is a result, and so is a diverging run: neither stops the others."""

import resource
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from workspace import ROOT, Checkout, call, make_spec, memory_limited, small_copy, train_command

from paragone.records import record

LIMIT = 3 * 2**30  # bytes; the frameworks themselves need less than half of it


def test_limit_is_never_raised():
    """Neither the one that the shell or the scheduler has set, nor beyond the free memory."""
    program = (
        "import resource; from paragone.machine.limits import limit_memory; limit_memory(); "
        "print(*resource.getrlimit(resource.RLIMIT_DATA))"
    )
    line = [sys.executable, "-c", program]
    options = {"cwd": ROOT / "scripts", "text": True}
    with memory_limited(2**30):
        soft, hard = subprocess.check_output(line, **options).split()
    assert int(soft) == 2**30
    assert int(hard) == resource.getrlimit(resource.RLIMIT_DATA)[1]
    soft, _ = subprocess.check_output(line, **options).split()
    assert 2**30 < int(soft) < 2**50


@pytest.mark.parametrize(
    ("backend", "statuses"),
    # Where TensorFlow asks for its own small things when memory has ended, it aborts.
    [("torch", {"out_of_memory"}), ("tensorflow-mirrored", {"out_of_memory", "crashed"})],
)
def test_batch_too_large_is_a_record(fashion, tmp_path, backend, statuses):
    """In training: the feature maps of 8,000 images are more than the limit several times over."""
    arrays = small_copy(fashion, tmp_path / "small", train=8_000, test=64)
    spec = make_spec("wide-resnet", backend, batch=8_000, epochs=2, steps_per_epoch=1)
    with memory_limited(LIMIT):
        done = call(train_command(spec, arrays, tmp_path, "launch"))
    assert done.returncode == 0, done.stderr
    made = record.read(tmp_path / "record.json")
    assert made["status"] in statuses
    assert made["reason"]
    assert made["epochs"] == []
    assert made["steady"] is None
    if made["status"] == "out_of_memory":
        assert made["reason"] in done.stdout
        assert made["clocks"]["cold"]["compilation"] > 0
    with np.load(tmp_path / "predictions.npz") as predictions:
        assert len(predictions["labels"]) == 0


def test_the_same_batch_fits_into_more(fashion, tmp_path):
    """The limit is what the test above is about."""
    arrays = small_copy(fashion, tmp_path / "small", train=1_000, test=64)
    spec = make_spec("fashion-conv", "torch", batch=1_000, epochs=1, steps_per_epoch=1)
    with memory_limited(LIMIT):
        done = call(train_command(spec, arrays, tmp_path))
    assert done.returncode == 0, done.stderr
    assert record.read(tmp_path / "record.json")["status"] == "completed"


@pytest.fixture(scope="module")
def swept(fashion, tmp_path_factory):
    """Through the workflow: one batch that fits, one that does not, one run that diverges."""
    made = Checkout(tmp_path_factory.mktemp("swept"))
    made.config["data"]["folder"] = str(fashion.folder)
    made.config["workloads"]["wild"] = {
        **made.config["workloads"]["fashion-cnn"],
        "learning_rate": {"base": 1e6},
    }
    made.config["experiments"]["batch_size_throughput"].pop("train_examples", None)
    made.only("batch_size_throughput", ["torch"], workload={}, epochs=2, steps_per_epoch=2)
    block = made.config["experiments"]["batch_size_throughput"]
    block["workload"] = "fashion-conv"
    cell = {"backend": "torch", "replicas": 1}
    block["matrix"] = [
        {**cell, "batch": [{"global": 100}, {"global": 30_000}]},
        {**cell, "workload": "wild", "batch": {"global": 200}},
    ]
    made.configure()
    with memory_limited(LIMIT):
        done = made.snakemake("all", "--cores", "2")
    assert done.returncode == 0, done.stdout
    return made


EXPECTED = {
    ("fashion-conv", 100): "completed",
    ("fashion-conv", 30_000): "out_of_memory",
    ("wild", 200): "diverged",
}


def test_statuses_in_records_and_table(swept):
    found = {}
    for path in swept.folder.glob("results/runs/*/record.json"):
        made = record.read(path)
        found[made["spec"]["workload"]["name"], made["spec"]["batch"]["global"]] = made["status"]
    assert found == EXPECTED
    runs = pd.read_csv(swept / "results/tables/runs.csv")
    columns = runs["workload"], runs["global_batch"], runs["status"]
    assert {(one, two): three for one, two, three in zip(*columns, strict=True)} == EXPECTED
    speeds = runs.set_index("status")["steady_examples_per_second"].notna()
    assert (speeds["completed"], speeds["out_of_memory"]) == (True, False)


def test_the_figure_says_so_where_bars_would_be(swept):
    folder = swept / "results/figures/batch_size_throughput"
    points = pd.read_csv(folder / "batch_size_throughput.csv")
    measured = points[points["panel"] == "measured"]
    words = measured[measured["kind"] == "words"].groupby("x")["words"].agg(" ".join)
    assert "out of memory" in words[30_000]
    assert "diverged" in words[200]
    assert set(measured.loc[measured["kind"] == "median", "x"]) == {100}
    # Matplotlib writes each text as a comment before its outlines.
    svg = (folder / "batch_size_throughput.svg").read_text()
    assert "out of memory" in svg
    assert "diverged" in svg
