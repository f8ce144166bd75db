"""The order of the runs: experiments by size, repeats in turn, what is compared side by side, drawn anew."""

import copy
from itertools import groupby

from plan import Plan
from workspace import CONFIG

from paragone.config.expand import expand
from paragone.config.questions import schedule

PAPER = Plan("paper")


def repeats_of(repeats: int = 6, seed: int = 0) -> list[list[str]]:
    """The backends of each repeat of the experiment `one_device`, in the order of its schedule."""
    config = copy.deepcopy(CONFIG)
    config["experiments"] = {"own": {**config["experiments"]["one_device"], "repeats": repeats}}
    specs = {spec.name: spec for spec in expand(config, "own")}
    ordered = [specs[run] for run in schedule({"own": list(specs.values())}, seed)]
    parts = groupby(ordered, key=lambda spec: spec.seed)
    return [[spec.backend.name for spec in part] for _, part in parts]


def test_every_run_has_one_place_the_experiment_with_the_fewest_of_its_own_first():
    """A run that two of them share is trained with the larger, beside what it is compared with."""
    assert sorted(schedule(PAPER.experiments, 0)) == sorted(PAPER.runs)
    runs = [spec for spec in PAPER.runs.values() if spec.workload.name == "wide-resnet"][:9]
    order = schedule({"six": runs[3:], "pair": runs[:2], "four": runs[:4]}, 0)
    assert {*order[:3]} == {spec.name for spec in runs[:3]}
    assert {*order[3:]} == {spec.name for spec in runs[3:]}
    assert len(order) == len(runs)


def test_repeats_take_turns_in_an_order_drawn_for_each():
    repeats = repeats_of()
    assert len(repeats) == 6
    assert len({tuple(sorted(repeat)) for repeat in repeats}) == 1
    assert len({tuple(repeat) for repeat in repeats}) > 3
    assert repeats_of(repeats=3) == repeats[:3]
    assert repeats_of(seed=1) != repeats


def test_runs_that_are_compared_are_neighbors():
    """In each repeat the backends of a batch size, and no batch size comes back."""
    specs = PAPER.experiments["batch_size_throughput"]
    order = [PAPER.runs[run] for run in schedule({"own": specs}, 0)]
    groups = [cell for cell, _ in groupby((spec.seed, spec.global_batch) for spec in order)]
    assert len(groups) == len(set(groups)) == 12 * len({spec.seed for spec in specs})
    batches = [batch for seed, batch in groups if seed == 0]
    assert batches != sorted(batches)
