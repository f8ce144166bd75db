"""The models in Keras, for the engine `tensorflow`.

Each function takes the shape of one example (channels last), the number of classes and the options of
the workload's `model` block, and returns a model from (batch, height, width, channels) to logits.
"""

from collections.abc import Callable

import keras
from keras import layers

# PyTorch's constants: its running average keeps 0.9 of the old value.
BATCH_NORM = {"momentum": 0.9, "epsilon": 1e-5}


def fashion_cnn(shape: tuple[int, int, int], classes: int) -> keras.Model:
    """Two 5 x 5 convolutions of 10 and 20 filters, pooled, rectified, then batch norm; two dense layers."""
    return keras.Sequential(
        [
            layers.Input(shape),
            layers.Conv2D(10, 5),
            layers.MaxPooling2D(2),
            layers.ReLU(),
            layers.BatchNormalization(**BATCH_NORM),
            layers.Conv2D(20, 5),
            layers.MaxPooling2D(2),
            layers.ReLU(),
            layers.BatchNormalization(**BATCH_NORM),
            layers.Flatten(),
            layers.Dense(50, activation="relu"),
            layers.Dense(classes),
        ]
    )


def fashion_conv(shape: tuple[int, int, int], classes: int) -> keras.Model:
    """One 3 x 3 convolution of 64 filters, pooled, rectified; one dense layer."""
    return keras.Sequential(
        [
            layers.Input(shape),
            layers.Conv2D(64, 3),
            layers.MaxPooling2D(2),
            layers.ReLU(),
            layers.Flatten(),
            layers.Dense(classes),
        ]
    )


MODELS: dict[str, Callable[..., keras.Model]] = {
    "fashion-cnn": fashion_cnn,
    "fashion-conv": fashion_conv,
}
