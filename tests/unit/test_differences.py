"""Which of two backends is better: verdicts by hand, families, and what several pairs say together."""

import math

import pandas as pd
import pytest
from draw_figures import Drawing
from judge_rows import pairs
from make_records import LABELS, make_record, tabulated

from paragone.analysis.pairwise import (
    BETTER,
    EQUAL,
    NOT_COMPARED,
    PARTLY,
    UNDECIDED,
    contenders,
    differences,
    lengths,
    overall,
    quickest,
)

SETTINGS = {"primary": {"experiment": "one", "metric": "speed"}, "until": None}


def speeds(by_backend: dict[str, list[float]]) -> list[dict]:
    """A record per backend and seed, of these steady speeds."""
    return [
        make_record(backend, seed=seed, speed=speed)
        for backend, values in by_backend.items()
        for seed, speed in enumerate(values)
    ]


def rows_of(records: list[dict], metric: str = "speed", parity: bool | dict = True) -> list[dict]:
    found = differences(tabulated(records, parity)[0], LABELS)
    return found[found["metric"] == metric].to_dict("records")


def two(ratios: list[float]) -> dict:
    """The row of speed of two backends, of which the first is so many times as fast, by seed."""
    made = {"torch": [1000 * one for one in ratios], "torch-xla": [1000.0] * len(ratios)}
    (row,) = rows_of(speeds(made))
    return row


def test_faster_by_hand():
    row = two([1.1, 1.2, 1.1, 1.2, 1.1, 1.2])
    assert (row["relation"], row["winner"]) == (BETTER, "PyTorch")
    assert row["effect"] == pytest.approx(math.sqrt(1.1 * 1.2))  # the geometric mean
    half = 2.5706 * math.log(1.2 / 1.1) / 2 / math.sqrt(5)  # t of 5 degrees of freedom
    assert math.log(row["high"] / row["low"]) == pytest.approx(2 * half, rel=1e-3)
    assert row["p"] == row["p_adjusted"] <= 0.001
    assert row["p_equal_adjusted"] >= 0.99
    assert row["n"] == 6
    assert len(row["runs"].split()) == 12


def test_equal_within_the_margin_by_hand():
    row = two([1.01, 0.99, 1.02, 0.98, 1.01, 0.99])
    assert (row["relation"], row["winner"]) == (EQUAL, "")
    assert row["p_equal_adjusted"] <= 0.001
    row = two([1.01, 1.02, 1.01, 1.02, 1.01, 1.02])
    assert (row["relation"], row["winner"]) == (EQUAL, "PyTorch")


def test_the_pairs_that_would_decide():
    row = two([1.1])
    assert (row["relation"], row["n"], row["needed"]) == (UNDECIDED, 1, 3)
    assert two([1.0, 1.02, 1.01])["needed"] == 3
    row = two([1.0, 1.2, 1.1])  # a mean of 0.093 in logs, a deviation of 0.092
    assert (row["relation"], row["needed"]) == (UNDECIDED, 10)
    assert math.isnan(two([0.6, 1.7, 1.01])["needed"])


def test_three_backends_are_a_family():
    """One p value of 0.02 decides alone, and not among three."""
    made = {"torch": [1000.0] * 3, "torch-xla": [1080.0, 1105.0, 1065.0]}
    (row,) = rows_of(speeds(made))
    assert (row["p"], row["relation"]) == (row["p_adjusted"], BETTER)
    rows = rows_of(speeds(made | {"tensorflow-mirrored": [990.0, 1000.0, 1013.0]}))
    pair = next(one for one in rows if one["p"] == pytest.approx(row["p"]))
    assert pair["p_adjusted"] > 0.05 >= pair["p"]
    assert pair["relation"] == UNDECIDED


@pytest.mark.parametrize(
    ("rows", "able", "relation"),
    [
        ([("A", "B", BETTER, 1.2, "A")], "A", BETTER),
        ([("A", "B", BETTER, 0.8, "B"), ("A", "C", NOT_COMPARED, math.nan)], "B", BETTER),
        ([("A", "B", EQUAL, 1.01)], "AB", EQUAL),
        ([("A", "B", UNDECIDED, 1.1)], "AB", UNDECIDED),
        ([("A", "B", NOT_COMPARED, math.nan)], "", NOT_COMPARED),
        ([("A", "B", UNDECIDED, 1.1), ("A", "C", EQUAL, 1.0)], "ABC", PARTLY),
        ([("A", "B", UNDECIDED, 1), ("A", "C", BETTER, 2, "A"), ("B", "C", BETTER, 2, "B")], "AB", PARTLY),
        ([("A", "B", EQUAL, 1.03), ("A", "C", EQUAL, 0.98), ("B", "C", BETTER, 0.94, "C")], "AC", BETTER),
        ([("A", "B", BETTER, 2, "A"), ("B", "C", BETTER, 2, "B"), ("A", "C", BETTER, 0.5, "C")], "", BETTER),
    ],
)  # fmt: skip
def test_what_pairs_say_together(rows, able, relation):
    table = pairs(*rows)
    assert "".join(contenders(table[table["relation"] != NOT_COMPARED])) == able
    assert overall(table) == relation


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        # Fast has 45 s of its own, Quick none, and Fast needs 5 ms less for each example.
        ({}, [("Quick", 0), ("Fast", 9000)]),
        ({"steady_examples_per_second": 100.0}, [("Quick", 0)]),
        ({"end_to_end_seconds": [9.0, 11.0, 4.0, 6.0]}, [("Fast", 0)]),
        ({"steady_examples_per_second": [100.0, 100.0, math.nan, math.nan]}, [("Quick", 0)]),
        ({"planned_epochs": [1, 2, 1, 2]}, []),
    ],
    ids=["by hand", "as fast", "never", "no speed", "other lengths"],
)
@pytest.mark.parametrize(
    ("names", "runs"), [(("Quick", "Fast"), "q0 q1 f0 f1"), (("Fast", "Quick"), "f0 f1 q0 q1")]
)
def test_who_is_quickest_by_the_length_of_training(changes, found, names, runs):
    """Two runs each of Quick, which starts at once, and Fast, of 1,000 examples."""
    table = pd.DataFrame(
        {
            "run": ["q0", "q1", "f0", "f1"],
            "planned_epochs": 2,
            "planned_epoch_examples": 500,
            "end_to_end_seconds": [9.0, 11.0, 49.0, 51.0],
            "steady_examples_per_second": [100.0, 100.0, 200.0, 200.0],
        }
    )
    rows = pairs((*names, UNDECIDED, 1.0), n=2, runs=runs)
    assert quickest(lengths(rows, table.assign(**changes))) == found


