"""The small convolutional network of Keras' MNIST example, in Keras."""

from paragone.base.tensorflow import keras

layers = keras.layers


def keras_convnet(shape: tuple[int, int, int], classes: int) -> keras.Model:
    """Two 3 x 3 convolutions of 32 and 64 filters, each rectified and pooled; dropout; one dense layer."""
    return keras.Sequential(
        [
            layers.Input(shape),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(classes),
        ]
    )


MODELS = {"keras-convnet": keras_convnet}
