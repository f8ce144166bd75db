"""The answers, of planted results: each sentence says what its tables say."""

import re

import numpy as np
import pandas as pd
import pytest
from make_records import LABELS, make_record, typed

from paragone.analysis import tidy
from paragone.analysis.answers import Tables, answers
from paragone.analysis.pairwise import differences

BEST, PUBLISHED, ALSO, OPEN, ABSENT = range(5)


def evidence(speeds: dict[str, float], repeats: int = 7, noise: float = 0.01, **parity: bool):
    """One experiment whose speed is primary: `repeats` runs of each backend around its speed."""
    rng = np.random.default_rng(3)
    made = [
        make_record(backend, seed=seed, speed=speed * float(rng.lognormal(0, noise)))
        for backend, speed in speeds.items()
        for seed in range(repeats)
    ]
    return of(made, {**dict.fromkeys(speeds, True), **parity})


def of(made: list[dict], passed: dict[str, bool]) -> Tables:
    parity = {("fashion-conv", backend): value for backend, value in passed.items()}
    runs, _ = tidy.tables(typed(made), "one", parity)
    found = differences(runs, LABELS)
    found["family"] = np.where(found["metric"] == "speed", "primary", "exploratory")
    return Tables("one", "Which?", runs, found)


def sentences(one: Tables, place: int) -> list[str]:
    return answers([one])[place].sentences


def test_a_clear_winner_is_named_with_its_lead():
    (text,) = sentences(evidence({"torch": 1250, "torch-xla": 1000}), BEST)
    assert text.startswith("Which? speed: PyTorch is best; PyTorch is 1.2")
    assert "faster than PyTorch/XLA SPMD (n = 7 pairs)." in text
    lead, low, high = map(float, re.search(r"is ([\d.]+) x \[([\d.]+), ([\d.]+)\]", text).groups())
    assert 1.2 < low <= lead <= high < 1.3


def test_the_winner_may_stand_second():
    (text,) = sentences(evidence({"torch": 1000, "torch-xla": 1300}), BEST)
    assert "PyTorch/XLA SPMD is best; PyTorch/XLA SPMD is 1.3" in text


def test_a_division_has_its_own_best_and_what_tuning_is_worth_is_a_third_answer():
    tuning = {"variables": {"MALLOC_TOP_PAD_": "1"}}
    speeds = {("torch", True): 2000, ("torch", False): 1000}
    speeds |= {("torch-xla", True): 1300, ("torch-xla", False): 1250}
    rng = np.random.default_rng(5)
    made = [
        make_record(
            backend,
            seed=seed,
            tuning=tuning if tuned else None,
            speed=speed * float(rng.lognormal(0, 0.005)),
        )
        for (backend, tuned), speed in speeds.items()
        for seed in range(8)  # of four pairs
    ]
    texts = sentences(of(made, {"torch": True, "torch-xla": True}), BEST)
    worth = next(text for text in texts if "tuning" in text)
    installed = next(text for text in texts if "tuned" not in text)
    (tuned,) = set(texts) - {worth, installed}
    assert installed.startswith("Which? speed: PyTorch/XLA SPMD is best; ")
    assert tuned.startswith("Which? speed when tuned: PyTorch (tuned) is best; ")
    assert worth.startswith("Which? what tuning is worth in speed: ")
    assert re.search(r"PyTorch \(tuned\) is 2\.0\d x .* faster than PyTorch;", worth)
    assert "is best" not in worth


def test_equality_is_an_answer():
    (text,) = sentences(evidence({"torch": 1000, "torch-xla": 1002}), BEST)
    assert "PyTorch and PyTorch/XLA SPMD are equal within 5 %" in text
    assert "best" not in text


@pytest.mark.parametrize("repeats", [5, 7])
def test_equality_may_come_before_an_interval(repeats):
    """Five pairs can show equality (p = 1/32), and have no two-sided interval at 95 %."""
    (text,) = sentences(evidence({"torch": 1000, "torch-xla": 1002}, repeats, noise=0.001), BEST)
    assert "are equal within 5 %: 1.00 x" in text
    assert "inf" not in text
    assert ("[" in text) is (repeats > 5)


