"""The small convolutional networks, in Keras."""

from typing import Literal

from paragone.base.tensorflow import keras

layers = keras.layers


def fashion_conv(
    shape: tuple[int, int, int],
    classes: int,
    filters: int = 64,
    activation: Literal["relu", "elu"] = "relu",
) -> keras.Model:
    """One 3 x 3 convolution, pooled, then relu or elu; one dense layer."""
    return keras.Sequential(
        [
            layers.Input(shape),
            layers.Conv2D(filters, 3),
            layers.MaxPooling2D(2),
            {"relu": layers.ReLU, "elu": layers.ELU}[activation](),
            layers.Flatten(),
            layers.Dense(classes),
        ]
    )


MODELS = {"fashion-conv": fashion_conv}
