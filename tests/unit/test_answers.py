"""The answers, of planted results: each sentence says what its tables say."""

import re
from datetime import datetime

import numpy as np
import pytest
from make_records import LABELS, make_record, set_times, typed

from paragone.analysis import tidy
from paragone.analysis.answers import Tables, answers
from paragone.analysis.pairwise import differences

BEST, _, ALSO, OPEN, ABSENT = range(5)


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
    text, *_ = sentences(evidence({"torch": 1250, "torch-xla": 1000}), BEST)
    about = "Which? speed, once training is steady, without compilation"
    assert text.startswith(f"{about}: PyTorch is best: 1.2")
    assert "faster than PyTorch/XLA SPMD (n = 7 pairs)." in text
    lead, low, high = map(float, re.search(r"([\d.]+) x \[([\d.]+), ([\d.]+)\]", text).groups())
    assert 1.2 < low <= lead <= high < 1.3


def test_the_winner_may_stand_second():
    text, *_ = sentences(evidence({"torch": 1000, "torch-xla": 1300}), BEST)
    assert "PyTorch/XLA SPMD is best: 1.3" in text
    assert "faster than PyTorch (n = 7 pairs)" in text


def test_what_speed_leaves_out_stands_beside_it():
    """The whole run, if that is decided: here with another winner."""
    rng = np.random.default_rng(7)
    made = []
    for backend, speed, compilation in (("torch", 2000.0, 600.0), ("torch-xla", 1000.0, 1.0)):
        for seed in range(7):
            one = make_record(backend, seed=seed, speed=speed * float(rng.lognormal(0, 0.005)))
            one["clocks"]["cold"]["compilation"] = compilation
            set_times(one, datetime.fromisoformat("2026-01-01T00:00:00+00:00"))
            made.append(one)
    one = of(made, {"torch": True, "torch-xla": True})
    speed, whole = sentences(one, BEST)
    assert "PyTorch is best" in speed
    assert whole.startswith(
        "Which? end to end of runs of 180,000 examples, imports, compilation and"
    )
    assert "the speed window not (exploratory): PyTorch/XLA SPMD is best" in whole
    # 599 s for compilation less 90 s for these examples, 0.5 ms for each more.
    assert whole.endswith(
        "PyTorch/XLA SPMD is overtaken by PyTorch after about 1,200,000 examples."
    )
    assert [found.verdict for found in answers([one])[BEST].answers] == [
        "faster",
        "quicker from start to end",
    ]


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
    texts = [text for text in texts if "end to end" not in text]
    worth = next(text for text in texts if "tuning" in text)
    installed = next(text for text in texts if "tuned" not in text)
    (tuned,) = set(texts) - {worth, installed}
    assert installed.startswith("Which? speed, once")
    assert "PyTorch/XLA SPMD is best: " in installed
    assert tuned.startswith("Which? speed when tuned, once")
    assert "PyTorch (tuned) is best: " in tuned
    assert worth.startswith("Which? what tuning is worth in speed, once")
    assert re.search(r"PyTorch \(tuned\) is 2\.0\d x .* faster than PyTorch;", worth)
    assert "is best" not in worth


def test_equality_is_an_answer():
    text, *_ = sentences(evidence({"torch": 1000, "torch-xla": 1002}), BEST)
    assert "PyTorch and PyTorch/XLA SPMD are equal within 5 %" in text
    assert "best" not in text


@pytest.mark.parametrize("repeats", [5, 7])
def test_equality_may_come_before_an_interval(repeats):
    """Five pairs can show equality (p = 1/32), and have no two-sided interval at 95 %."""
    text, *_ = sentences(evidence({"torch": 1000, "torch-xla": 1002}, repeats, noise=0.001), BEST)
    assert re.search(r"are equal within 5 %: 1\.00 x (\[.*\] )?apart", text)
    assert "inf" not in text
    assert ("[" in text) is (repeats > 5)


