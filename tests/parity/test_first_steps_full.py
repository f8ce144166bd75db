"""First steps of real runs on the other backends; single precision is in the smoke run."""

import pytest
from parity import test_first_steps

pytestmark = pytest.mark.full

CELLS = [
    ("torch-fsdp", 2, "float64"),
    ("tensorflow-mirrored", 2, "float64"),
    ("keras-fit", 2, "float64"),
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
    # Of which inductor makes none on a CPU.
    ("torch-compile", 1, "float32", "fashion-conv", 64, {"options": {"cuda_graphs": True}}),
]
WEIGHTED = ["tensorflow-mirrored"]
test_class_weights_are_averaged_over_the_global_batch = (
    test_first_steps.test_class_weights_are_averaged_over_the_global_batch
)
test_a_run_takes_the_steps_of_the_reference = (
    test_first_steps.test_a_run_takes_the_steps_of_the_reference
)
