"""From the config to the runs."""

import copy

import msgspec
import pytest
from msgspec.structs import replace
from workspace import CONFIG

from paragone.base.errors import UserError
from paragone.config.expand import expand, first_steps, probe, probes_of, with_reference
from paragone.config.run_spec import Backend, Tuned


def config_with(matrix, **block):
    config = copy.deepcopy(CONFIG)
    config["experiments"] = {"one": {"workload": "fashion-conv", "matrix": matrix, **block}}
    return config


def cells(specs):
    return [(s.seed, s.backend.name, s.replicas, s.global_batch) for s in specs]


def test_order_repeats_outermost_then_rows_then_lists():
    matrix = [
        {"backend": ["torch-xla", "torch"], "replicas": [1, 2]},
        {"backend": "torch", "replicas": 1, "global_batch": [8, 4]},
    ]
    one = [
        ("torch-xla", 1, 1000),
        ("torch-xla", 2, 1000),
        ("torch", 1, 1000),
        ("torch", 2, 1000),
        ("torch", 1, 8),
        ("torch", 1, 4),
    ]
    found = cells(expand(config_with(matrix, repeats=2), "one"))
    assert found == [(seed, *cell) for seed in (0, 1) for cell in one]


def test_repeats_count_from_the_config_seed():
    config = config_with([{"backend": "torch", "replicas": 1}], repeats=3) | {"seed": 40}
    assert [spec.seed for spec in expand(config, "one")] == [40, 41, 42]


def test_a_cell_listed_twice_is_one_run():
    row = {"backend": "torch", "replicas": 1}
    assert len(expand(config_with([row, row, {**row, "global_batch": 1000}]), "one")) == 1


def test_batch_of_either_kind_is_known_as_both():
    matrix = [
        {"backend": "torch", "replicas": 4, "per_replica_batch": 128},
        {"backend": "torch", "replicas": 4, "global_batch": 128},
    ]
    first, second = expand(config_with(matrix), "one")
    assert (first.global_batch, first.per_replica_batch) == (512, 128)
    assert (second.global_batch, second.per_replica_batch) == (128, 32)


def test_row_goes_over_experiment_goes_over_workload():
    matrix = [
        {"backend": "torch", "replicas": 1},
        {"backend": "torch", "replicas": 1, "global_batch": 10},
    ]
    target = {"accuracy": 0.5, "patience": 2, "stop": True}
    config = config_with(matrix, epochs=7, steps_per_epoch=3, global_batch=20, target=target)
    first, second = expand(config, "one")
    assert (first.epochs, first.steps_per_epoch, first.global_batch) == (7, 3, 20)
    assert msgspec.to_builtins(first.workload.target) == target
    assert second.global_batch == 10
    (plain,) = expand(config_with(matrix[:1]), "one")
    assert (plain.epochs, plain.steps_per_epoch, plain.global_batch) == (5, 60, 1000)
    assert plain.workload.target is None


def test_workload_in_the_spec_has_no_second_copy_of_batch_and_length():
    (spec,) = expand(config_with([{"backend": "torch", "replicas": 1}]), "one")
    assert not {*spec.workload.__struct_fields__} & {*spec.__struct_fields__}
    assert spec.workload.name == "fashion-conv"


def test_labels_and_colours_are_no_part_of_a_run():
    config = config_with([{"backend": "torch", "replicas": 1}])
    before = expand(config, "one")
    config["backends"]["torch"] |= {"label": "other", "color": "#000000", "environment": "other"}
    assert expand(config, "one") == before


def test_config_is_left_as_it_was():
    config = config_with([{"backend": "torch", "replicas": [1, 2]}], epochs=1)
    before = copy.deepcopy(config)
    expand(config, "one")
    probe(config, "fashion-cnn", "reference")
    assert config == before


@pytest.mark.parametrize(
    ("matrix", "block", "words"),
    [
        (
            [{"backend": "torch", "replicas": 1}, {"backend": "mxnet", "replicas": 1}],
            {},
            ["experiments.one.matrix[1].backend", "'mxnet'", *CONFIG["backends"]],
        ),
        (
            [{"backend": "torch", "replicas": 1}],
            {"workload": "cifar"},
            ["experiments.one.matrix[0].workload", "'cifar'", *CONFIG["workloads"]],
        ),
        (
            [{"backend": "torch", "replicas": 3, "global_batch": 100}],
            {},
            ["experiments.one.matrix[0]", "100", "3 replicas", "choose a multiple"],
        ),
        (
            [{"backend": "torch-ddp", "replicas": 4, "workers": 2}],
            {},
            ["experiments.one.matrix[0].workers", "ddp", "one replica each", "leave workers out"],
        ),
        (
            [{"backend": "tensorflow-mirrored", "replicas": 4, "workers": 2}],
            {},
            ["experiments.one.matrix[0].workers", "mirrored", "one worker"],
        ),
        (
            [{"backend": "tensorflow-multiworker", "replicas": 4, "workers": 3}],
            {},
            ["experiments.one.matrix[0].workers", "3 worker(s)"],
        ),
        (
            [{"backend": "jax", "replicas": 1, "tuning": "tuned"}],
            {},
            ["experiments.one.matrix[0].tuning", "backends.jax", "`tuned`"],
        ),
        (
            [{"backend": "torch", "replicas": 1}],
            {"epochs": 10**20},
            ["experiments.one.matrix[0]", "$.epochs"],
        ),
        (
            [{"backend": "torch", "replicas": 1}],
            {"train_examples": 1000, "global_batch": 32, "steps_per_epoch": 32},
            ["experiments.one.matrix[0]: ", "32 step(s) of 32 examples do not fit into 1000"],
        ),
    ],
)
def test_errors_name_the_key_and_what_would_be_right(matrix, block, words):
    with pytest.raises(UserError) as caught:
        expand(config_with(matrix, **block), "one")
    for word in words:
        assert word in str(caught.value)


