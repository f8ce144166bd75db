"""A perceptron with one hidden layer, in flax."""

import math

from flax import nnx


def my_mlp(shape: tuple[int, ...], classes: int, hidden: int) -> nnx.Module:
    """Return the model for inputs of `shape`, channels last."""
    rngs = nnx.Rngs(0)
    return nnx.Sequential(
        lambda images: images.reshape(len(images), -1),
        nnx.Linear(math.prod(shape), hidden, rngs=rngs),
        nnx.relu,
        nnx.Linear(hidden, classes, rngs=rngs),
    )


MODELS = {"my-mlp": my_mlp}
