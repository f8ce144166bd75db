"""FLOP of a JAX program: convolutions and products of matrices in its jaxpr."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.extend.core

from paragone.base.engine_reports import FlopCount


def count(loss: Callable[[Any], jax.Array], arguments: Any, examples: int) -> FlopCount:
    """FLOP of one of so many examples, of `loss` and its gradient by `arguments`, which is never computed.

    A backward pass has two products for each of the forward pass, each of as many operations; where a layer
    reads the data, its inputs need no gradient, and there is one. XLA may fuse or drop operations.
    """
    forward = [*_products(jax.make_jaxpr(loss)(arguments).jaxpr)]
    both = [*_products(jax.make_jaxpr(jax.grad(loss))(arguments).jaxpr)]
    spared = 3 * len(forward) - len(both)
    return FlopCount((3 * sum(forward) - sum(forward[:spared])) // examples, "jax.make_jaxpr")


def _products(jaxpr: Any) -> Iterator[int]:
    """FLOP of each convolution and product of matrices, those of inner programs included."""
    for equation in jaxpr.eqns:
        for inner in jax.extend.core.jaxprs_in_params(equation.params):
            yield from _products(inner)
        result = math.prod(equation.outvars[0].aval.shape) if equation.outvars else 0
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            shape = equation.invars[0].aval.shape
            yield 2 * result * math.prod(shape[axis] for axis in contracted)
        elif equation.primitive.name == "conv_general_dilated":
            kernel = equation.invars[1].aval.shape
            features = kernel[equation.params["dimension_numbers"].rhs_spec[0]]
            yield 2 * result * math.prod(kernel) // features