def test_two_may_lead():
    speeds = {"tensorflow-mirrored": 1000, "torch": 1001, "torch-xla": 700}
    text, *_ = sentences(evidence(speeds), BEST)
    assert (
        "the best is TensorFlow Mirrored or PyTorch; TensorFlow Mirrored and PyTorch are " in text
    )
    assert "TensorFlow Mirrored and PyTorch are equal within 5 %" in text
    assert len(re.findall(r"is 1\.4\d x \[.*?\] faster than PyTorch/XLA SPMD", text)) == 2


def test_who_is_best_is_only_partly_decided_between_two_that_vary():
    speeds = {"tensorflow-mirrored": 1000, "torch": 1030, "torch-xla": 500}
    one = evidence(speeds, repeats=7, noise=0.03)
    text, *_ = sentences(one, BEST)
    assert re.search(
        r"the best is TensorFlow Mirrored or PyTorch, undecided: \d+ more pairs are needed; ", text
    )
    assert answers([one])[BEST].answers[0].verdict == "partly decided"


def test_all_that_are_equal_are_one_sentence():
    speeds = {"tensorflow-mirrored": 1000, "torch": 1001, "torch-xla": 1002}
    text, *_ = sentences(evidence(speeds, repeats=9, noise=0.001), BEST)
    assert "TensorFlow Mirrored, PyTorch and PyTorch/XLA SPMD are equal within 5 %: their" in text
    assert re.search(r"means are at most 0\.\d % apart", text)
    assert text.count("equal") == 1


def test_memory_is_told_as_a_share():
    rng = np.random.default_rng(1)
    made = []
    for backend, size in (("torch", 1e9), ("torch-xla", 2e9)):
        for seed in range(7):
            one = make_record(backend, seed=seed)
            for process in one["processes"]:
                process["memory"]["peak_host_bytes"] = int(size * rng.lognormal(0, 0.01))
            made.append(one)
    texts = sentences(of(made, {"torch": True, "torch-xla": True}), ALSO)
    (memory,) = [text for text in texts if "peak memory" in text]
    assert re.search(r"PyTorch is best: (49|50|51) % \[\d\d, \d\d\] less memory than", memory)


@pytest.mark.parametrize(
    ("repeats", "noise", "why"),
    [
        (1, 0.01, "one pair has no variance: at least 6 are needed (n = 1 pair)"),
        (3, 0.01, "more pairs are needed"),
        (7, 0.5, "no affordable number of pairs decides"),
    ],
)
def test_too_little_says_what_it_takes(repeats, noise, why):
    text, *_ = sentences(evidence({"torch": 1020, "torch-xla": 1000}, repeats, noise), BEST)
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
    assert "PyTorch/XLA SPMD is best: 0.100 [" in accuracy


def test_a_failed_gate_has_no_winner():
    speeds = {"torch": 1200, "torch-xla": 1000}
    text, *_ = sentences(evidence(speeds, **{"torch-xla": False}), BEST)
    assert "not compared (PyTorch/XLA SPMD: failed parity" in text


def test_what_was_not_run_is_named_with_its_reason():
    made = [make_record("torch"), make_record("tensorflow-tpu", status="unavailable")]
    one = of(made, {"torch": True, "tensorflow-tpu": True})
    assert sentences(one, ABSENT) == [
        "Which? fashion-conv on tensorflow-tpu: device not available."
    ]


def test_what_was_run_once_is_one_answer():
    made = [make_record("torch"), make_record("torch-xla", speed=2000.0)]
    one = of(made, {"torch": True, "torch-xla": True})
    one.differences["family"] = "exploratory"
    (text,) = sentences(one, OPEN)
    assert text == (
        "Which? speed, end to end, test accuracy and peak memory: one pair of runs each of PyTorch and "
        "PyTorch/XLA SPMD, and one pair has no variance: at least 6 pairs are needed."
    )


def test_an_experiment_without_a_pair_is_named():
    made = [make_record("torch"), make_record("torch", global_batch=500)]
    one = of(made, {"torch": True})
    assert sentences(one, OPEN) == [
        "Which? no two backends did the same work in the same division: nothing to compare."
    ]


def test_what_was_not_asked_for_is_among_what_did_not_run():
    one = of([make_record("torch")], {"torch": True})
    found = {
        section.heading: section.sentences for section in answers([one], left_out=["jax: no."])
    }
    assert found["Not run, and why"] == ["jax: no."]
