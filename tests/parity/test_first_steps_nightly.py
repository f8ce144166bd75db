"""First steps of real runs: what compiles for minutes, and wrong engines of the other backends."""

import pytest

pytestmark = pytest.mark.nightly

MIXED = ["torch", "tensorflow-mirrored", "keras-fit", "torch-xla", "torch-compile", "jax"]
CELLS = [
    *((name, 2, "fashion-cnn") for name in ("tensorflow-multiworker", "jax-multiprocess")),
    ("torch-compile", 1, "fashion-cnn"),
    *(
        (name, 1, workload)
        for name in MIXED
        for workload in ("fashion-conv", "reuters-cnn", "wide-resnet")
        if (name, workload) != ("torch-xla", "wide-resnet")  # see docs/backends.md
    ),
]


def test_sharded_replicas_take_the_steps_of_the_reference(short_runs):
    found = short_runs.first_steps("torch-fsdp")
    assert found.passed, found.reason


@pytest.mark.parametrize(("backend", "replicas", "workload"), CELLS)
def test_backends_and_workloads_take_mixed_steps(short_runs, backend, replicas, workload):
    """WideResNet without its dropout: no run of it has such a verdict."""
    found = short_runs.first_steps(
        backend, replicas, "bfloat16", workload=workload, global_batch=32 * replicas
    )
    assert found.passed, found.reason
    assert found.deviations["updates"] > 1e-3


def test_where_the_reference_itself_is_lost_there_is_no_verdict(short_runs):
    """MobileNetV2 multiplies what bfloat16 rounds: a verdict would be chance."""
    found = short_runs.first_steps("torch", 1, "bfloat16", workload="mobilenet-v2", global_batch=32)
    assert found.passed is None
    assert "no reference" in found.reason


def test_compiled_and_tuned_pytorch_takes_the_same_steps(short_runs):
    found = short_runs.first_steps("torch-compile", 1, tuned=True, workload="fashion-conv")
    assert found.passed, found.reason


@pytest.mark.parametrize(
    ("backend", "name", "group"),
    [
        ("tensorflow-mirrored", "mean-over-a-replica", "updates"),
        ("tensorflow-mirrored", "each-replica-has-the-first-part", "updates"),
        ("tensorflow-mirrored", "statistics-of-the-first-replica", "means"),
        ("torch-fsdp", "statistics-twice-those-of-the-first-replica", "means"),
        ("torch-fsdp", "replicas-on-their-own", "updates"),
        ("keras-fit", "on-probabilities", "updates"),
    ],
)
def test_a_wrong_engine_of_several_replicas_is_refused(short_runs, backend, name, group):
    found = short_runs.first_steps_of_wrong_engine(backend, name)
    assert found.passed is False
    assert f"{group} deviate by" in found.reason
