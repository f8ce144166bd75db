"""MobileNetV2 and the text CNN, in Keras."""

from paragone.base.tensorflow import keras

layers = keras.layers


def text_cnn(shape: tuple[int], classes: int, vocabulary: int) -> keras.Model:
    """Embedding of 7, then two 1-D convolutions of 64 and 32 filters, each rectified and pooled."""
    return keras.Sequential(
        [
            layers.Input(shape, dtype="int32"),
            layers.Embedding(vocabulary, 7),
            layers.Conv1D(64, 5, activation="relu"),
            layers.MaxPooling1D(2),
            layers.Conv1D(32, 3, activation="relu"),
            layers.MaxPooling1D(2),
            layers.Flatten(),
            layers.Dense(classes),
        ]
    )


def mobilenet_v2(shape: tuple[int, int, int], classes: int, outputs: int) -> keras.Model:
    """Keras' own MobileNetV2; `outputs` may exceed the classes: the source keeps ImageNet's 1,000."""
    return keras.applications.MobileNetV2(
        shape, weights=None, classes=outputs, classifier_activation=None
    )


MODELS = {"mobilenet-v2": mobilenet_v2, "text-cnn": text_cnn}
