"""The jobs that the presets ask for, and mistakes in the config through snakemake itself."""

import pytest
from workspace import CONFIG


def test_paper_preset_lists_the_whole_matrix(checkout):
    """Six runs of the two experiments, three seeds each."""
    jobs = checkout().jobs("all", "--cores", "2", "--configfile", "presets/paper.yaml")
    assert jobs["train"] == 6 * 3
    assert jobs["probe"] == 2 * (len(CONFIG["backends"]) + 1)
    assert jobs["compare"] == jobs["throughput"] == 2


def test_figures_ask_for_the_same_figures_without_the_comparison(checkout):
    made = checkout()
    jobs = made.jobs("figures", "--cores", "2")
    assert jobs["clocks"] == jobs["throughput"] == 2
    assert "compare" not in jobs


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
