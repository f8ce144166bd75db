"""From the config to the runs, to the order of timed jobs, and to the files and options of a call."""

import copy
from itertools import groupby

import msgspec
import pytest
from plan import Plan
from workspace import CONFIG, config_of, refusing

from paragone.base.errors import UserError
from paragone.config.engines import first_steps, framework_of
from paragone.config.expand import expand, probe, probes_of
from paragone.config.questions import schedule
from paragone.config.run_spec import Backend, Tuned
from paragone.plan.exhibits import FIGURES, TABLES

TORCH = {"backend": "torch", "replicas": 1}


def config_with(*matrix, **block):
    config = copy.deepcopy(CONFIG)
    shown = {"title": "One", "figures": [], "tables": []}
    block = {"workload": "fashion-conv", "matrix": [*matrix], **shown, **block}
    config["experiments"] = {"one": block}
    return config


def runs(*matrix, **block):
    return expand(config_of(config_with(*matrix, **block)), "one")


def test_order_repeats_outermost_then_rows_then_lists():
    rows = [
        {"backend": ["torch-xla", "torch"], "replicas": [1, 2]},
        {**TORCH, "global_batch": [8, 4]},
    ]
    found = runs(*rows, repeats=2)
    cells = [(backend, n, 1000) for backend in ("torch-xla", "torch") for n in (1, 2)]
    cells += [("torch", 1, 8), ("torch", 1, 4)]
    assert [(s.seed, s.backend.name, s.replicas, s.global_batch) for s in found] == [
        (seed, *cell) for seed in (0, 1) for cell in cells
    ]


def test_repeats_count_from_the_config_seed_and_a_cell_listed_twice_is_one_run():
    config = config_with(TORCH, TORCH, {**TORCH, "global_batch": 1000}, repeats=3) | {"seed": 40}
    assert [spec.seed for spec in expand(config_of(config), "one")] == [40, 41, 42]


def test_batch_of_either_kind_is_known_as_both():
    cell = {"backend": "torch", "replicas": 4}
    first, second = runs({**cell, "per_replica_batch": 128}, {**cell, "global_batch": 128})
    assert (first.global_batch, first.per_replica_batch) == (512, 128)
    assert (second.global_batch, second.per_replica_batch) == (128, 32)


def test_row_goes_over_experiment_goes_over_workload():
    target = {"accuracy": 0.5, "patience": 2, "stop": True}
    block = {"epochs": 7, "steps_per_epoch": 3, "global_batch": 20, "target": target}
    first, second = runs(TORCH, {**TORCH, "global_batch": 10}, **block)
    (plain,) = runs(TORCH)
    assert (first.epochs, first.steps_per_epoch, first.global_batch) == (7, 3, 20)
    assert msgspec.to_builtins(first.workload.target) == target
    assert second.global_batch == 10
    assert (plain.epochs, plain.steps_per_epoch, plain.global_batch) == (5, 60, 1000)
    assert plain.workload.target is None


def test_labels_and_colours_are_no_part_of_a_run_and_no_number_is_in_it_twice():
    config = config_with({"backend": "torch", "replicas": [1, 2]}, epochs=1)
    made = expand(config_of(config), "one")
    config["backends"]["torch"] |= {"label": "other", "color": "#000000", "environment": "other"}
    assert expand(config_of(config), "one") == made
    assert not {*made[0].workload.__struct_fields__} & {*made[0].__struct_fields__}


@pytest.mark.parametrize(
    ("cell", "block", "words"),
    [
        ({"backend": "mxnet"}, {}, [".backend", "'mxnet'", *CONFIG["backends"]]),
        ({}, {"workload": "cifar"}, [".workload", "'cifar'", *CONFIG["workloads"]]),
        ({"replicas": 3, "global_batch": 100}, {}, ["100", "3 replicas", "choose a multiple"]),
        ({"backend": "torch-ddp", "workers": 2}, {}, [".workers", "ddp", "one replica each"]),
        ({"backend": "tensorflow-mirrored", "workers": 2}, {}, [".workers", "one worker"]),
        ({"backend": "torch-xla", "tuning": "tuned"}, {}, ["backends.torch-xla", "`tuned`"]),
        ({"backend": "reference"}, {}, ["'reference'"]),
        ({}, {"train_examples": 99, "global_batch": 32, "steps_per_epoch": 4}, ["fit into 99"]),
    ],
)
def test_errors_name_the_key_and_what_would_be_right(cell, block, words):
    first = {**TORCH, "workload": "fashion-cnn", "global_batch": 1, "epochs": 1}
    with refusing("experiments.one.matrix[1]", *words):
        runs(first, TORCH | cell, **block)


