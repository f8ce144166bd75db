"""A run that cannot be completed is a result: recorded, tabulated, drawn, and no crash."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from workspace import call, make_spec, succeed, train_command

from paragone.records import record
from paragone.training.loop import DIVERGED


def diverging(backend: str):
    spec = make_spec("fashion-cnn", backend, batch=200, epochs=3, steps_per_epoch=5)
    return replace(spec, workload={**spec.workload, "learning_rate": {"base": 1e6}})


@pytest.mark.parametrize("backend", ["torch", "tensorflow-mirrored", "torch-xla"])
def test_diverging_run_is_a_record(small, tmp_path, backend):
    output = succeed(train_command(diverging(backend), small, tmp_path))
    made = record.read(tmp_path / "record.json")
    assert made["status"] == "diverged"
    assert made["reason"].startswith("the training loss of epoch")
    assert "diverged" in output
    assert 1 <= len(made["epochs"]) <= 3
    losses = [row["train_loss"] for row in made["epochs"]]
    assert losses[-1] is None or losses[-1] > DIVERGED
    assert all(loss <= DIVERGED for loss in losses[:-1])
    assert not (tmp_path / "checkpoints").exists()
    with np.load(tmp_path / "predictions.npz") as arrays:
        assert set(arrays.files) == {"images", "labels", "predictions", "probabilities"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"backend": {"device": "gpu"}}, "gpu"),
        ({"backend": {"device": "tpu"}}, "tpu"),
        ({"replicas": 2}, "2 replica(s) on cpu"),
    ],
    ids=["gpu", "tpu", "replicas"],
)
def test_absent_device_is_a_record(small, tmp_path, changes, words):
    spec = make_spec("fashion-conv", "torch", batch=200, epochs=1, steps_per_epoch=1)
    if "backend" in changes:
        changes = {"backend": {**spec.backend, **changes["backend"]}}
    spec = replace(spec, **changes)
    output = succeed(train_command(spec, small, tmp_path))
    made = record.read(tmp_path / "record.json")
    assert made["status"] == "unavailable"
    assert words in made["reason"]
    assert made["reason"] in output
    assert made["devices"]["observed"] is None
    assert made["devices"]["requested"]["replicas"] == spec.replicas
    assert made["epochs"] == []
    assert made["steady"] is None
    assert len(made["data"]["manifest_sha256"]) == 64
    with np.load(tmp_path / "predictions.npz") as arrays:
        assert len(arrays["labels"]) == 0


@pytest.mark.parametrize("backend", ["tensorflow-mirrored", "torch-xla"])
def test_absent_gpu_in_other_frameworks(small, tmp_path, backend):
    spec = make_spec("fashion-conv", backend, batch=200, epochs=1, steps_per_epoch=1)
    spec = replace(spec, backend={**spec.backend, "device": "gpu"})
    done = call(train_command(spec, small, tmp_path))
    assert done.returncode == 0, done.stderr
    assert record.read(tmp_path / "record.json")["status"] == "unavailable"


def test_target_ends_the_run(small, tmp_path):
    spec = make_spec("fashion-cnn", "torch", batch=200, epochs=30, steps_per_epoch=10)
    target = {"accuracy": 0.3, "patience": 2, "stop": True}
    spec = replace(spec, workload={**spec.workload, "target": target})
    succeed(train_command(spec, small, tmp_path))
    made = record.read(tmp_path / "record.json")
    assert made["target"]["reached"] is True
    assert made["target"]["epoch"] == len(made["epochs"]) - 1 < 29
    assert made["target"]["first_hit"] == made["epochs"][-2]["elapsed"]


def test_holes_are_drawn_and_do_not_stop_the_others(fashion, checkout):
    """Through the workflow: one backend diverges, one has no device, one completes."""
    made = checkout()
    made.config["data"]["folder"] = str(fashion.folder)
    made.config["backends"] = {
        "torch": made.config["backends"]["torch"],
        "torch-gpu": {
            **made.config["backends"]["torch"],
            "device": "gpu",
            "label": "PyTorch on a GPU",
            "color": "#56B4E9",
        },
    }
    short = {"epochs": 2, "steps_per_epoch": 4}
    made.only("xla_fashion_cnn", ["torch", "torch-gpu"], short, **short)
    good = made.config["experiments"]["xla_fashion_cnn"]
    made.config["workloads"]["wild"] = {
        **made.config["workloads"]["fashion-cnn"],
        "learning_rate": {"base": 1e6},
    }
    made.config["experiments"]["wild"] = {
        **good,
        "workload": "wild",
        "matrix": [{"backend": "torch", "replicas": 1, "batch": {"global": 100}}],
    }
    made.configure()
    done = made.snakemake("all", "--cores", "2")
    assert done.returncode == 0, done.stdout
    runs = pd.read_csv(made / "results/tables/runs.csv")
    assert sorted(runs["status"]) == ["completed", "diverged", "unavailable"]
    hole = runs.set_index("status")
    assert hole["steady_examples_per_second"].notna().to_dict() == {
        "completed": True,
        "diverged": False,
        "unavailable": False,
    }
    parity = json.loads((made / "results/parity/fashion-cnn.json").read_text())["backends"]
    assert {name: verdict["passed"] for name, verdict in parity.items()} == {
        "torch": True,
        "torch-gpu": None,
    }
    figures = made / "results/figures"
    # Matplotlib writes each text as a comment before its outlines.
    assert "device not available" in (figures / "xla_fashion_cnn/throughput.svg").read_text()
    assert "diverged" in (figures / "wild/throughput.svg").read_text()
    for experiment in ("xla_fashion_cnn", "wild"):
        for figure in good["figures"]:
            assert (figures / experiment / f"{figure}.pdf").stat().st_size > 1000
