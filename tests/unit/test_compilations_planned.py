"""What the block `ahead_of_time` asks for, and what is wrong in it."""

import copy

import pytest
from workspace import CONFIG

from paragone.base.errors import UserError
from paragone.config.compilations import Program, compilations, targets, validations
from paragone.config.validate import validate


@pytest.fixture
def config():
    return copy.deepcopy(CONFIG)


def block(config, **changes):
    row = {"workload": "fashion-cnn", "backend": "jax", "target": "tpu-v2-8", **changes}
    study = config["ahead_of_time"]["studies"]["sources_tpu"]
    study["programs"] = [row]
    return config


def test_a_program_is_partitioned_over_the_devices_of_its_target(config):
    found, left_out = compilations(block(config, step=["train", "evaluate"]), "sources_tpu")
    assert left_out == []
    assert [one.program.step for one in found] == ["train", "evaluate"]
    assert {one.program.spec.replicas for one in found} == {8}
    assert [one.program.global_batch for one in found] == [1024, 1024]
    again = [Program.from_json(one.program.to_json()) for one in found]
    assert [one.name for one in again] == [one.program.name for one in found]


def test_a_program_is_exported_once_for_all_targets_of_as_many_devices(config):
    target = config["workloads"]["fashion-cnn"].get("target")
    found, _ = compilations(
        block(config, target=["tpu-v2-8", "tpu-v5e-8", "h100-8", "h100-1"]), "sources_tpu"
    )
    assert len({one.name for one in found}) == 4
    assert len({one.program.name for one in found}) == 2
    assert {str(one.program.spec.workload.get("target")) for one in found} == {str(target)}


def test_a_batch_that_does_not_divide_is_left_out_with_a_reason(config):
    found, (left_out,) = compilations(block(config, global_batch=1001), "sources_tpu")
    assert found == []
    assert left_out == (
        "fashion-cnn on jax for tpu-v2-8: 1,001 examples do not divide over 8 devices."
    )


def test_options_of_the_model_make_another_program(config):
    names = [
        compilations(block(config, workload="wide-resnet", **more), "sources_tpu")[0][0].name
        for more in ({}, {"model": {"width": 10}})
    ]
    assert names[0] != names[1]


def test_what_validates_is_of_one_device(config):
    assert {one.spec.replicas for one in validations(config, "sources_tpu")} == {1}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"workload": "none"},
            r"programs\[0\]\.workload: there is no 'none'; known are fashion-cnn",
        ),
        ({"backend": "none"}, r"programs\[0\]\.backend: there is no 'none'"),
        ({"target": "none"}, r"programs\[0\]\.target: there is no 'none'; known are tpu-v2-8"),
        (
            {"backend": "torch"},
            "steps of engine 'torch' cannot be exported",
        ),
    ],
)
def test_an_unknown_name_is_one_message(config, changes, words):
    with pytest.raises(UserError, match=words):
        compilations(block(config, **changes), "sources_tpu")


def test_a_target_without_documented_peaks_is_one_message(config):
    config["ahead_of_time"]["targets"]["tpu-v2-8"]["device"] = "tpu-v9"
    with pytest.raises(
        UserError, match=r"targets\.tpu-v2-8\.device: no documented peaks of 'tpu-v9'"
    ):
        targets(config)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("devices", "tpu-v5e", "flops"), {}, "flops"),
        (("devices", "tpu-v5e", "memory_bandwidth"), 0, "memory_bandwidth: 0"),
        (("devices", "tpu-v5e", "sources"), {}, "is a required property; add it"),
        (("targets", "tpu-v2-8", "compiler"), "gcc", 'compiler: "gcc" is not one of'),
        (("targets", "tpu-v2-8", "core"), 1, "'core' was unexpected; known keys are label, device"),
    ],
)
def test_an_impossible_value_names_its_key(config, path, value, words):
    at = config["ahead_of_time"]
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with pytest.raises(UserError) as raised:
        validate(config)
    assert words in str(raised.value)
