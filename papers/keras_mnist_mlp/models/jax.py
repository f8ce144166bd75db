"""The perceptron of Keras' MNIST example, in flax NNX."""

import math

from flax import nnx

from paragone.models.jax import dense, flatten


def keras_mlp(shape: tuple[int, ...], classes: int, rngs: nnx.Rngs) -> nnx.Module:
    """Two dense layers of 512 outputs, each rectified, a fifth of them dropped; one dense layer."""
    return nnx.Sequential(
        flatten,
        dense(math.prod(shape), 512),
        nnx.relu,
        nnx.Dropout(0.2, rngs=rngs),
        dense(512, 512),
        nnx.relu,
        nnx.Dropout(0.2, rngs=rngs),
        dense(512, classes),
    )


MODELS = {"keras-mlp": keras_mlp}
