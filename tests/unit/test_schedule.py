"""The order of timed jobs: experiment after experiment, and what is compared side by side, drawn anew."""

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
    ordered = [specs[run] for run in schedule({"own": list(specs.values())}, seed)["own"]]
    parts = groupby(ordered, key=lambda spec: spec.seed)
    return [[spec.backend.name for spec in part] for _, part in parts]


def test_every_run_has_one_place_in_the_first_experiment_that_asks_for_it():
    runs = [spec for spec in PAPER.runs.values() if spec.workload.name == "wide-resnet"][:9]
    order = schedule({"pair": runs[:2], "six": runs[3:], "four": runs[:4]}, 0)
    assert {name: {*found} for name, found in order.items()} == {
        "pair": {spec.name for spec in runs[:2]},
        "six": {spec.name for spec in runs[3:]},
        "four": {runs[2].name},
    }
    assert [*order] == ["pair", "six", "four"]
    assert sorted(PAPER.places, key=PAPER.places.get) == [
        run for found in schedule(PAPER.experiments, 0).values() for run in found
    ]


def test_the_primary_experiment_goes_first_and_its_contests_before_its_runs():
    config = copy.deepcopy(CONFIG)
    config["primary"]["experiment"] = "strong_scaling"
    config["experiments"]["strong_scaling"]["contests"] = 2
    plan = Plan(config=config)
    timed = sorted(plan.turns, key=plan.turns.get)
    first = [question.name for question in plan.questions_of["strong_scaling"]]
    runs = set(plan.runs_of("strong_scaling"))
    after = len(first) + len(runs)
    assert timed[: len(first)] == first
    assert {*timed[len(first) : after]} == runs
    assert timed[after : after + len(plan.products)] == [*plan.products]
    assert {*timed} == {*plan.timed, *plan.runs, *plan.products}


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
    order = [PAPER.runs[run] for run in schedule({"own": specs}, 0)["own"]]
    groups = [cell for cell, _ in groupby((spec.seed, spec.global_batch) for spec in order)]
    assert len(groups) == len(set(groups)) == 12 * len({spec.seed for spec in specs})
    batches = [batch for seed, batch in groups if seed == 0]
    assert batches != sorted(batches)
