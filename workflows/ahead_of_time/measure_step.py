"""Run a training step of JAX on the CPU of this machine, where both the step and its bound can be known.

The step is the one that export_step.py exports for other machines. In the same process the speeds that its
bound needs are measured.
"""

import argparse
import sys
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import jax
import jax.numpy as jnp

from ahead_of_time.compilers import cost_of
from ahead_of_time.exports import dataset_of, step_of
from ahead_of_time.exports.jax import StepOfJax
from ahead_of_time.records import Example, MeasuredStep, Speed
from paragone.base.errors import entry_point
from paragone.base.processes import end_process, take_environment
from paragone.base.typed_json import of_option, write
from paragone.config.run_spec import Spec

SHORTEST = 0.2  # seconds of a timed run at least
RUNS = 5
_TRIAD = 2**26  # elements of each array, a quarter of a GB: no cache holds it
_SIDE = 2048  # of the square matrices that are multiplied


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spec", required=True, help="specification of the step, JSON")
    parser.add_argument("--example", required=True, help="shape of its examples, JSON")
    parser.add_argument("--threads", type=int, required=True, help="CPU cores to use at most")
    parser.add_argument("--record", required=True, type=Path, help="to write")
    options = parser.parse_args(arguments)
    spec = Spec.from_json(options.spec)
    example = of_option(Example, options.example, "--example")
    record = measured(spec, example, options.threads)
    write(record, options.record)
    seconds = min(record.runs) / record.calls
    print(f"[{spec.name}] {1e3 * seconds:.3g} ms a step, runs {record.runs}", flush=True)


def measured(spec: Spec, example: Example, threads: int) -> MeasuredStep:
    """Time the step of a specification of JAX, and the speeds of this machine."""
    dataset, engine = dataset_of(spec, example), StepOfJax()
    engine.build(spec, dataset, threads)
    described = step_of(spec, engine.exported(spec, dataset))  # before the step takes its arguments
    state, totals, squares, *rest = engine.arguments(spec, dataset)
    program = engine.train_step.lower(state, totals, squares, *rest).compile()

    def step() -> None:
        nonlocal state, totals
        state, totals = jax.block_until_ready(program(state, totals, squares, *rest))

    calls, runs = _timed(step)
    text, counts, memory = program.as_text(), program.cost_analysis(), program.memory_analysis()
    return MeasuredStep(
        step=described,
        cost=cost_of(text, counts, memory, spec.replicas),
        calls=calls,
        runs=runs,
        product=_product(),
        triad=_triad(),
    )


def _product() -> Speed:
    """FLOP of products of square matrices: a multiplication with its addition is two."""
    matrix = jnp.ones((_SIDE, _SIDE), jnp.float32)
    multiply = jax.jit(jnp.matmul)
    calls, runs = _timed(lambda: multiply(matrix, matrix).block_until_ready())
    return Speed(amount=calls * 2.0 * _SIDE**3, runs=runs)


def _triad() -> Speed:
    """Bytes of a + s b of two arrays that no cache holds: two are read, one is written (STREAM's triad).

    The result takes the place of the first: fresh memory would cost a page fault every 4 KiB.
    """
    values, addends = (jnp.full(_TRIAD, value, jnp.float32) for value in (1, 2))
    triad = jax.jit(lambda a, b: a + jnp.float32(3) * b, donate_argnums=0)

    def work() -> None:
        nonlocal values
        values = triad(values, addends).block_until_ready()

    calls, runs = _timed(work)
    return Speed(amount=calls * 3.0 * addends.nbytes, runs=runs)


def _timed(work: Callable[[], Any]) -> tuple[int, list[float]]:
    """Calls per run and seconds of each run, after a warm-up of two calls."""
    seconds = timeit.repeat(work, number=1, repeat=2)[-1]
    calls = max(1, round(SHORTEST / seconds))
    return calls, timeit.repeat(work, number=calls, repeat=RUNS)


if __name__ == "__main__":
    take_environment()
    main()
    end_process()
