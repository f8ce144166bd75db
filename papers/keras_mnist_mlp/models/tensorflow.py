"""The perceptron of Keras' MNIST example, in Keras."""

from paragone.base.tensorflow import keras

layers = keras.layers


def keras_mlp(shape: tuple[int, ...], classes: int) -> keras.Model:
    """Two dense layers of 512 outputs, each rectified, a fifth of them dropped; one dense layer."""
    return keras.Sequential(
        [
            layers.Input(shape),
            layers.Flatten(),
            layers.Dense(512, activation="relu"),
            layers.Dropout(0.2),
            layers.Dense(512, activation="relu"),
            layers.Dropout(0.2),
            layers.Dense(classes),
        ]
    )


MODELS = {"keras-mlp": keras_mlp}
