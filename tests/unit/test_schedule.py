"""The order of the runs: experiments by size, repeats in turn, what is compared side by side, drawn anew."""

import copy
from itertools import groupby

from plan import Plan
from workspace import CONFIG

from paragone.config.expand import expand
from paragone.config.questions import schedule

PAPER = Plan("paper")
RUNS = PAPER.runs


def repeats_of(name: str, repeats: int = 6, seed: int = 0) -> list[list[str]]:
    """The backends of each repeat of an experiment, in the order of its schedule."""
    config = copy.deepcopy(CONFIG)
    config["experiments"] = {name: {**config["experiments"][name], "repeats": repeats}}
    specs = {spec.name: spec for spec in expand(config, name)}
    ordered = [specs[run] for run in schedule({name: list(specs.values())}, seed)]
    return [
        [spec.backend["name"] for spec in part]
        for _, part in groupby(ordered, key=lambda spec: spec.seed)
    ]


def test_every_run_has_one_place():
    order = schedule(PAPER.experiments, 0)
    assert sorted(order) == sorted(RUNS)


def test_the_experiment_with_the_fewest_runs_of_its_own_is_first():
    """A run that two of them share is trained with the larger, beside what it is compared with."""
    runs = [spec for spec in RUNS.values() if spec.workload["name"] == "wide-resnet"][:9]
    parts = {"six": runs[3:], "pair": runs[:2], "four": runs[:4]}
    order = schedule(parts, 0)
    assert len(order) == len(runs)
    assert [set(order[:3]), set(order[3:])] == [
        {spec.name for spec in part} for part in (runs[:3], runs[3:])
    ]


def test_repeats_take_turns_in_an_order_drawn_for_each():
    repeats = repeats_of("one_device")
    assert len(repeats) == 6
    assert len({tuple(sorted(repeat)) for repeat in repeats}) == 1
    assert len({tuple(repeat) for repeat in repeats}) > 3
    assert repeats_of("one_device", repeats=3) == repeats[:3]
    assert repeats_of("one_device", seed=1) != repeats


def test_runs_that_are_compared_are_neighbors():
    """In each repeat the backends of a batch size, and no batch size comes back."""
    specs = PAPER.experiments["batch_size_throughput"]
    order = schedule({"one": specs}, 0)
    cells = [(RUNS[run].seed, RUNS[run].global_batch) for run in order]
    groups = [cell for cell, _ in groupby(cells)]
    assert len(groups) == len(set(groups)) == 12 * len({spec.seed for spec in specs})
    batches = [batch for seed, batch in groups if seed == 0]
    assert batches != sorted(batches)
