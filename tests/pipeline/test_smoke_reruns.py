"""What a change reruns: all that depends on it, and nothing else."""

import os

import pytest
from plan import Plan

PLAN = Plan("smoke")
MEASURED = {"fetch", "serialize", "train", "measure_products"}
# Without PyTorch eager in the smoke preset: it has one replica and trains no MobileNetV2.
WITHOUT_PYTORCH = {
    "plot_scaling",
    "plot_epoch_time",
}
# The page shows every figure.
PAGE = {"page": 1}


def measured(jobs: dict[str, int]) -> dict[str, int]:
    """The jobs of the rules that compute rather than tabulate, draw and compare."""
    gate = ("probe_", "first_steps")
    return {n: count for n, count in jobs.items() if n in MEASURED or n.startswith(gate)}


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


@pytest.mark.parametrize("figure", ["clocks", "beyond"])
def test_editing_a_figure_redraws_only_it(smoke, figure):
    """Which modules each figure depends on: tests/unit/test_sources.py."""
    with smoke.checkout.edited(f"scripts/paragone/reporting/figures/{figure}.py", append):
        jobs = smoke.jobs()
    jobs.pop("all")
    assert jobs == {f"plot_{figure}": PLAN.drawn()[f"plot_{figure}"]} | PAGE


def test_editing_the_style_redraws_every_figure(smoke):
    with smoke.checkout.edited("scripts/paragone/reporting/style.py", append):
        jobs = smoke.jobs()
    jobs.pop("all")
    assert jobs == PLAN.drawn() | PAGE


def test_editing_the_loop_retrains_and_does_not_touch_the_data(smoke):
    with smoke.checkout.edited("scripts/paragone/training/loop.py", append):
        jobs = smoke.jobs()
    assert measured(jobs) == {"train": len(PLAN.runs)}


@pytest.mark.parametrize(("engine", "more"), [("tensorflow", ["keras_fit"]), ("torch_xla", [])])
def test_editing_one_engine_retrains_only_its_backends(smoke, engine, more):
    """`more`: the engines that are made from it."""
    with smoke.checkout.edited(f"scripts/paragone/engines/{engine}.py", append):
        jobs = smoke.jobs()
    runs = [run for name in (engine, *more) for run in PLAN.trained_by(name)]
    probes = {f"probe_{spec.backend['name']}": 1 for spec in runs}
    assert measured(jobs) == {"train": len(runs), **probes}


@pytest.mark.parametrize(
    "name",
    ["rules/schemas/compliance.csv", "scripts/paragone/analysis/compliance/of_experiment.py"],
)
def test_editing_a_measurement_rule_checks_again_and_trains_nothing(smoke, name):
    """The rule that has a remark for busy machines, or a comment."""
    with smoke.checkout.edited(name, lambda text: text.replace("No process", "No run") + "\n"):
        jobs = smoke.jobs()
    assert jobs["collect"] == len(PLAN.experiments)
    assert measured(jobs) == {}


def test_editing_one_product_measures_only_its_framework_again(smoke):
    with smoke.checkout.edited("scripts/paragone/microbenchmarks/products/torch_xla.py", append):
        jobs = smoke.jobs()
    assert jobs["collect_products"] == 1
    assert jobs["collect"] == len(PLAN.experiments)  # each has shares of the peak
    assert measured(jobs) == {"measure_products": 1}


@pytest.mark.parametrize(
    ("old", "new"), [("#0072B2", "#123456"), ("label: PyTorch eager\n", "label: Torch\n")]
)
def test_another_colour_or_label_redraws_without_training(smoke, old, new):
    """Of PyTorch, which is in one experiment of every other figure."""
    with smoke.checkout.edited("config.yaml", lambda text: text.replace(old, new)):
        jobs = smoke.jobs()
    assert PLAN.drawn().keys() - WITHOUT_PYTORCH <= jobs.keys()
    assert not {"check_parity", "collect"} & set(jobs)
    assert measured(jobs) == {}


def test_another_mirror_changes_nothing(smoke, tmp_path):
    assert smoke.checkout.jobs("all", *smoke.options, PARAGONE_MIRRORS=str(tmp_path)) == {}


def test_more_repeats_train_only_the_new_ones(smoke):
    def edit(text: str) -> str:
        head, experiment, rest = text.partition("  tpu_fashion_conv:\n")
        return head + experiment + rest.replace("repeats: 1", "repeats: 3", 1)

    with smoke.checkout.edited("presets/smoke.yaml", edit):
        jobs = smoke.jobs()
    count = 2 * len(PLAN.experiments["tpu_fashion_conv"])
    assert measured(jobs) == {"train": count, "first_steps": 2}


def test_another_learning_rate_retrains_only_its_workload(smoke):
    """And probes its backends again, whose one process covers their other workloads too."""

    def edit(text: str) -> str:
        head, workload, rest = text.partition("  fashion-conv:\n")
        old, new = (f"learning_rate: {{base: {rate}}}" for rate in (0.001, 0.002))
        return head + workload + rest.replace(old, new, 1)

    with smoke.checkout.edited("config.yaml", edit):
        jobs = smoke.jobs()
    runs = [spec for spec in PLAN.runs.values() if spec.workload["name"] == "fashion-conv"]
    probes = {f"probe_{name}": 1 for name in ("reference", *(s.backend["name"] for s in runs))}
    assert measured(jobs) == {"train": len(runs), "first_steps": 1, **probes}


def test_all_is_as_before(smoke):
    """The edits above were undone: the checkout is still finished."""
    assert smoke.jobs() == {}
