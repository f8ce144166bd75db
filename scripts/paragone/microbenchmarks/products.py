"""Matrix products by framework: how fast is a device at all?

There is one timing loop for all frameworks, and each product is proven right. A full memory, and a precision
that the device lacks, are recognized by the type and the words of the error that a framework raises.
"""

import math
import operator
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from paragone.base.errors import first_line, says_memory_is_full
from paragone.machine.limits import available_bytes

SECONDS = 20.0  # limit of the sum of timed runs, after which a case has no further run
LONGEST = 15.0  # seconds of one product, foreseen from the others: beyond, it is not tried
SHORTEST = 0.05  # seconds; a timed run repeats the product to last at least so long
# Relative error (Frobenius norm) of the sampled part that a precision may have. Operands are normal
# numbers around zero, so it does not depend on k: about the unit roundoff of operands and product,
# and in float32 the sum over k. Products that secretly run in TF32 (3e-4) or bfloat16 (2e-3) fail.
TOLERANCES = {"float64": 1e-12, "float32": 2e-5, "float16": 4e-3, "bfloat16": 8e-3}
_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
# Words in the type or message of an error which says that the device lacks a precision.
_LACKING = ("not implemented", "unimplemented", ".notfounderror")


@dataclass(frozen=True)
class Framework:
    """How a framework multiplies on one device.

    `put(array, precision)`: a host array on the device. `multiply(a, b)`: start a product; returns a tensor
    that the device may still compute. `wait(tensor)`: return when the device is done with it.
    `sample(tensor, steps)`: every `steps`-th row and column as float64 on the host.
    """

    device_name: str
    put: Callable[[np.ndarray, str], Any]
    multiply: Callable[[Any, Any], Any]
    wait: Callable[[Any], object]
    sample: Callable[[Any, tuple[int, ...]], np.ndarray]


def measure_all(
    framework: Framework, shapes: Iterable[tuple[int, int, int]], precision: str, repeats: int
) -> Iterator[dict[str, Any]]:
    """Return the cases of one precision, from the smallest to the largest."""
    speed = 0.0
    for shape in sorted(shapes, key=math.prod):
        case = measure(framework, shape, precision, repeats, speed)
        if case["runs"]:
            speed = case["flop"] * case["calls"] / min(case["runs"])
        yield case


def measure(
    framework: Framework,
    shape: tuple[int, int, int],
    precision: str,
    repeats: int,
    speed: float = 0.0,
) -> dict[str, Any]:
    """Return one case of the result (`records.measurements.ProductCase`): an (m, k) @ (k, n) product.

    `speed`: FLOP/s of the next smaller product, 0 where there is none; at it, this one must not take more
    than `LONGEST`, as PyTorch's bfloat16 would on a processor without instructions for it.
    `runs`: seconds of each timed run of `calls` products, devices synchronized at both edges. A case
    without numbers has a status and a reason; so has a wrong product.
    """
    foreseen = 2 * math.prod(shape) / speed if speed else 0.0
    if foreseen > LONGEST:
        source = f"{speed / 1e9:.1f} GFLOP/s of the next smaller product"
        reason = f"{foreseen:,.0f} s foreseen, from {source}"
        return case_of(shape, precision, "too_slow", reason)
    try:
        _check_memory(shape, precision)
        calls, runs, error = _time(framework, shape, precision, repeats)
    except Exception as failure:
        return case_of(shape, precision, _status(failure), first_line(failure))
    tolerance = TOLERANCES[precision]
    if not error <= tolerance:  # also for NaN
        reason = f"relative error {error:.1e}, at most {tolerance:.0e} in {precision}: no speed"
        return case_of(shape, precision, "wrong", reason)
    return case_of(
        shape, precision, "completed", None, calls=calls, runs=runs, relative_error=error
    )


def _status(failure: Exception) -> str:
    text = f"{type(failure)} {failure}".lower()
    full = isinstance(failure, MemoryError) or "resourceexhausted" in text
    if full or says_memory_is_full(text):
        return "out_of_memory"
    if any(phrase in text for phrase in _LACKING):
        return "unavailable"
    raise failure


def case_of(
    shape: tuple[int, int, int], precision: str, status: str, reason: str | None, **numbers: Any
) -> dict[str, Any]:
    """Return a case; without `numbers` that of a product that has none."""
    m, k, n = shape
    case = {"shape": [m, k, n], "precision": precision, "flop": 2 * m * k * n}
    nothing: dict[str, Any] = {"calls": None, "runs": [], "relative_error": None}
    return {**case, "status": status, "reason": reason, **nothing, **numbers}


def _time(
    framework: Framework, shape: tuple[int, int, int], precision: str, repeats: int
) -> tuple[int, list[float], float]:
    m, k, n = shape
    random = np.random.default_rng(0)
    host = [random.standard_normal(size, np.float32) for size in ((m, k), (k, n))]
    a, b = (framework.put(array, precision) for array in host)
    seconds, product = _run(framework, a, b, 1)  # the warm-up: compilation, threads, pages
    error = _relative_error(framework, product, *host)
    del product  # one result at a time: it may be gigabytes
    if seconds < 1:  # else the start-up in it does not matter
        seconds = min(_run(framework, a, b, 1)[0] for _ in range(2))
    calls = max(1, round(SHORTEST / seconds))
    runs: list[float] = []
    while len(runs) < repeats and sum(runs) < SECONDS:
        runs.append(_run(framework, a, b, calls)[0])
    return calls, runs, error


