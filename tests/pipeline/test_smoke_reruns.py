"""What a change reruns: all that depends on it, and nothing else."""

import os

import pytest
from plan import Plan

PLAN = Plan("smoke")
MEASURED = {"fetch", "serialize", "train", "measure_products"}
# The experiment of these figures has no PyTorch eager in the smoke preset.
WITHOUT_PYTORCH = {"plot_scaling", "plot_epoch_time"}


def measured(jobs: dict[str, int]) -> dict[str, int]:
    """The jobs of the rules that compute rather than tabulate, draw and compare."""
    gate = ("probe_", "first_steps")
    return {n: count for n, count in jobs.items() if n in MEASURED or n.startswith(gate)}


def append(text: str) -> str:
    return f"{text}\nEDITED = True\n"


def test_finished_means_nothing_to_do(smoke, tmp_path):
    """Not with one core, nor with another mirror, nor when every file has another time."""
    assert smoke.jobs() == {}
    for name in smoke.checkout.files:
        os.utime(smoke.checkout / name)
    line = ("all", "--cores", "1", *smoke.options)
    assert smoke.checkout.jobs(*line, PARAGONE_MIRRORS=str(tmp_path)) == {}


def test_editing_a_figure_redraws_only_it(smoke):
    """Which modules each figure depends on: tests/unit/test_sources.py."""
    with smoke.checkout.edited("scripts/paragone/reporting/figures/clocks.py", append):
        jobs = smoke.jobs()
    assert jobs == {"plot_clocks": PLAN.drawn()["plot_clocks"], "page": 1, "all": 1}


def test_editing_the_loop_retrains_and_does_not_touch_the_data(smoke):
    with smoke.checkout.edited("scripts/paragone/training/loop.py", append):
        jobs = smoke.jobs()
    assert measured(jobs) == {"train": len(PLAN.runs)}


def test_editing_an_engine_retrains_only_its_backends(smoke):
    with smoke.checkout.edited("scripts/paragone/engines/torch_xla.py", append):
        jobs = smoke.jobs()
    runs = PLAN.trained_by("torch_xla")
    assert measured(jobs) == {"train": len(runs), "probe_torch-xla": 1}


def test_editing_a_measurement_rule_checks_again_and_trains_nothing(smoke):
    with smoke.checkout.edited("rules/schemas/compliance.csv", lambda text: text + "\n"):
        jobs = smoke.jobs()
    assert jobs["collect"] == len(PLAN.experiments)
    assert measured(jobs) == {}


@pytest.mark.parametrize(
    ("old", "new"), [("#0072B2", "#123456"), ("label: PyTorch eager,", "label: Torch,")]
)
def test_another_color_or_label_redraws_without_training(smoke, old, new):
    with smoke.checkout.edited("config.yaml", lambda text: text.replace(old, new)):
        jobs = smoke.jobs()
    assert PLAN.drawn().keys() - WITHOUT_PYTORCH <= jobs.keys()
    assert not {"check_parity", "collect"} & set(jobs)
    assert measured(jobs) == {}


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
