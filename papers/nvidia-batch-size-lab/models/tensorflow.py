"""The WideResNet, in Keras."""

from paragone.base.tensorflow import keras

layers = keras.layers


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


MODELS = {"wide-resnet": wide_resnet}
