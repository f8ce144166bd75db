"""What a change reruns: all that depends on it, and nothing else."""

import os
from collections import Counter

import pytest
from workspace import CONFIG

FIGURES = Counter(figure for block in CONFIG["experiments"].values() for figure in block["figures"])
OTHER_FIGURES = {
    "plot_matmul": 1,
    "plot_accelerators": 1,
    "plot_scaling_model": 1,
    "plot_scaling_beyond": 1,
}
SCALING = {
    "scaling",
    "plot_scaling_model",
    "plot_scaling_beyond",
}  # without PyTorch: it has no replicas
RUNS = 33  # of the smoke preset, as in test_smoke.py


def append(text: str) -> str:
    return f"{text}\nEDITED = True\n"


def test_finished_means_nothing_to_do(smoke):
    assert smoke.jobs() == {}


def test_touching_every_file_changes_nothing(smoke):
    for name in smoke.checkout.files:
        os.utime(smoke.checkout / name)
    assert smoke.jobs() == {}


def test_another_number_of_cores_changes_nothing(smoke):
    assert smoke.checkout.jobs("all", "--cores", "1", *smoke.options) == {}


@pytest.mark.parametrize("figure", FIGURES)
def test_editing_a_figures_program_redraws_only_it(smoke, figure):
    with smoke.checkout.edited(f"scripts/plot_{figure}.py", append):
        jobs = smoke.jobs()
    jobs.pop("all")
    assert jobs == {figure: FIGURES[figure]}


def test_editing_the_style_redraws_every_figure(smoke):
    with smoke.checkout.edited("scripts/paragone/reporting/drawing/style.py", append):
        jobs = smoke.jobs()
    jobs.pop("all")
    assert jobs == {**FIGURES, **OTHER_FIGURES}


def test_editing_the_loop_retrains_and_does_not_touch_the_data(smoke):
    with smoke.checkout.edited("scripts/paragone/training/loop.py", append):
        jobs = smoke.jobs()
    assert jobs["train"] == RUNS
    assert not {"fetch", "serialize", "matmul", "probe"} & set(jobs)


def test_editing_one_engine_retrains_only_its_backends(smoke):
    with smoke.checkout.edited("scripts/paragone/engines/tensorflow.py", append):
        jobs = smoke.jobs()
    assert (jobs["train"], jobs["probe"]) == (15, 8)
    with smoke.checkout.edited("scripts/paragone/engines/torch_xla.py", append):
        jobs = smoke.jobs()
    assert (jobs["train"], jobs["probe"]) == (9, 5)
    assert "matmul" not in jobs


@pytest.mark.parametrize(
    "name",
    ["rules/schemas/compliance.csv", "scripts/paragone/analysis/compliance/of_experiment.py"],
)
def test_editing_a_measurement_rule_checks_again_and_trains_nothing(smoke, name):
    """The rule that has a remark for busy machines, or a comment."""
    with smoke.checkout.edited(name, lambda text: text.replace("No process", "No run") + "\n"):
        jobs = smoke.jobs()
    assert jobs["check_records"] == len(CONFIG["experiments"])
    assert not {"train", "probe", "matmul"} & set(jobs)


def test_editing_one_product_measures_only_its_framework_again(smoke):
    with smoke.checkout.edited("scripts/paragone/microbenchmarks/products/torch_xla.py", append):
        jobs = smoke.jobs()
    assert jobs["matmul"] == jobs["tabulate_matmul"] == 1
    assert jobs["collect"] == len(CONFIG["experiments"])  # each has shares of the peak
    assert not {"train", "probe"} & set(jobs)


def test_editing_one_all_reduce_measures_only_its_framework_again(smoke):
    with smoke.checkout.edited("scripts/paragone/microbenchmarks/all_reduces/torch_xla.py", append):
        jobs = smoke.jobs()
    assert jobs["allreduce"] == jobs["tabulate_allreduce"] == 1
    assert not {"train", "probe", "collect", "matmul"} & set(jobs)


@pytest.mark.parametrize(
    ("old", "new"), [("#0072B2", "#123456"), ("label: PyTorch\n", "label: Torch\n")]
)
def test_another_colour_or_label_redraws_without_training(smoke, old, new):
    """Of PyTorch, which is in one experiment of every figure but those of scaling."""
    with smoke.checkout.edited("config.yaml", lambda text: text.replace(old, new)):
        jobs = smoke.jobs()
    assert FIGURES.keys() - SCALING <= jobs.keys()
    assert OTHER_FIGURES.keys() - SCALING <= jobs.keys()
    assert not {"train", "probe", "check_parity", "collect", "fetch", "serialize"} & set(jobs)
    assert "matmul" not in jobs


def test_another_mirror_changes_nothing(smoke, tmp_path):
    assert smoke.checkout.jobs("all", *smoke.options, PARAGONE_MIRRORS=str(tmp_path)) == {}


def test_more_repeats_train_only_the_new_ones(smoke):
    def edit(text: str) -> str:
        head, experiment, rest = text.partition("  tpu_fashion_conv:\n")
        return head + experiment + rest.replace("repeats: 1", "repeats: 3", 1)

    with smoke.checkout.edited("config.yaml", edit):
        jobs = smoke.jobs()
    assert jobs["train"] == 6
    assert "probe" not in jobs


def test_another_learning_rate_retrains_only_its_workload(smoke):
    def edit(text: str) -> str:
        head, workload, rest = text.partition("  fashion-conv:\n")
        old, new = (f"learning_rate: {{base: {rate}}}" for rate in (0.001, 0.002))
        return head + workload + rest.replace(old, new, 1)

    with smoke.checkout.edited("config.yaml", edit):
        jobs = smoke.jobs()
    assert (jobs["train"], jobs["probe"]) == (3, 4)


def test_all_is_as_before(smoke):
    """The edits above were undone: the checkout is still finished."""
    assert smoke.jobs() == {}
