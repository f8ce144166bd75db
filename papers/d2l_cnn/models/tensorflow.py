"""LeNet and ResNet-18 of "Dive into Deep Learning", in Keras."""

from paragone.models.d2l_enlarging import between

from paragone.base.tensorflow import keras
from paragone.models.tensorflow import BATCH_NORM

layers = keras.layers
ops = keras.ops


def lenet(shape: tuple[int, int, int], classes: int) -> keras.Model:
    """LeNet of "Dive into Deep Learning": two 5 x 5 convolutions, pooled by means, three dense layers."""
    return keras.Sequential(
        [
            layers.Input(shape),
            layers.Conv2D(6, 5, padding="same", activation="sigmoid"),
            layers.AveragePooling2D(2),
            layers.Conv2D(16, 5, activation="sigmoid"),
            layers.AveragePooling2D(2),
            layers.Flatten(),
            layers.Dense(120, activation="sigmoid"),
            layers.Dense(84, activation="sigmoid"),
            layers.Dense(classes),
        ]
    )


def _conv_norm(filters: int, side: int, stride: int = 1) -> list[keras.Layer]:
    """Return a convolution padded alike on all sides, as Keras' "same" is not with strides; batch norm."""
    return [
        layers.ZeroPadding2D(side // 2),
        layers.Conv2D(filters, side, stride),
        layers.BatchNormalization(**BATCH_NORM),
    ]


def _basic_block(features: keras.KerasTensor, filters: int) -> keras.KerasTensor:
    stride = 1 if features.shape[-1] == filters else 2
    residual = keras.Sequential(
        [*_conv_norm(filters, 3, stride), layers.ReLU(), *_conv_norm(filters, 3)]
    )(features)
    shortcut = features if stride == 1 else layers.Conv2D(filters, 1, stride)(features)
    return layers.ReLU()(layers.Add()([residual, shortcut]))


class Enlarge(keras.layers.Layer):
    """Images of `size` pixels per side from smaller ones; Keras' own resizing has single precision alone."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def call(self, images: keras.KerasTensor) -> keras.KerasTensor:
        """(batch, height, width, channels) to (batch, size, size, channels)."""
        for axis in (1, 2):
            before, after, share = between(images.shape[axis], self.size)
            share = ops.cast(share.reshape([-1] + [1] * (3 - axis)), images.dtype)
            first, second = (ops.take(images, pixels, axis) for pixels in (before, after))
            images = first + share * (second - first)
        return images


def resnet_18(
    shape: tuple[int, int, int], classes: int, width: int, resize: int | None = None
) -> keras.Model:
    """ResNet-18 of "Dive into Deep Learning", with a bias in each convolution.

    `width`: channels of the first one, 64 as published. `resize`: pixels per side to which images are
    enlarged, bilinear.
    """
    inputs = features = layers.Input(shape)
    if resize:
        features = Enlarge(resize)(features)
    # After the rectifier, zeros around are as good as nothing around.
    for layer in (*_conv_norm(width, 7, 2), layers.ReLU(), layers.ZeroPadding2D(1)):
        features = layer(features)
    features = layers.MaxPooling2D(3, 2)(features)
    for stage in range(4):
        for _ in range(2):
            features = _basic_block(features, width * 2**stage)
    features = layers.GlobalAveragePooling2D()(features)
    return keras.Model(inputs, layers.Dense(classes)(features))


MODELS = {"lenet": lenet, "resnet-18": resnet_18}
