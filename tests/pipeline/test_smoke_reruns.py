"""What a change reruns: all that depends on it, and nothing else."""

from collections.abc import Callable

import pytest
from plan import GATE, measured
from plan import smoke as plan_of_smoke
from workspace import edited

PLAN = plan_of_smoke()


def append(text: str) -> str:
    return f"{text}\nEDITED = True\n"


def replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


def another_rate(text: str) -> str:
    """The learning rate of fashion-conv."""
    head, workload, rest = text.partition("  fashion-conv: ")
    old, new = (f"learning_rate: {{base: {rate}}}" for rate in (0.001, 0.002))
    return head + workload + rest.replace(old, new, 1)


OF_CONV = [spec for spec in PLAN.runs.values() if spec.workload.name == "fashion-conv"]
# The file that is edited, how, and what is then measured again.
EDITS: dict[str, tuple[str, Callable[[str], str], dict[str, int]]] = {
    # Code is one group of rooms: what trains and what decides no array.
    "an engine": (
        "scripts/paragone/engines/tensorflow.py",
        append,
        {name: PLAN.jobs()[name] for name in ("train", "contests", "measure_products", *GATE)},
    ),
    "a measurement rule": ("rules/schemas/compliance.csv", lambda text: text + "\n", {}),
    "a figure": ("scripts/paragone/reporting/figures/learning_curves.py", append, {}),
    "a color": ("config.yaml", replaced("#0072B2", "#123456"), {}),
    "a learning rate": (
        "papers/tensorflow-handbook-tpu/paper.yaml",
        another_rate,
        {
            "train": len(OF_CONV),
            "first_steps": 1,
            "probe": 1 + len({spec.backend.name for spec in OF_CONV}),
        },
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_measures_again_what_depends_on_it(smoke, edit):
    file, change, expected = EDITS[edit]
    with edited(smoke.checkout / file, change):
        jobs = smoke.jobs()
    assert measured(jobs) == expected
    if edit in ("a figure", "a color"):
        assert PLAN.drawn().keys() <= jobs.keys()
        assert edit == "a figure" or not {"check_parity", "collect_runs"} & set(jobs)
    else:
        assert jobs["collect_runs"] > 0


def test_an_edit_of_what_all_programs_import_makes_everything_again(smoke):
    with edited(smoke.checkout / "scripts/paragone/base/errors.py", append):
        assert smoke.jobs() == PLAN.jobs()


def test_finished_means_nothing_to_do(smoke, tmp_path):
    """Not with one core, nor with another mirror. Other times: test_same_content.py."""
    line = ("all", "--cores", "1", *smoke.options)
    assert smoke.checkout.jobs(*line, PARAGONE_MIRRORS=str(tmp_path)) == {}


def repeated(preset: str) -> str:
    """The preset with two repeats of an experiment in place of one."""
    before, name, after = preset.partition("  tpu_fashion_conv:")
    return f"{before}{name}\n    repeats: 2{after}"


def test_another_place_in_the_order_is_no_reason_to_train_again(smoke):
    """Nor are more repeats, of which only the new ones are trained."""
    assert PLAN.turns[OF_CONV[0].name] < len(PLAN.turns)  # others follow, and move up without it
    left = [name for name in PLAN.experiments if name != "tpu_fashion_conv"]
    assert not {"train", "first_steps"} & smoke.jobs("--config", f"only={left}").keys()
    with edited(smoke.checkout / "presets/smoke.yaml", repeated):
        assert measured(smoke.jobs()) == {"train": 1, "first_steps": 1}