def test_two_may_lead():
    speeds = {"tensorflow-mirrored": 1000, "torch": 1001, "torch-xla": 700}
    (text,) = sentences(evidence(speeds), BEST)
    assert "the best is among TensorFlow Mirrored and PyTorch" in text
    assert "faster than PyTorch/XLA SPMD" in text
    assert "TensorFlow Mirrored and PyTorch are equal within 5 %" in text


@pytest.mark.parametrize(
    ("repeats", "noise", "why"),
    [
        (1, 0.01, "one pair has no variance: at least 6 are needed (n = 1 pairs)"),
        (3, 0.01, "more pairs are needed"),
        (7, 0.5, "no affordable number of pairs decides"),
    ],
)
def test_too_little_says_what_it_takes(repeats, noise, why):
    (text,) = sentences(evidence({"torch": 1020, "torch-xla": 1000}, repeats, noise), BEST)
    assert "undecided between PyTorch and PyTorch/XLA SPMD" in text
    assert why in text
    assert "is best" not in text


def test_metrics_may_contradict_each_other():
    """Faster, and less accurate: both are reported."""
    made = [
        make_record(backend, seed=seed, speed=speed + seed, accuracies=[0.5, 0.6, end + seed / 1e4])
        for backend, speed, end in (("torch", 2000.0, 0.7), ("torch-xla", 1000.0, 0.8))
        for seed in range(7)
    ]
    one = of(made, {"torch": True, "torch-xla": True})
    assert "PyTorch is best" in sentences(one, BEST)[0]
    (accuracy,) = [text for text in sentences(one, ALSO) if "test accuracy" in text]
    assert "PyTorch/XLA SPMD is best; PyTorch/XLA SPMD is +0.100" in accuracy


def test_a_failed_gate_has_no_winner():
    speeds = {"torch": 1200, "torch-xla": 1000}
    (text,) = sentences(evidence(speeds, **{"torch-xla": False}), BEST)
    assert "not compared (PyTorch/XLA SPMD: failed parity" in text


def test_what_was_not_run_is_named_with_its_reason():
    made = [make_record("torch"), make_record("tensorflow-tpu", status="unavailable")]
    one = of(made, {"torch": True, "tensorflow-tpu": True})
    assert sentences(one, ABSENT) == [
        "Which? fashion-conv on tensorflow-tpu: device not available."
    ]


def test_an_experiment_without_a_pair_is_named():
    made = [make_record("torch"), make_record("torch", global_batch=500)]
    one = of(made, {"torch": True})
    assert sentences(one, OPEN) == ["Which? no two backends did the same work: nothing to compare."]


def published(verdicts: dict[str, str], others: list[str]) -> pd.DataFrame:
    """A comparison: primary rows with their verdicts, and other outcomes."""
    rows = [
        {"metric": metric, "verdict": verdict, "family": "primary"}
        for metric, verdict in verdicts.items()
    ] + [{"metric": "train_loss", "verdict": verdict, "family": "outcome"} for verdict in others]
    shared = {
        "system": "8 TPU cores",
        "published": "0.8",
        "judge": "PyTorch",
        "why": "PyTorch: why",
    }
    return pd.DataFrame([{**row, **shared, "PyTorch": "0.81 ± 0.01 (n = 2)"} for row in rows])


def of_published(table: pd.DataFrame) -> str:
    one = evidence({"torch": 1000}, 1)
    (text,) = sentences(Tables("one", "Holds?", one.runs, comparison=table), PUBLISHED)
    return text


def test_a_reproduced_run_says_so_and_counts_all_rows():
    text = of_published(
        published({"test_accuracy": "reproduced"}, ["reproduced", "differs", "undecided"])
    )
    assert text == (
        "Holds? 8 TPU cores: the end of training is reproduced: test accuracy 0.8 published, "
        "0.81 ± 0.01 (n = 2) measured: reproduced. Of 4 published losses and accuracies: "
        "2 reproduced, 1 differs, 1 undecided."
    )


@pytest.mark.parametrize("verdict", ["differs", "at chance", "undecided"])
def test_anything_else_is_not_reproduced(verdict):
    text = of_published(published({"test_accuracy": "reproduced", "test_loss": verdict}, []))
    assert "not all reproduced" in text
    assert f"measured: {verdict}" in text


def test_another_protocol_is_not_comparable():
    text = of_published(published({"test_accuracy": "not comparable"}, ["not comparable"]))
    assert text == "Holds? 8 TPU cores: not comparable (PyTorch: why)."
