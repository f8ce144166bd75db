"""The models in Keras, for the engine `tensorflow`.

Each function takes the shape of one example (channels last), the number of classes and the options of
the workload's `model` block, and returns a model from (batch, height, width, channels) to logits.
"""

from collections.abc import Callable

from paragone.base import plugins
from paragone.base.tensorflow import keras

layers = keras.layers

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


def _conv_norm_relu(features: keras.KerasTensor, filters: int) -> keras.KerasTensor:
    features = layers.Conv2D(filters, 3, padding="same")(features)
    return layers.ReLU()(layers.BatchNormalization()(features))


def _wide_block(
    features: keras.KerasTensor, filters: int, dropout: float, project: bool
) -> keras.KerasTensor:
    residual = layers.Dropout(dropout)(_conv_norm_relu(features, filters))
    residual = _conv_norm_relu(residual, filters)
    shortcut = layers.Conv2D(filters, 1)(features) if project else features
    return layers.Add()([shortcut, residual])


def wide_resnet(
    shape: tuple[int, int, int], classes: int, width: int, dropout: float
) -> keras.Model:
    """WideResNet-16 of the batch size lab: three stages of two blocks, with pooling in between."""
    inputs = layers.Input(shape)
    features = _conv_norm_relu(inputs, 16)
    for stage in range(3):
        if stage:
            features = layers.MaxPooling2D(2)(features)
        for project in (True, False):
            features = _wide_block(features, 16 * width * 2**stage, dropout, project)
    features = layers.GlobalAveragePooling2D()(features)
    return keras.Model(inputs, layers.Dense(classes)(features))


def mobilenet_v2(shape: tuple[int, int, int], classes: int, outputs: int) -> keras.Model:
    """Keras' own MobileNetV2; `outputs` may exceed the classes: the source keeps ImageNet's 1,000."""
    return keras.applications.MobileNetV2(
        shape, weights=None, classes=outputs, classifier_activation=None
    )


MODELS: dict[str, Callable[..., keras.Model]] = plugins.extend(
    "models/tensorflow.py",
    {
        "fashion-cnn": fashion_cnn,
        "fashion-conv": fashion_conv,
        "mobilenet-v2": mobilenet_v2,
        "text-cnn": text_cnn,
        "wide-resnet": wide_resnet,
    },
)
