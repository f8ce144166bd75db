"""The convolutional network of the Colab notebook, in Keras."""

from paragone.base.tensorflow import keras
from paragone.models.tensorflow import BATCH_NORM

layers = keras.layers


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


MODELS = {"fashion-cnn": fashion_cnn}
