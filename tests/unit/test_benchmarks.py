"""The table of `make bench`: its words, and one real row."""

import shutil
import subprocess
import sys

import bench
import engines_alone
import pytest
import rising_costs
import training
import workflow
from product import Data
from rows import NO, UNDECIDED, YES, Row, at_least, at_most, in_turn, quotients, stated
from workspace import ROOT, environment


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([2.0], "2.00 x (n = 1)"),
        ([3.0, 1.0, 2.5], "2.50 x (1.00 to 3.00, n = 3)"),
        ([1.0, 4.0] * 3, "2.00 x [1.00, 4.00] (n = 6)"),
    ],
)
def test_middle_range_and_n_are_stated(values, words):
    assert stated(values, "x") == words


@pytest.mark.parametrize(
    ("values", "within", "reached"),
    [
        ([1.9], YES, NO),
        ([2.1], NO, YES),
        ([1.0, 1.9], YES, NO),
        ([1.0, 3.0], UNDECIDED, UNDECIDED),
        ([3.0, 4.0], NO, YES),
        ([1.0, 1.0, 1.0, 1.0, 3.0], UNDECIDED, UNDECIDED),  # of five, all must agree
        ([1.0] * 14 + [3.0], YES, NO),  # of fifteen they need not
        ([1.0] * 8 + [3.0] * 7, UNDECIDED, UNDECIDED),
    ],
    ids=str,
)
def test_measurements_on_both_sides_of_a_limit_may_decide_nothing(values, within, reached):
    assert (at_most(2, values), at_least(2, values)) == (within, reached)


def test_ratios_are_of_two_measurements_taken_in_turn_from_either_end():
    taken = iter([6.0, 2.0, 3.0, 9.0])
    assert quotients(in_turn(2, lambda: next(taken), lambda: next(taken))) == [3.0, 3.0]


def test_a_measurement_that_fails_is_a_row_and_not_reached(capsys):
    def broken() -> list[Row]:
        raise subprocess.CalledProcessError(1, ["keras_fit.py"])

    (row,) = bench.tried(broken)
    assert row.part == "broken"
    assert "keras_fit.py" in row.measured
    assert row.reached == NO


def test_each_measurement_has_a_name_that_picks_it(tmp_path):
    data = Data(tmp_path, tmp_path)
    made = [*training.rows(data, 1), *engines_alone.rows(data, 1), *workflow.rows(data)]
    made += rising_costs.rows(data)
    names = {"fashion_conv", "epoch", "start", "drawing", "dry_run", "grows_with_runs"}
    assert {*map(bench.name_of, made)} >= names


def test_a_cost_that_rises_is_seen_beside_a_constant_one():
    """Of 10 s + n s per unit, of 10 s + n^2, and of a cost that rises by a fifth."""
    sizes = [1, 3, 10]
    assert rising_costs.per_unit(sizes, [10 + size for size in sizes]) == (1, 1)
    assert rising_costs.verdict(sizes, [10 + size**2 for size in sizes]) == NO
    for costs, expected in (((1, 1), YES), ((2, 0.5), YES), ((1, 1.2), UNDECIDED)):
        middle = 10 + 2 * costs[0]
        assert rising_costs.verdict(sizes, [10, middle, middle + 7 * costs[1]]) == expected


def test_a_row_on_growth_says_what_one_more_costs():
    row = rising_costs.row("planning", "run", [1000, 3000, 10_000], lambda size: 2 + 0.005 * size)
    assert row.measured == "1,000: 7.0 s, 3,000: 17.0 s, 10,000: 52.0 s; 5 and then 5 ms per run"
    assert row.reached == YES


def test_what_does_not_grow_is_no_rising_cost_and_each_round_counts():
    seconds = iter([2.5, 2.4, 2.6, 9.0, 9.0, 9.0, 2.5, 2.5, 2.6])  # the middle round was disturbed
    row = rising_costs.row("start", "replica", [1, 4, 8], lambda _: next(seconds), rounds=3)
    assert row.measured.startswith("1: 2.5 s, 4: 2.5 s, 8: 2.6 s (medians, n = 3); ")
    assert row.reached == YES


def test_rounds_that_differ_decide_nothing():
    seconds = iter([1.0, 3.0, 10.0, 1.0, 3.0, 20.0, 1.0, 3.0, 10.0])
    row = rising_costs.row("run", "epoch", [1, 3, 10], lambda _: next(seconds), rounds=3)
    assert row.reached == UNDECIDED


def test_a_row_is_measured(fashion, tmp_path):
    """The quickest: memory that a process does not share."""
    manifest = tmp_path / "data/fashion_mnist/manifest.json"
    manifest.parent.mkdir(parents=True)
    shutil.copyfile(fashion.manifest, manifest)
    program = ROOT / "benchmarks/bench.py"
    folders = [f"--results={tmp_path}", f"--data-folder={fashion.folder}"]
    done = subprocess.run(
        [sys.executable, str(program), *folders, "--only", "memory"],
        env=environment(PYTHONPATH=str(ROOT / "scripts")),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    header, _, row, _, machine, read = done.stdout.splitlines()
    assert header.startswith("| part | against")
    assert row.startswith("| private memory kept after reading all batches of Fashion-MNIST |")
    assert " MB (n = 1) | 10 MB | yes |" in row
    assert " two cores, commit " in machine
    assert read.startswith(f"Data: fashion_mnist {fashion.source} (")
