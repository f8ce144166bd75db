"""States of the machine: found where variants slow down together, and nowhere else."""

import numpy as np
import pandas as pd
import pytest
from make_contests import windows

from paragone.analysis.pairwise import verdicts
from paragone.analysis.states import calm, disturbed, states

LABELS = {"torch": "PyTorch", "tensorflow": "TensorFlow", "compiled": "Compiled", "jax": "JAX"}
LOST = {"torch": 0.43, "tensorflow": 0.27, "compiled": 0.15, "jax": 0.08}
# Measured on two shared cores: examples/s of one contest, by round.
MEASURED = {
    "torch": "14153 11765 12803 12237 20853 21397 21726 22581 21760 22032 21629 12111 12530 20218 20215 "
    "12765 20893 19880 19468 21022",
    "tensorflow": "20897 16965 18195 24085 24702 23390 24995 24759 25228 22965 18211 18374 24444 24277 "
    "24863 17316 20948 23158 23239 21262",
    "compiled": "16676 16589 17957 21256 20994 20423 20251 21734 21576 20069 20198 19616 20707 20085 21201 "
    "19417 20533 19674 19832 20042",
    "jax": "9131 9408 9386 9787 9821 10251 10236 10248 9925 9668 9254 9647 9894 10209 9913 10272 10032 "
    "10294 10437 9904",
}


def noise(
    random: np.random.Generator, backends: list[str], contests: int, rounds: int
) -> dict[str, np.ndarray]:
    """Speeds whose logs vary by 0.04 between contests and by 0.05 within them, with heavy tails (t, 3)."""
    made = {}
    for backend in backends:
        between = random.normal(0, 0.04, (contests, 1))
        within = 0.05 / np.sqrt(3) * random.standard_t(3, (contests, rounds))
        made[backend] = 1e4 * np.exp(between + within)
    return made


def shared_slowdowns(
    speeds: dict[str, np.ndarray], losses: dict[str, float], is_slow: np.ndarray
) -> dict[str, np.ndarray]:
    """The same speeds with the share `losses` of each backend lost in some rounds."""
    return {
        name: np.where(is_slow, (1 - losses.get(name, 0)) * values, values)
        for name, values in speeds.items()
    }


def measured() -> dict[str, np.ndarray]:
    return {name: np.array([text.split()], dtype=float) for name, text in MEASURED.items()}


def test_the_measured_contest_has_two_states():
    """Rounds 4 and 13, in which eager PyTorch alone was slow, are of no state of the machine."""
    (found,) = states(windows(measured()), LABELS)
    assert found.disturbed == tuple((1, number) for number in (1, 2, 3, 12, 16))
    assert (found.rounds, len(found.disturbed)) == (20, 5)
    assert found.losses == pytest.approx(
        {"PyTorch": 0.39, "TensorFlow": 0.25, "Compiled": 0.12, "JAX": 0.05}, abs=0.01
    )


def test_calm_rounds_give_the_ratio_of_the_calm_machine():
    """In calm rounds TensorFlow was 1.15 times as fast as eager PyTorch, in all 1.19 times by medians."""
    table = windows(measured())
    rest = calm(table)
    assert len(rest) == 4 * 15
    rows = verdicts(rest, LABELS)
    pair = rows[(rows["first"] == "PyTorch") & (rows["second"] == "TensorFlow")]
    assert 1 / pair["effect"].item() == pytest.approx(1.15, abs=0.02)


@pytest.mark.parametrize(("variants", "contests", "rounds"), [(4, 3, 20), (2, 8, 6), (3, 1, 12)])
def test_noise_with_heavy_tails_is_one_state(variants, contests, rounds):
    """Of 100 draws at most 5 %, as is claimed."""
    random = np.random.default_rng(variants)
    names = [f"b{number}" for number in range(variants)]
    draws = (noise(random, names, contests, rounds) for _ in range(100))
    tables = [windows(drawn, run=f"draw {number:03}") for number, drawn in enumerate(draws)]
    found = states(pd.concat(tables, ignore_index=True), {})
    assert len(found) == 100
    assert sum(bool(one.disturbed) for one in found) <= 0.05 * 100


def test_a_state_of_some_rounds_is_found():
    """In 12 draws, whatever its share of the rounds between a seventh and a third."""
    random = np.random.default_rng(1)
    for number in range(12):
        is_slow = random.random((3, 20)) < (0.15, 0.25, 0.35)[number % 3]
        made = windows(shared_slowdowns(noise(random, [*LOST], 3, 20), LOST, is_slow))
        (found,) = states(made, {})
        places = {tuple(place) for place in np.argwhere(is_slow) + 1}
        assert len(places ^ set(found.disturbed)) <= 2
        for name, lost in LOST.items():
            assert found.losses[name] == pytest.approx(lost, abs=0.1)


@pytest.mark.parametrize(
    ("losses", "slow_rounds"),
    [
        ({"torch": 0.6}, 5),  # one variant
        ({"torch": 0.6, "jax": 0.02}, 5),  # less than 5 %
        (LOST, 1),  # one round
        (LOST, 20),  # a whole contest: fresh processes may be the cause
    ],
)
def test_what_is_no_state(losses, slow_rounds):
    random = np.random.default_rng(2)
    is_slow = np.zeros((3, 20), dtype=bool)
    is_slow[1, :slow_rounds] = True
    speeds = {name: np.exp(random.normal(9, 0.01, (3, 20))) for name in LOST}
    (found,) = states(windows(shared_slowdowns(speeds, losses, is_slow)), {})
    assert (found.disturbed, found.losses) == ((), {})


def test_a_variant_that_failed_hides_no_state_of_the_others():
    random = np.random.default_rng(3)
    is_slow = np.zeros((3, 20), dtype=bool)
    is_slow[:, 4:8] = True
    speeds = shared_slowdowns(noise(random, [*LOST], 3, 20), LOST, is_slow)
    speeds["compiled"][1, 5:] = np.nan
    speeds["jax"][:] = np.nan
    (found,) = states(windows(speeds), {})
    assert set(found.disturbed) == {tuple(place) for place in np.argwhere(is_slow) + 1}
    assert set(found.losses) == {"torch", "tensorflow", "compiled"}


def test_questions_and_machines_have_states_of_their_own():
    quiet = {name: np.full((1, 20), 1e4) for name in LOST}
    loud, calm_one = windows(measured(), machine="loud"), windows(quiet, machine="calm")
    other = windows(quiet, machine="loud", run="other", global_batch=64)
    table = pd.concat([loud, calm_one, other], ignore_index=True)
    marked = table.loc[disturbed(table), ["machine", "run"]]
    assert marked.value_counts().to_dict() == {("loud", "question"): 4 * 5}


def test_windows_of_variants_that_were_alone_show_no_state():
    assert not disturbed(windows(measured(), together=False)).any()


def three_contests() -> dict[str, np.ndarray]:
    """The measured contest three times: PyTorch is made as fast as TensorFlow is in calm rounds."""
    speeds = {name: np.repeat(values, 3, axis=0) for name, values in measured().items()}
    speeds["torch"] = speeds["torch"] * 1.15
    return {name: speeds[name] for name in ("torch", "tensorflow")}
