"""The convolutional network of the Colab notebook, in flax NNX."""

from flax import nnx

from paragone.models.jax import TORCH_BATCH_NORM, MaxPool, batch_norm, conv, dense, flatten


def fashion_cnn(shape: tuple[int, int, int], classes: int) -> nnx.Module:
    """Two 5 x 5 convolutions of 10 and 20 filters, pooled, rectified, then batch norm; two dense layers."""
    rows, columns = (((side - 4) // 2 - 4) // 2 for side in shape[:2])
    return nnx.Sequential(
        conv(shape[2], 10, (5, 5)),
        MaxPool(2),
        nnx.relu,
        batch_norm(10, **TORCH_BATCH_NORM),
        conv(10, 20, (5, 5)),
        MaxPool(2),
        nnx.relu,
        batch_norm(20, **TORCH_BATCH_NORM),
        flatten,
        dense(20 * rows * columns, 50),
        nnx.relu,
        dense(50, classes),
    )


MODELS = {"fashion-cnn": fashion_cnn}
