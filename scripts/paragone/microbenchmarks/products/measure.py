"""The one timing loop of all matrix products, and the proof that each product is right."""

import math
import time
from collections.abc import Iterable, Iterator
from types import ModuleType
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


class TooSlow(Exception):
    """The product would take longer than `LONGEST`."""


def measure_all(
    framework: ModuleType, shapes: Iterable[tuple[int, int, int]], precision: str, repeats: int
) -> Iterator[dict[str, Any]]:
    """Return the cases of one precision, from the smallest to the largest."""
    speed = 0.0
    for shape in sorted(shapes, key=math.prod):
        case = measure(framework, shape, precision, repeats, speed)
        if case["runs"]:
            speed = case["flop"] * case["calls"] / min(case["runs"])
        yield case


def measure(
    framework: ModuleType,
    shape: tuple[int, int, int],
    precision: str,
    repeats: int,
    speed: float = 0.0,
) -> dict[str, Any]:
    """Return one case of the result (`records.measurements.ProductCase`): an (m, k) @ (k, n) product.

    `speed`: FLOP/s of the next smaller product, 0 where there is none; at it, this one must not take more
    than `LONGEST`. So slow is PyTorch's bfloat16, say, on a processor without instructions for it: a
    hundredth of its float32, and the slower, the larger the product.
    `runs`: seconds of each timed run of `calls` products, devices synchronized at both edges. A case
    without numbers has a status and a reason; so has a wrong product.
    """
    try:
        _check_memory(shape, precision)
        _check_time(shape, speed)
        calls, runs, error = _time(framework, shape, precision, repeats)
    except Exception as failure:
        return _case(shape, precision, _status(failure), first_line(failure))
    tolerance = TOLERANCES[precision]
    if not error <= tolerance:  # also for NaN
        reason = f"relative error {error:.1e}, at most {tolerance:.0e} in {precision}: no speed"
        return _case(shape, precision, "wrong", reason)
    return _case(shape, precision, "completed", None, calls=calls, runs=runs, relative_error=error)


def _status(failure: Exception) -> str:
    """The status of a case that failed; raises the error again if it is no result."""
    text = f"{type(failure)} {failure}".lower()
    full = isinstance(failure, MemoryError) or "resourceexhausted" in text
    if full or says_memory_is_full(text):
        return "out_of_memory"
    if isinstance(failure, TooSlow):
        return "too_slow"
    if any(phrase in text for phrase in _LACKING):
        return "unavailable"
    raise failure


def not_tried(shape: tuple[int, int, int], precision: str, reason: str) -> dict[str, Any]:
    """Return a case on a device that is not available."""
    return _case(shape, precision, "unavailable", reason)


def _case(
    shape: tuple[int, int, int], precision: str, status: str, reason: str | None, **numbers: Any
) -> dict[str, Any]:
    m, k, n = shape
    case = {"shape": [m, k, n], "precision": precision, "flop": 2 * m * k * n}
    nothing: dict[str, Any] = {"calls": None, "runs": [], "relative_error": None}
    return {**case, "status": status, "reason": reason, **nothing, **numbers}


def _time(
    framework: ModuleType, shape: tuple[int, int, int], precision: str, repeats: int
) -> tuple[int, list[float], float]:
    """Products a run, seconds of each run, and the relative error of the warm-up's product."""
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


def _run(framework: ModuleType, a: Any, b: Any, calls: int) -> tuple[float, Any]:
    """Seconds of `calls` products, one after the other, and the last product."""
    start = time.perf_counter()
    for _ in range(calls):
        product = None
        product = framework.multiply(a, b)
    framework.wait(product)
    return time.perf_counter() - start, product


def _relative_error(framework: ModuleType, product: Any, a: np.ndarray, b: np.ndarray) -> float:
    """The relative error of some 64 elements spread over the product, against NumPy in float64."""
    steps = tuple(max(1, (size - 1) // 7) for size in (a.shape[0], b.shape[1]))
    sample = framework.sample(product, steps)
    expected = a[:: steps[0]].astype(np.float64) @ b[:, :: steps[1]].astype(np.float64)
    if sample.shape != expected.shape:
        return float("inf")
    return float(np.linalg.norm(sample - expected) / np.linalg.norm(expected))


def _check_time(shape: tuple[int, int, int], speed: float) -> None:
    seconds = 2 * math.prod(shape) / speed if speed else 0.0
    if seconds > LONGEST:
        source = f"{speed / 1e9:.1f} GFLOP/s of the next smaller product"
        raise TooSlow(f"{seconds:,.0f} s foreseen, from {source}")


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
