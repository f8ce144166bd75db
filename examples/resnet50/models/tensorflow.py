"""ResNet-50 in Keras. Keras' own has its strides elsewhere and biases beside batch norm."""

import keras
from keras import layers

from paragone.models.tensorflow import BATCH_NORM


def _conv_norm(filters: int, side: int, stride: int = 1, start: str = "ones") -> list[layers.Layer]:
    """A convolution padded alike on all sides, which Keras' "same" is not where it strides."""
    apart = stride > 1 and side > 1
    padding = [layers.ZeroPadding2D(side // 2)] if apart else []
    kind = "valid" if apart else "same"
    return [
        *padding,
        layers.Conv2D(filters, side, stride, padding=kind, use_bias=False),
        layers.BatchNormalization(gamma_initializer=start, **BATCH_NORM),
    ]


def _bottleneck(
    features: keras.KerasTensor, filters: int, stride: int, project: bool
) -> keras.KerasTensor:
    residual = keras.Sequential(
        [
            *_conv_norm(filters, 1),
            layers.ReLU(),
            *_conv_norm(filters, 3, stride),
            layers.ReLU(),
            *_conv_norm(4 * filters, 1, start="zeros"),  # a block starts as its shortcut
        ]
    )(features)
    shortcut = features
    if project:
        shortcut = keras.Sequential(_conv_norm(4 * filters, 1, stride))(features)
    return layers.ReLU()(layers.Add()([residual, shortcut]))


def resnet50(
    shape: tuple[int, int, int], classes: int, width: int, blocks: list[int]
) -> keras.Model:
    """ResNet-50 (He et al., arXiv:1512.03385) with a block's stride in its 3 x 3 convolution.

    width: channels of the first convolution, 64 as published; blocks: of each stage, 3, 4, 6 and 3.
    """
    inputs = features = layers.Input(shape)
    # After the rectifier, zeros around are as good as nothing around.
    for layer in (*_conv_norm(width, 7, 2), layers.ReLU(), layers.ZeroPadding2D(1)):
        features = layer(features)
    features = layers.MaxPooling2D(3, 2)(features)
    for stage, count in enumerate(blocks):
        for block in range(count):
            stride = 2 if stage and not block else 1
            features = _bottleneck(features, width * 2**stage, stride, project=not block)
    features = layers.GlobalAveragePooling2D()(features)
    return keras.Model(inputs, layers.Dense(classes)(features))


MODELS = {"resnet50": resnet50}
