"""First steps of real runs on the other backends; those of tensorflow and torch-xla are in the smoke run."""

import pytest

pytestmark = pytest.mark.full


@pytest.mark.parametrize("backend", ["jax", "jax-multiprocess"])
def test_two_replicas_take_the_steps_of_the_reference(short_runs, backend):
    found = short_runs.first_steps(backend)
    assert found.passed, found.reason
    assert 0 < found.deviations["updates"] < 0.05


@pytest.mark.parametrize("backend", ["tensorflow-mirrored", "keras-fit", "torch-xla", "jax"])
def test_mixed_precision_deviates_no_more_than_it_costs(short_runs, backend):
    found = short_runs.first_steps(backend, 1, "bfloat16")
    assert found.passed, found.reason
    assert 0.03 < found.deviations["updates"] < 0.5
    assert found.deviations["means"] > 1e-4


@pytest.mark.parametrize("backend", ["torch-ddp", "torch-fsdp"])
def test_several_workers_take_mixed_steps(short_runs, backend):
    found = short_runs.first_steps(backend, 2, "bfloat16", global_batch=64)
    assert found.passed, found.reason
    assert found.deviations["updates"] > 1e-3


@pytest.mark.parametrize(("backend", "replicas"), [("torch-ddp", 2), ("torch", 1)])
def test_tuned_engines_take_the_same_steps(short_runs, backend, replicas):
    found = short_runs.first_steps(backend, replicas, tuned=True, workload="fashion-conv")
    assert found.passed, found.reason