@pytest.mark.parametrize(
    ("backend", "name", "other", "plain"),
    [
        ("torch-ddp", "torch.optim.Adadelta", "jax", ("reference", "first")),
        ("jax", "optax.lamb", "torch", ("jax", "spmd")),
        ("tensorflow-mirrored", "keras.optimizers.Lion", "jax", ("tensorflow", "mirrored")),
    ],
)
def test_an_own_optimizer_trains_on_its_framework_and_is_compared_with_the_plain_form(
    backend, name, other, plain
):
    config = config_with({"backend": backend, "replicas": 2})
    config["workloads"]["fashion-conv"]["optimizer"] = {"name": name, "rho": 0.9}
    (run,) = expand(config_of(config), "one")
    assert run.workload.optimizer == {"name": name, "rho": 0.9}
    expected = first_steps(run).backend
    assert (expected.engine, expected.strategy) == plain
    config["experiments"]["one"]["matrix"][0]["backend"] = [backend, other]
    with refusing("experiments.one.matrix[0]: ", f"{other} lacks", name):
        expand(config_of(config), "one")


@pytest.mark.parametrize(
    ("backend", "name", "rate", "other", "plain"),
    [
        (
            "torch-ddp",
            "torch.optim.lr_scheduler.StepLR",
            {"base": 1},
            "jax",
            ("reference", "first"),
        ),
        ("jax", "optax.sgdr_schedule", {"unit": "step"}, "torch", ("jax", "spmd")),
    ],
)
def test_an_own_schedule_is_in_numbers_of_the_run(backend, name, rate, other, plain):
    """The gate's few steps are the first of a run, whose length does not depend on them."""
    config = config_with({"backend": backend, "replicas": 2, "epochs": 4})
    schedule = {"name": name, "all": "steps", "length": "epochs", "kind": "cos"}
    block = config["workloads"]["fashion-conv"]
    block |= {"learning_rate": rate | {"schedule": schedule}, "epochs": 30, "steps_per_epoch": 50}
    (run,) = expand(config_of(config), "one")
    assert run.workload.learning_rate.schedule == schedule | {"all": 200, "length": 4}
    expected = first_steps(run).backend
    assert (expected.engine, expected.strategy) == plain
    (spec,) = probes_of(config_of(config), backend, [run])
    assert spec.workload.learning_rate.schedule == schedule | {"all": 1500, "length": 30}
    del block["steps_per_epoch"]
    with refusing("fashion-conv.learning_rate.schedule: has `steps`", "no steps_per_epoch"):
        expand(config_of(config), "one")
    config["experiments"]["one"]["matrix"][0] |= {"backend": other, "steps_per_epoch": 5}
    with refusing("experiments.one.matrix[0]: ", f"{other} lacks the schedule", name):
        expand(config_of(config), "one")


def test_a_tuned_run_has_what_its_backend_names_and_the_first_steps_of_any_tuning():
    installed, tuned = runs({**TORCH, "tuning": ["as-installed", "tuned"]})
    assert (installed.tuning_name, installed.tuning) == ("as-installed", Tuned())
    assert tuned.tuning_name == "tuned"
    assert msgspec.to_builtins(tuned.tuning) == CONFIG["backends"]["torch"]["tuned"]
    assert first_steps(installed) == first_steps(tuned)


