"""The small convolutional network of Keras' MNIST example, in flax NNX."""

from flax import nnx

from paragone.models.jax import MaxPool, conv, dense, flatten


def keras_convnet(shape: tuple[int, int, int], classes: int, rngs: nnx.Rngs) -> nnx.Module:
    """Two 3 x 3 convolutions of 32 and 64 filters, each rectified and pooled; dropout; one dense layer."""
    rows, columns = (((side - 2) // 2 - 2) // 2 for side in shape[:2])
    return nnx.Sequential(
        conv(shape[2], 32, (3, 3)),
        nnx.relu,
        MaxPool(2),
        conv(32, 64, (3, 3)),
        nnx.relu,
        MaxPool(2),
        flatten,
        nnx.Dropout(0.5, rngs=rngs),
        dense(64 * rows * columns, classes),
    )


MODELS = {"keras-convnet": keras_convnet}
