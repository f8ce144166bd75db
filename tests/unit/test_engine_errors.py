"""What an engine's errors mean: a full memory, or an operation that has no kernel of the kind asked for."""

import pytest
import torch
from workspace import make_spec

from paragone.base.errors import (
    Unavailable,
    first_line,
    first_sentence,
    reason_of,
    says_memory_is_full,
)
from paragone.engines.torch import Torch
from paragone.parity import observe

FULL = [
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB",
    "CUDA error: out of memory",
    "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
    "[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: you tried",
    "RESOURCE_EXHAUSTED: Out of memory allocating 1073741824 bytes.",
    "INTERNAL: Failed to allocate 268435456 bytes for new constant",
    "INTERNAL: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    "std::bad_alloc",
]
OTHERS = [
    "mat1 and mat2 shapes cannot be multiplied (4x3 and 4x2)",
    "CUDA error: an illegal memory access was encountered",
    "NCCL error: unhandled system error",
]


@pytest.mark.parametrize("message", FULL)
def test_every_allocators_words_mean_a_full_memory(message):
    assert says_memory_is_full(message)
    assert Torch().out_of_memory(RuntimeError(message))


@pytest.mark.parametrize("message", OTHERS)
def test_other_errors_do_not(message):
    assert not says_memory_is_full(message)
    assert not Torch().out_of_memory(RuntimeError(message))
    assert not Torch().unsupported(RuntimeError(message))


@pytest.mark.parametrize(
    ("error", "line", "reason"),
    [
        (RuntimeError("\n  one \ntwo"), "one", "RuntimeError: one"),
        (AssertionError(), "AssertionError", "AssertionError"),
        (Unavailable("no such device"), "no such device", "no such device"),
    ],
)
def test_a_reason_is_one_line_that_says_something(error, line, reason):
    assert (first_line(error), reason_of(error)) == (line, reason)


def test_an_operation_without_a_deterministic_kernel_is_unsupported():
    """PyTorch's own error: this operation has none on CPUs either."""
    pooled, index = torch.nn.functional.max_pool2d(torch.rand(1, 1, 4, 4), 2, return_indices=True)
    torch.use_deterministic_algorithms(make_spec("fashion-cnn", "torch").deterministic)
    try:
        with pytest.raises(RuntimeError) as found:
            torch.nn.functional.max_unpool2d(pooled, index, 2)
    finally:
        torch.use_deterministic_algorithms(False)
    assert Torch().unsupported(found.value)
    assert not Torch().out_of_memory(found.value)
    assert "does not have a deterministic implementation" in first_sentence(found.value)
    assert "\n" not in first_sentence(found.value)


def test_a_probe_of_such_an_operation_is_not_available_and_any_other_error_fails(monkeypatch):
    """So that the other backends of the workload keep their verdicts."""
    spec, errors = make_spec("fashion-cnn", "torch"), []

    def lacking(*_: object) -> None:
        raise errors[-1]

    monkeypatch.setattr(observe, "_observe", lacking)
    errors.append(
        RuntimeError("f_cuda does not have a deterministic implementation, but you set it")
    )
    assert "deterministic" in str(observe.observe(spec, None)["unavailable"])
    errors.append(RuntimeError("shapes cannot be multiplied"))
    with pytest.raises(RuntimeError, match="shapes"):
        observe.observe(spec, None)