@pytest.mark.parametrize(
    ("backend", "device", "replicas"),
    [("torch-xla", "tpu", 8), ("torch-xla", "cpu", 1), ("tensorflow-tpu", "tpu", 1)],
)
def test_an_engine_that_drives_every_accelerator_is_probed_with_all(backend, device, replicas):
    """One that cannot take fewer would else never pass the gate where there are several."""
    config = config_with({"backend": backend, "replicas": [1, 8]})
    config["backends"][backend]["device"] = device
    (spec,) = probes_of(config_of(config), backend, expand(config_of(config), "one"))
    assert (spec.workload.name, spec.replicas) == ("fashion-conv", replicas)
    assert (spec.global_batch, spec.per_replica_batch) == (16, 16 // replicas)


@pytest.mark.parametrize("workload", CONFIG["workloads"])
def test_probes_of_all_backends_and_the_reference_differ_only_in_the_backend(workload):
    own = probe(config_of(), workload, "reference").workload.optimizer_framework
    able = (
        name
        for name, block in CONFIG["backends"].items()
        if own in (None, framework_of(block["engine"]))
    )
    names = ["reference", *able]
    specs = {name: probe(config_of(), workload, name) for name in names}
    assert len({spec.name.rsplit(".", 1)[1] for spec in specs.values()}) == len(names)
    reference = specs["reference"]
    assert reference.backend == Backend("reference", "reference", "whole", "cpu")
    for spec in specs.values():
        assert spec.workload == reference.workload
        assert (spec.replicas, spec.steps_per_epoch, spec.epochs) == (1, 2, 3)
        assert (spec.global_batch, spec.per_replica_batch) == (16, 16)
        # A TPU has no double precision.
        assert spec.precision == ("float32" if spec.backend.device == "tpu" else "float64")


def test_the_primary_experiment_goes_first_and_its_contests_before_its_runs():
    config = copy.deepcopy(CONFIG)
    config["primary"]["experiment"] = "strong_scaling"
    config["experiments"]["strong_scaling"]["contests"] = 2
    plan = Plan(config=config)
    timed = sorted(plan.turns, key=plan.turns.get)
    first = [question.name for question in plan.questions_of["strong_scaling"]]
    runs = set(plan.runs_of("strong_scaling"))
    assert timed[: len(first)] == first
    assert {*timed[len(first) : len(first) + len(runs)]} == runs
    assert {*timed} == {*plan.timed, *plan.runs, *plan.products}


def test_matrix_products_follow_what_is_drawn_with_them_and_nothing_else_waits_for_them():
    config = copy.deepcopy(CONFIG)
    config["experiments"]["one_epoch"]["figures"] = ["clocks", "variants"]
    config["primary"]["experiment"] = "nanogpt_cpu"
    plan = Plan(config=config | {"only": ["nanogpt_cpu", "d2l_lenet", "one_epoch"]})
    timed = sorted(plan.turns, key=plan.turns.get)
    first = {
        experiment: timed.index(plan.runs_of(experiment)[0]) for experiment in plan.experiments
    }
    last = max(timed.index(run) for run in plan.runs_of("one_epoch"))
    products = [timed.index(backend) for backend in plan.products]
    assert first["nanogpt_cpu"] < last < min(products) < max(products) < first["d2l_lenet"]
    reading = {name: plan.read_by(section, part).keys() for section, name, part in plan.drawings()}
    assert "products" in reading["one_epoch_with_products"]
    assert "products" not in {*reading["one_epoch"], *reading["nanogpt_cpu"]}


def test_runs_that_are_compared_are_neighbors_in_an_order_drawn_for_each_repeat():
    """In each repeat the backends of a batch size, and no batch size comes back."""
    cells = {"backend": ["torch", "torch-xla", "jax"], "replicas": 1, "global_batch": [8, 16, 32]}
    specs = {spec.name: spec for spec in runs(cells, repeats=4)}
    order, other = (
        [specs[run] for run in schedule({"one": [*specs.values()]}, seed)["one"]] for seed in (0, 1)
    )
    groups = [cell for cell, _ in groupby((spec.seed, spec.global_batch) for spec in order)]
    assert len(groups) == len(set(groups)) == 4 * 3
    assert [seed for seed, _ in groupby(seed for seed, _ in groups)] == [0, 1, 2, 3]
    repeats = {tuple(batch for seed, batch in groups if seed == one) for one in range(4)}
    backends = {tuple(spec.backend.name for spec in order[at : at + 3]) for at in range(0, 36, 3)}
    assert min(len(repeats), len(backends)) > 1
    assert order != other


def with_exhibits(kind: str, experiment: str, names: list[str], **blocks) -> Plan:
    """The plan where an experiment has other figures or tables."""
    config = copy.deepcopy(CONFIG) | blocks
    config["experiments"][experiment][kind] = names
    return Plan(config=config)


@pytest.mark.parametrize(("kind", "known"), [(FIGURES, "scaling"), (TABLES, "comparison")])
def test_a_figure_or_table_that_cannot_be_made_is_refused(kind, known):
    with refusing(f"{kind} of mirrored_mobilenet: no 'pie'", known):
        with_exhibits(kind, "mirrored_mobilenet", ["pie"])
    with refusing("batch_size_throughput", "'scaling' needs"):
        with_exhibits(FIGURES, "batch_size_throughput", ["scaling"])


def test_an_experiment_with_the_name_of_a_section_is_refused():
    block = CONFIG["experiments"]["one_device"]
    with pytest.raises(UserError, match=r"experiments\.device_matmul: is a section"):
        Plan(config=CONFIG | {"experiments": CONFIG["experiments"] | {"device_matmul": block}})


def test_from_records_alone_an_unknown_figure_is_left_out_with_a_notice():
    plan = with_exhibits(FIGURES, "mirrored_mobilenet", ["pie", "epoch_time"], records_only=True)
    assert plan.sections["mirrored_mobilenet"].figures == ["epoch_time"]
    assert "left out of mirrored_mobilenet, no such figures here: pie" in plan.notices
