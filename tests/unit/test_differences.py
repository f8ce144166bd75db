"""Which backend is faster: the test's p values by hand, its error rate, its power, and its words."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from make_records import LABELS, make_record, typed
from make_tables import write

from paragone.analysis import columns, tidy
from paragone.analysis.pairwise import NOT_COMPARED, NOT_SHOWN, differences
from paragone.analysis.statistics import holm, paired_p, pairs_needed

BACKENDS = ("tensorflow-mirrored", "torch", "torch-xla")
SPEED = "steady examples/s"


def tabulated(records: list[dict], **failed: bool) -> pd.DataFrame:
    """The runs of the records; backends pass parity unless `failed` says otherwise."""
    passed = {**dict.fromkeys(BACKENDS, True), **failed}
    names = {one["spec"]["workload"]["name"] for one in records}
    parity = {(name, backend): value for name in names for backend, value in passed.items()}
    return tidy.tables(typed(records), "one", parity)[0]


def speeds(by_backend: dict[str, list[float]]) -> list[dict]:
    """A record a backend and seed, of these steady speeds."""
    return [
        make_record(backend, seed=seed, speed=speed)
        for backend, values in by_backend.items()
        for seed, speed in enumerate(values)
    ]


def verdicts(records: list[dict], metric: str = SPEED, **failed: bool) -> dict[tuple, pd.Series]:
    found = differences(tabulated(records, **failed), LABELS)
    rows = found[found["metric"] == metric]
    return {(row["first"], row["second"]): row for _, row in rows.iterrows()}


# The test itself


@pytest.mark.parametrize("values", [[1, 2, 3], [-1, 2, 4, 8], [0.5, -0.1, 2, 2, 3, -4, 1]])
def test_p_value_is_that_of_all_sign_flips(values):
    flips = [np.mean(np.multiply(values, signs)) for signs in product((-1, 1), repeat=len(values))]
    observed = np.mean(values)
    above = np.mean([flip >= observed - 1e-12 for flip in flips])
    below = np.mean([flip <= observed + 1e-12 for flip in flips])
    assert paired_p(values) == pytest.approx(min(1, 2 * min(above, below)))


def test_the_least_p_value_and_the_pairs_it_takes():
    for n in range(2, 10):
        assert paired_p([1.0] * n) == pytest.approx(2 / 2**n)
    assert paired_p([5.0]) == 1
    assert paired_p([0.0] * 8) == 1
    assert [pairs_needed(count) for count in (1, 3, 6)] == [6, 7, 8]


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


NOISES = {
    "normal": lambda rng, n: rng.normal(size=n) - rng.normal(size=n),
    "a slow run now and then": lambda rng, n: rng.pareto(1.5, n) - rng.pareto(1.5, n),
    "a machine that slows down": lambda rng, n: (
        (1 + np.arange(n)) * (rng.normal(size=n) - rng.normal(size=n))
    ),
    "a coarse clock": lambda rng, n: rng.integers(0, 3, n) - rng.integers(0, 3, n),
}


def of_all_exchanges(differences: np.ndarray, declares) -> float:
    """Share of all ways to exchange the two names within pairs in which a difference is declared."""
    signs = product((-1, 1), repeat=len(differences))
    return float(np.mean([declares(differences * np.array(some)) for some in signs]))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("n", [2, 3, 5, 6, 8])
def test_of_one_backend_under_two_names_no_difference_is_declared(noise, n):
    """A/A: whatever the noise, in at most 5 % of all resamples, and never from too few pairs."""
    rng = np.random.default_rng(5)
    for _ in range(3):
        rate = of_all_exchanges(NOISES[noise](rng, n), lambda some: paired_p(some) <= 0.05)
        assert rate <= 0.05
        assert rate == 0 or n >= pairs_needed(1)


def test_of_one_backend_under_three_names_no_difference_is_declared():
    """Three comparisons at once: one false verdict in any of them counts."""
    rng = np.random.default_rng(6)
    count = 0
    for _ in range(3000):
        one, two, three = rng.lognormal(sigma=0.03, size=(3, 8))
        ratios = (one / two, one / three, two / three)
        count += min(holm([paired_p(np.log(ratio)) for ratio in ratios])) <= 0.05
    assert 0 < count / 3000 <= 0.05


def test_the_check_above_can_fail():
    """A sign test without a distribution: the mean is beyond its standard error. Of eight, 1 in 3."""
    noise = NOISES["normal"](np.random.default_rng(7), 8)
    rate = of_all_exchanges(noise, lambda some: abs(some.mean()) > some.std(ddof=1) / np.sqrt(8))
    assert rate > 0.2


# The table


def test_a_clear_difference_is_declared_once_there_are_enough_repeats():
    rng = np.random.default_rng(1)
    rounds = rng.normal(1000, 150, 7)  # far more noise between rounds than between backends
    by_backend = {
        "torch": list(rounds * rng.normal(1.10, 0.01, 7)),
        "torch-xla": list(rounds * rng.normal(1.00, 0.01, 7)),
    }
    (row,) = verdicts(speeds(by_backend)).values()
    assert (row["verdict"], row["why"]) == ("PyTorch is faster", "")
    assert row["n"] == 7
    assert 1.05 < row["low"] <= row["median"] <= row["high"] < 1.15
    assert len(row["runs"].split()) == 14
    (row,) = verdicts(speeds({key: values[:5] for key, values in by_backend.items()})).values()
    assert row["verdict"] == NOT_SHOWN
    assert row["why"] == "too few repeats to show a difference: 5, it takes 6"


def test_the_slower_one_may_stand_first():
    by_backend = {"torch": [1000.0] * 6, "torch-xla": [1000.0 + seed for seed in range(1, 7)]}
    (row,) = verdicts(speeds(by_backend)).values()
    assert row["verdict"] == "PyTorch/XLA SPMD is faster"


def test_three_backends_take_more_repeats_than_two():
    by_backend = {name: [1000.0 * place] * 6 for place, name in enumerate(BACKENDS, start=1)}
    found = verdicts(speeds(by_backend))
    assert len(found) == 3
    for row in found.values():
        assert row["verdict"] == NOT_SHOWN
        assert row["p"] == pytest.approx(2 / 2**6)
        assert row["p_adjusted"] == pytest.approx(3 * 2 / 2**6)
        assert row["why"] == "too few repeats to show a difference: 6, it takes 7"
    by_backend = {name: [1000.0 * place] * 7 for place, name in enumerate(BACKENDS, start=1)}
    assert {row["verdict"] for row in verdicts(speeds(by_backend)).values()} == {
        "PyTorch is faster",
        "PyTorch/XLA SPMD is faster",
    }


def test_accuracy_is_compared_by_difference():
    made = [
        make_record(backend, seed=seed, accuracies=[0.5, 0.6, best + 0.001 * seed])
        for backend, best in (("torch", 0.8), ("torch-xla", 0.78))
        for seed in range(6)
    ]
    (row,) = verdicts(made, "test accuracy").values()
    assert (row["effect"], row["verdict"]) == ("difference", "PyTorch is more accurate")
    assert row["median"] == pytest.approx(0.02)


def test_pairs_are_of_equal_seeds():
    made = [make_record("torch", seed=seed, speed=1000.0) for seed in (0, 1, 2)]
    made += [make_record("torch-xla", seed=seed, speed=500.0) for seed in (2, 3)]
    (row,) = verdicts(made).values()
    assert row["n"] == 1
    assert [name.split(".")[4] for name in row["runs"].split()] == ["s2", "s2"]
    (row,) = verdicts([*made[:2], *made[3:]]).values()
    assert (row["n"], row["verdict"], row["why"]) == (0, NOT_COMPARED, "no seed ran both")


def test_without_parity_or_a_completed_run_nothing_is_compared():
    by_backend = {"torch": [1.0] * 3, "torch-xla": [2.0] * 3}
    (row,) = verdicts(speeds(by_backend), **{"torch-xla": False}).values()
    assert row["verdict"] == NOT_COMPARED
    assert row["why"] == "PyTorch/XLA SPMD: failed parity: no speed compared (all 3 runs)"
    made = [make_record("torch"), make_record("torch-xla", status="out_of_memory")]
    (row,) = verdicts(made).values()
    assert row["why"] == "PyTorch/XLA SPMD: out of memory"


def test_other_work_or_another_machine_is_not_compared():
    made = [
        make_record("torch"),
        make_record("torch-xla", global_batch=500),
        make_record("torch-xla", workload="fashion-cnn"),
        make_record("torch-xla", host="node-2"),
        make_record("torch-xla", source="synthetic", edition="synthetic", seed=1),
    ]
    assert verdicts(made) == {}


def test_a_diverged_run_has_no_steady_speed():
    made = [make_record("torch", seed=0), make_record("torch", seed=1, status="diverged")]
    made[1]["window"] = made[0]["window"]
    runs = tabulated(made)
    diverged = runs[runs["status"] == "diverged"].iloc[0]
    assert diverged[columns.STEADY_COLUMNS].isna().all()
    assert diverged["train_seconds"] > 0


@pytest.mark.parametrize("made", [speeds({"torch": [1.0], "torch-xla": [2.0]}), [make_record()]])
def test_program_writes_three_formats(tmp_path, made):
    outputs = write(tmp_path, "differences", "--title", "A & B", labels={}, runs=tabulated(made))
    text, latex = outputs["markdown"].read_text(), outputs["latex"].read_text()
    assert len(pd.read_csv(outputs["csv"])) == (2 if len(made) > 1 else 0)
    assert ("too few repeats" in text) is (len(made) > 1)
    assert ("nothing to compare" in text) is (len(made) == 1)
    assert r"A \& B" in latex
    assert "torch.r1" not in text + latex  # names of runs are for the CSV file