def test_accuracy_is_compared_by_difference():
    made = [
        make_record(backend, seed=seed, accuracies=[0.5, 0.6, last + 0.001 * seed])
        for backend, last in (("torch", 0.8), ("torch-xla", 0.78))
        for seed in range(6)
    ]
    (row,) = rows_of(made, "test accuracy")
    assert (row["ratio"], row["winner"]) == (False, "PyTorch")
    assert row["effect"] == pytest.approx(0.02)


def test_energy_is_of_an_example_and_not_of_a_second():
    """Both draw as much in a second; who does twice the work in it takes half."""
    made = speeds({"torch": [2000.0] * 6, "torch-xla": [1000.0] * 6})
    for one in made:
        for activity in one["processes"][0]["epochs"]:
            activity["accelerator_joules"] = 5 * activity["seconds"]
    (row,) = rows_of(made, "energy")
    assert row["winner"] == "PyTorch"
    assert row["effect"] == pytest.approx(2.0)


def test_a_run_that_missed_the_target_is_not_left_out():
    def made(*statuses):
        return [
            make_record(backend, seed=seed, target=0.8, accuracies=[0.1, 0.5, 0.9], status=status)
            for backend in ("torch", "torch-xla")
            for seed, status in enumerate(statuses if backend == "torch" else ["completed"] * 6)
        ]

    missed = made(*["completed"] * 6)
    missed[5] = make_record("torch", seed=5, target=0.8, accuracies=[0.1, 0.5, 0.7])
    (row,) = rows_of(missed, "time to target")
    assert row["relation"] == NOT_COMPARED
    assert row["first_lacks"] == "not each run has a time to target"
    (row,) = rows_of(made(*["completed"] * 5, "diverged"), "time to target")
    assert (row["relation"], row["first_lacks"]) == (NOT_COMPARED, "diverged (1 of 6 runs)")


def test_pairs_are_of_equal_seeds():
    made = [make_record("torch", seed=seed, speed=1000.0) for seed in (0, 1, 2)]
    made += [make_record("torch-xla", seed=seed, speed=500.0) for seed in (2, 3)]
    (row,) = rows_of(made)
    assert row["n"] == 1
    assert [name.split(".")[4] for name in row["runs"].split()] == ["s2", "s2"]
    (row,) = rows_of([*made[:2], *made[3:]])
    assert (row["n"], row["relation"]) == (0, NOT_COMPARED)
    assert (row["first_lacks"], row["second_lacks"]) == ("", "")


def test_without_parity_or_a_completed_run_nothing_is_compared():
    by_backend = {"torch": [1.0] * 3, "torch-xla": [2.0] * 3}
    (row,) = rows_of(
        speeds(by_backend),
        parity={("fashion-conv", "torch"): True, ("fashion-conv", "torch-xla"): False},
    )
    assert row["relation"] == NOT_COMPARED
    assert row["second_lacks"] == "failed parity: no speed compared (all 3 runs)"
    (row,) = rows_of([make_record("torch"), make_record("torch-xla", status="out_of_memory")])
    assert (row["first_lacks"], row["second_lacks"]) == ("", "out of memory")


def test_machines_are_families_of_their_own():
    """The same pairs on two machines: as many p values are adjusted together as one machine has."""
    made = [
        make_record(backend, seed=seed, speed=speed, host=host)
        for host in ("node-1", "node-2")
        for backend, speed in (("torch", 1100.0), ("torch-xla", 1000.0))
        for seed in range(6)
    ]
    rows = rows_of(made)
    assert [row["machine"].partition(":")[0] for row in rows] == ["node-1", "node-2"]
    assert all(row["p_adjusted"] == row["p"] for row in rows)


def test_other_work_or_another_machine_is_not_compared():
    made = [
        make_record("torch"),
        make_record("torch-xla", global_batch=500),
        make_record("torch-xla", workload="fashion-cnn"),
        make_record("torch-xla", host="node-2"),
        make_record("torch-xla", source="synthetic", seed=1),
    ]
    assert rows_of(made) == []


def test_table_has_families_and_no_names_of_runs(tmp_path):
    runs, _ = tabulated(speeds({"torch": [1.0], "torch-xla": [2.0]}))
    outputs = Drawing(tmp_path, SETTINGS, runs=runs).table("differences")
    text = outputs["markdown"].read_text()
    assert "one pair of runs has no variance" in text
    families = pd.read_csv(outputs["csv"]).set_index("metric")["family"].to_dict()
    assert families.pop("speed") == "primary"
    assert set(families.values()) == {"exploratory"}
    assert len(families) == 3  # nothing counted energy, no target was asked for
    assert "torch.r1" not in text  # names of runs are for the CSV file
    alone = Drawing(tmp_path, runs=tabulated([make_record()])[0]).table("differences")
    assert "nothing to compare" in alone["markdown"].read_text()
