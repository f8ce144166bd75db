"""What a change reruns: all that depends on it, and nothing else."""

import os

import pytest

FIGURES = {"learning_curves": 2, "throughput": 2, "clocks": 2, "predictions": 2}


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
    assert jobs == {figure: 2}


def test_editing_the_style_redraws_every_figure(smoke):
    with smoke.checkout.edited("scripts/paragone/figures/style.py", append):
        jobs = smoke.jobs()
    jobs.pop("all")
    assert jobs == FIGURES


def test_editing_the_loop_retrains_and_does_not_touch_the_data(smoke):
    with smoke.checkout.edited("scripts/paragone/loop.py", append):
        jobs = smoke.jobs()
    assert jobs["train"] == 6
    assert not {"fetch", "serialize"} & set(jobs)


def test_editing_one_engine_retrains_only_its_backends(smoke):
    with smoke.checkout.edited("scripts/paragone/engines/tensorflow.py", append):
        jobs = smoke.jobs()
    assert (jobs["train"], jobs["probe"]) == (2, 2)
    with smoke.checkout.edited("scripts/paragone/engines/torch_xla.py", append):
        assert smoke.jobs()["train"] == 2


@pytest.mark.parametrize(
    ("old", "new"), [("#D55E00", "#123456"), ("label: PyTorch\n", "label: Torch\n")]
)
def test_another_colour_or_label_redraws_without_training(smoke, old, new):
    with smoke.checkout.edited("config.yaml", lambda text: text.replace(old, new)):
        jobs = smoke.jobs()
    assert FIGURES.keys() <= jobs.keys()
    assert not {"train", "probe", "check_parity", "collect", "fetch", "serialize"} & set(jobs)


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
        return text.replace("learning_rate: {base: 0.001}", "learning_rate: {base: 0.002}")

    with smoke.checkout.edited("config.yaml", edit):
        assert smoke.jobs()["train"] == 3


def test_all_is_as_before(smoke):
    """The edits above were undone: the checkout is still finished."""
    assert smoke.jobs() == {}