def test_a_tuned_run_has_what_its_backend_names_and_the_first_steps_of_any_tuning():
    cell = {"backend": "torch", "replicas": 1, "tuning": ["as-installed", "tuned"]}
    installed, tuned = expand(config_with([cell]), "one")
    assert (installed.tuning_name, installed.tuning) == ("as-installed", Tuned())
    assert (tuned.tuning_name, msgspec.to_builtins(tuned.tuning)) == (
        "tuned",
        CONFIG["backends"]["torch"]["tuned"],
    )
    assert first_steps(installed) == first_steps(tuned)


@pytest.mark.parametrize(
    ("backend", "device", "most", "replicas"),
    [
        ("torch-xla", "tpu", 8, 8),
        ("torch-xla", "tpu", 40, 1),
        ("torch-xla", "cpu", 8, 1),
        ("tensorflow-tpu", "tpu", 8, 1),
    ],
)
def test_an_engine_that_drives_every_accelerator_is_probed_with_all(
    backend, device, most, replicas
):
    """One that cannot take fewer would else never pass the gate where there are several."""
    config = config_with([{"backend": backend, "replicas": [1, most]}])
    config["backends"][backend]["device"] = device
    (spec,) = probes_of(config, backend, expand(config, "one"))
    assert (spec.workload.name, spec.replicas) == ("fashion-conv", replicas)
    assert (spec.global_batch, spec.per_replica_batch) == (16, 16 // replicas)


@pytest.mark.parametrize("workload", CONFIG["workloads"])
def test_probes_of_all_backends_and_the_reference_differ_only_in_the_backend(workload):
    names = ["reference", *CONFIG["backends"]]
    specs = {name: probe(CONFIG, workload, name) for name in names}
    assert len({spec.name.rsplit(".", 1)[1] for spec in specs.values()}) == len(names)
    reference = specs["reference"]
    assert reference.backend == Backend("reference", "reference", "whole", "cpu")
    for spec in specs.values():
        assert spec.workload == reference.workload
        assert (spec.replicas, spec.steps_per_epoch) == (1, 3)
        assert (spec.global_batch, spec.per_replica_batch) == (16, 16)
        # A TPU has no double precision.
        assert spec.precision == ("float32" if spec.backend.device == "tpu" else "float64")


def test_the_reference_is_no_backend_of_the_config():
    assert "reference" not in CONFIG["backends"]
    known = with_reference(CONFIG)["backends"]
    assert set(known) == {"reference", *CONFIG["backends"]}
    with pytest.raises(UserError, match="'reference'"):
        expand(config_with([{"backend": "reference", "replicas": 1}]), "one")


def test_a_cell_may_name_another_workload():
    matrix = [
        {"backend": "torch", "replicas": 1},
        {"workload": "reuters-cnn-double-softmax", "backend": "torch", "replicas": 1},
    ]
    first, second = expand(config_with(matrix, workload="reuters-cnn"), "one")
    assert (first.workload.name, second.workload.name) == (
        "reuters-cnn",
        "reuters-cnn-double-softmax",
    )
    assert second.workload.loss == "double_softmax"
    assert replace(second.workload, name="reuters-cnn", loss="cross_entropy") == first.workload


def test_runs_are_in_single_precision_unless_the_workload_says_otherwise():
    config = config_with([{"backend": "torch", "replicas": 1}])
    assert expand(config, "one")[0].precision == "float32"
    config["workloads"]["fashion-conv"]["precision"] = "float64"
    (spec,) = expand(config, "one")
    assert spec.precision == "float64"


@pytest.mark.parametrize("experiment", CONFIG["experiments"])
def test_every_experiment_of_the_config_has_runs(experiment):
    assert expand(CONFIG, experiment)


@pytest.mark.parametrize(
    ("cell", "workers"),
    [
        ({"backend": "tensorflow-mirrored", "replicas": 4}, 1),
        ({"backend": "torch-xla", "replicas": 4}, 1),
        ({"backend": "torch-ddp", "replicas": 4}, 4),
        ({"backend": "tensorflow-multiworker", "replicas": 4}, 4),
        ({"backend": "tensorflow-multiworker", "replicas": 4, "workers": 2}, 2),
    ],
)
def test_workers_are_those_of_the_strategy(cell, workers):
    (spec,) = expand(config_with([{**cell, "global_batch": 64}]), "one")
    assert (spec.replicas, spec.workers) == (4, workers)


def test_an_experiment_may_use_fewer_examples_than_its_workload():
    matrix = [{"backend": "torch", "replicas": 1}]
    (fewer,) = expand(config_with(matrix, workload="wide-resnet", train_examples=64), "one")
    assert fewer.workload.train_examples == 64
    (all_of_it,) = expand(config_with(matrix, workload="wide-resnet"), "one")
    assert all_of_it.workload.train_examples == 10_000
