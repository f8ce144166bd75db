"""What an engine's errors mean: a full memory, or an operation that has no kernel of the kind asked for."""

import sys

import pytest
import torch
from workspace import ROOT, call, make_spec

from paragone.base.errors import says_memory_is_full
from paragone.engines.torch import Torch
from paragone.training import observe

FULL = [
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB",
    "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: you tried",
    "RESOURCE_EXHAUSTED: Out of memory allocating 1073741824 bytes.",
    "INTERNAL: Failed to allocate 268435456 bytes for new constant",
    "INTERNAL: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    "std::bad_alloc",
]
OTHERS = [
    "CUDA error: an illegal memory access was encountered",
    "NCCL error: unhandled system error",
]


@pytest.mark.parametrize("message", [*FULL, *OTHERS])
def test_every_allocators_words_mean_a_full_memory_and_others_do_not(message):
    full = message in FULL
    assert says_memory_is_full(message) is full
    assert Torch().out_of_memory(RuntimeError(message)) is full
    assert not Torch().unsupported(RuntimeError(message))


def test_an_operation_without_a_deterministic_kernel_is_not_available_and_costs_no_other_probe(
    monkeypatch,
):
    """PyTorch's own error: this operation has none on CPUs either. A probe with any other error fails."""
    spec = make_spec("fashion-cnn", "torch")
    pooled, index = torch.nn.functional.max_pool2d(torch.rand(1, 1, 4, 4), 2, return_indices=True)
    torch.use_deterministic_algorithms(spec.deterministic)
    try:
        with pytest.raises(RuntimeError) as caught:
            torch.nn.functional.max_unpool2d(pooled, index, 2)
    finally:
        torch.use_deterministic_algorithms(False)
    assert not Torch().out_of_memory(caught.value)
    errors = [RuntimeError("shapes cannot be multiplied"), caught.value]

    def lacking(*_: object) -> None:
        raise errors.pop()

    monkeypatch.setattr(observe, "_observe", lacking)
    monkeypatch.setattr(observe, "fitted", lambda *given: given)
    reason = str(observe.observe(spec, None)["unavailable"])
    assert "does not have a deterministic implementation" in reason
    with pytest.raises(RuntimeError, match="shapes"):
        observe.observe(spec, None)


def test_an_unexpected_error_of_a_program_is_one_line_and_a_file(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        f"import sys; sys.path.insert(0, {str(ROOT / 'scripts')!r})\n"
        "from paragone.base.errors import entry_point\n"
        "@entry_point\ndef main():\n    {}['secret']\nmain()\n"
    )
    (tmp_path / ".snakemake/log").mkdir(parents=True)
    done = call([sys.executable, program], cwd=tmp_path)
    (file,) = (tmp_path / ".snakemake/log").glob("*.program.*.traceback")
    assert done.returncode == 1
    assert done.stderr == (
        "error: KeyError: 'secret'; this is a bug in Paragone; the traceback is in "
        f"{file.relative_to(tmp_path)}\n"
    )
    assert file.read_text().startswith("Traceback")
