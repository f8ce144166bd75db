"""What `make test-all` tests on more backends; the tests are those of the other files."""

import pytest
from parity.test_engines import (
    test_a_run_takes_the_steps_of_the_reference,
    test_an_engine_keeps_its_contract,
    test_class_weights_are_averaged_over_the_global_batch,
    test_every_protocol_passes,
    test_every_task_passes_and_wrong_ones_are_refused_for_their_reason,
    test_every_wrong_engine_is_refused_for_its_reason,
)
from workspace import run_python

pytestmark = pytest.mark.full

CELLS = {
    test_an_engine_keeps_its_contract: [
        ("tensorflow-mirrored", 3),
        ("tensorflow-multiworker", 2),
        ("torch-xla", 2),
        ("jax", 2),
    ],
    # Single precision is in the smoke run.
    test_a_run_takes_the_steps_of_the_reference: [
        ("torch-fsdp", 2, "float64"),
        ("torch-fsdp", 2, "float64", "nanogpt-cpu", 12),  # a weight that is used twice
        ("tensorflow-mirrored", 2, "float64"),
        ("jax", 2, "float64"),
        ("torch-xla", 2, "float64"),
        ("torch-ddp", 2, "float64", "reuters-cnn"),  # sparse gradients
        ("tensorflow-mirrored", 2, "float64", "reuters-cnn"),
        ("jax-multiprocess", 2, "float32"),
        ("tensorflow-mirrored", 1, "bfloat16"),
        ("torch-xla", 1, "bfloat16"),
        ("jax", 1, "bfloat16"),
        ("torch-ddp", 2, "bfloat16"),
        ("torch-ddp", 2, "float32", "fashion-conv", 64, "tuned"),
        ("torch", 1, "float32", "fashion-conv", 64, "tuned"),
        ("jax", 2, "float32", "fashion-conv", 64, "tuned"),
        # Of which inductor makes none on a CPU.
        ("torch-compile", 1, "float32", "fashion-conv", 64, {"options": {"cuda_graphs": True}}),
    ],
    test_class_weights_are_averaged_over_the_global_batch: ["tensorflow-mirrored"],
    test_every_protocol_passes: [
        ("jax", "all"),
        ("tensorflow-mirrored", "all"),
        ("torch-xla", "kinds"),  # it has the rules of PyTorch
    ],
    test_every_task_passes_and_wrong_ones_are_refused_for_their_reason: [
        "jax",
        "tensorflow-mirrored",
    ],
    test_every_wrong_engine_is_refused_for_its_reason: [
        ("jax", "fashion-cnn", "float64"),
        ("tensorflow-mirrored", "fashion-cnn", "float64"),
    ],
}


def test_one_thread_of_pytorch_copies_for_the_devices_of_xla():
    """More would spin beside those of XLA, which have the same cores."""
    run_python(
        "import torch; torch.set_num_threads(2)\n"
        "from paragone.engines.torch_xla import choose; choose('cpu', 2)\n"
        "assert torch.get_num_threads() == 1"
    )
