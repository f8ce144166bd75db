"""The jobs that the presets ask for, and mistakes in the config through snakemake itself."""

import re

import pytest
from workspace import CONFIG

from paragone.config.expand import expand

# Cells of each experiment's published matrix x seeds, counted by hand.
PAPER = {
    "xla_fashion_cnn": 4 * 3,
    "tpu_fashion_conv": 4 * 3,
    "mirrored_mobilenet": 7 * 3,
    "multiworker_mobilenet": 4 * 3,
    "reuters_strategies": 10 * 3,
    "batch_size_throughput": 3 * 12 * 3,
    "batch_size_time_to_accuracy": 3 * 12 * 5,
    "strong_scaling": 2 * 4 * 5,
    "weak_scaling": 2 * 4 * 5,
}
# Backends that train each workload there; one more probe is the reference.
PROBED = {
    "fashion-cnn": 4,
    "fashion-conv": 4,
    "mobilenet-v2": 5,
    "reuters-cnn": 4,
    "reuters-cnn-double-softmax": 4,
    "wide-resnet": 3,
}


def test_paper_preset_lists_the_whole_matrix(checkout):
    jobs = checkout().jobs("all", "--cores", "2", "--configfile", "presets/paper.yaml")
    assert PAPER.keys() == CONFIG["experiments"].keys()
    assert PROBED.keys() == CONFIG["workloads"].keys()
    shared = 2 * 5  # 8 replicas of 128 are a cell of both scaling experiments
    assert jobs["train"] == sum(PAPER.values()) - shared == 445
    assert jobs["probe"] == sum(PROBED.values()) + len(PROBED)
    assert jobs["check_parity"] == len(PROBED)
    assert jobs["check_records"] == jobs["collect"] == jobs["compare_backends"] == len(PAPER)
    assert jobs["compare"] == len(PAPER) - 2  # nobody has published a scaling curve
    assert jobs["allreduce"] == jobs["tabulate_scaling"] == 2
    assert jobs["fit_scaling"] == jobs["compare_scaling"] == 1
    assert jobs["matmul"] == jobs["fetch"] == jobs["serialize"] == 3
    assert jobs["accelerator_reference"] == jobs["compare_matmul"] == 1
    assert jobs["tabulate_epochs"] == 2


def test_figures_ask_for_the_same_figures_without_the_comparison(checkout):
    jobs = checkout().jobs("figures", "--cores", "2")
    wanted = [figure for block in CONFIG["experiments"].values() for figure in block["figures"]]
    assert {name: jobs[name] for name in wanted} == {name: wanted.count(name) for name in wanted}
    assert jobs["plot_matmul"] == jobs["plot_accelerators"] == 1
    assert jobs["plot_scaling_model"] == jobs["plot_scaling_beyond"] == 1
    assert jobs["check_records"] == len(PAPER)  # no figure without
    assert not {
        "compare",
        "compare_backends",
        "compare_matmul",
        "accelerator_reference",
        "tabulate_epochs",
    } & set(jobs)


# In place of the program that trains: here only the order counts.
TOUCH = """
import sys
from pathlib import Path

options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
for name in ("--record", "--predictions"):
    Path(options[name]).touch()
"""


def test_repeats_take_turns(checkout):
    """No second repeat starts before every first one: time passes for all backends alike."""
    made = checkout()
    made.only("tpu_fashion_conv", ["torch-xla", "tensorflow-mirrored", "torch"], repeats=3)
    (made / "scripts/launch.py").write_text(TOUCH)
    manifest = made / "results/data/fashion_mnist/manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.touch()
    runs = [spec.name for spec in expand(made.config, "tpu_fashion_conv")]
    done = made.snakemake(*(f"results/runs/{name}/record.json" for name in runs), "--cores", "2")
    assert done.returncode == 0, done.stdout
    order = re.findall(r"Training (\S+)", done.stdout)
    assert sorted(order) == sorted(runs)
    assert re.findall(r"\.s(\d)\.", " ".join(order)) == list("000111222")


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("experiments.tpu_fashion_conv.repeat", 3, ["experiments.tpu_fashion_conv", "repeats"]),
        ("workloads.fashion-cnn.optimizer.lr", 3, ["workloads.fashion-cnn.optimizer", "'lr'"]),
        ("colour", "red", ["config:", "'colour'", "backends"]),
        ("data.source", "fake", ["data.source", '"synthetic"']),
        ("seed", -1, ["seed", "-1"]),
        ("experiments.tpu_fashion_conv.workload", "mnist", ["'mnist'", "fashion-conv"]),
        ("experiments.tpu_fashion_conv.batch", {"global": 999}, []),
        ("backends.torch.engine", "jax", ["backends.torch.engine", "jax.py"]),
        ("scaling.allreduce.bytes", [6, 8], ["scaling.allreduce.bytes", "6"]),
        ("experiments.mirrored_mobilenet.figures", ["scaling"], ["mirrored_mobilenet", "strong"]),
    ],
)
def test_mistake_in_the_config_is_one_message(checkout, path, value, words):
    made = checkout()
    *parents, last = path.split(".")
    at = made.config
    for key in parents:
        at = at[key]
    at[last] = value
    if "global" in str(value):
        at["matrix"][0]["replicas"] = 2
        words = ["experiments.tpu_fashion_conv.matrix[0]", "999", "2 replicas"]
    made.configure()
    done = made.snakemake("all", "--cores", "2")
    assert done.returncode == 1
    assert "Traceback" not in done.stdout
    assert done.stdout.count("WorkflowError in ") == 1
    for word in words:
        assert word in done.stdout
    assert not (made / "results").exists()