def _run(framework: Framework, a: Any, b: Any, calls: int) -> tuple[float, Any]:
    start = time.perf_counter()
    for _ in range(calls):
        product = None
        product = framework.multiply(a, b)
    framework.wait(product)
    return time.perf_counter() - start, product


def _relative_error(framework: Framework, product: Any, a: np.ndarray, b: np.ndarray) -> float:
    """The relative error of some 64 elements spread over the product, against NumPy in float64."""
    steps = tuple(max(1, (size - 1) // 7) for size in (a.shape[0], b.shape[1]))
    sample = framework.sample(product, steps)
    expected = a[:: steps[0]].astype(np.float64) @ b[:, :: steps[1]].astype(np.float64)
    if sample.shape != expected.shape:
        return float("inf")
    return float(np.linalg.norm(sample - expected) / np.linalg.norm(expected))


def _check_memory(shape: tuple[int, int, int], precision: str) -> None:
    """Refuse what the host cannot hold: the system would end the process without a message."""
    m, k, n = shape
    size = _BYTES[precision]
    # A CPU may multiply 16-bit numbers in float32 and round the result.
    needed = (m * k + k * n) * (4 + size) + m * n * (size if size >= 4 else size + 4)
    available = available_bytes()
    if needed > 0.9 * available:
        raise MemoryError(
            f"the product needs {needed / 1e9:,.1f} GB of host memory, "
            f"{available / 1e9:,.1f} GB are available"
        )


# By engine of its framework. Each opens the one device of a kind, for a process of so many threads, and
# raises `Unavailable` if there is none.


def _jax(kind: str, threads: int) -> Framework:
    """Compiled products in JAX. Threads are set by the process's affinity."""
    import jax
    import jax.numpy as jnp

    from paragone.engines.jax import open_mesh

    jax.config.update("jax_enable_x64", True)  # or float64 would silently be float32
    return Framework(
        open_mesh(kind, 1).devices[0].device_kind,
        put=jnp.asarray,
        multiply=jax.jit(lambda a, b: jnp.matmul(a, b, precision="highest")),
        wait=jax.block_until_ready,
        sample=lambda tensor, steps: np.asarray(tensor[:: steps[0], :: steps[1]], np.float64),
    )


def _tensorflow(kind: str, threads: int) -> Framework:
    """Eager products in TensorFlow. On a CPU operators return when they are done."""
    from paragone.base.tensorflow import tf
    from paragone.engines.tensorflow import open_device, set_threads

    set_threads(threads)
    device, model = open_device(kind)

    def put(array: np.ndarray, precision: str) -> Any:
        with tf.device(device):
            return tf.cast(tf.constant(array), precision)

    def multiply(a: Any, b: Any) -> Any:
        with tf.device(device):
            return tf.matmul(a, b)

    def wait(tensor: Any) -> None:
        if kind == "tpu":
            tensor[0, 0].numpy()  # the only door: sync_devices knows GPUs alone
        else:
            tf.test.experimental.sync_devices()

    def sample(tensor: Any, steps: tuple[int, ...]) -> np.ndarray:
        with tf.device(device):
            part = tensor[:: steps[0], :: steps[1]]
        with tf.device("/CPU:0"):
            return tf.cast(part, tf.float64).numpy()

    return Framework(model, put, multiply, wait, sample)


def _torch(kind: str, threads: int) -> Framework:
    """Eager products in PyTorch, on a CPU or CUDA device. On a CPU operators return when they are done."""
    import torch

    from paragone.engines.torch import open_device

    torch.set_num_threads(threads)
    device, name = open_device(kind)
    return Framework(
        name,
        put=lambda array, precision: torch.from_numpy(array).to(device, getattr(torch, precision)),
        multiply=operator.matmul,
        wait=lambda tensor: torch.cuda.synchronize() if tensor.is_cuda else None,
        sample=_sample_of_torch,
    )


def _torch_xla(kind: str, threads: int) -> Framework:
    """Products in PyTorch/XLA on one PJRT device. Threads are set by the process's affinity."""
    import torch
    import torch_xla
    from torch_xla.core import xla_model

    from paragone.engines.torch_xla import open_device

    device, name = open_device(kind)

    def multiply(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Hand the product over at once: what is only traced is never computed."""
        product = a @ b
        torch_xla.sync()
        return product

    return Framework(
        name,
        put=lambda array, precision: (
            torch.from_numpy(array).to(getattr(torch, precision)).to(device)
        ),
        multiply=multiply,
        wait=lambda tensor: xla_model.wait_device_ops(),
        sample=_sample_of_torch,
    )


def _sample_of_torch(tensor: Any, steps: tuple[int, ...]) -> np.ndarray:
    return tensor[:: steps[0], :: steps[1]].cpu().double().numpy()


FRAMEWORKS: dict[str, Callable[[str, int], Framework]] = {
    "tensorflow": _tensorflow,
    "torch": _torch,
    "torch_xla": _torch_xla,
    "jax": _jax,
}
