"""Canonical names of a Keras model's weights; apart, since published weights are read without an engine."""

from collections.abc import Iterator

import keras

# Keras layer class -> canonical kind and parts, in Keras' own order of variables
_KINDS = {
    "Conv1D": ("conv1d", ("kernel", "bias")),
    "Conv2D": ("conv2d", ("kernel", "bias")),
    "DepthwiseConv2D": ("depthwise_conv2d", ("kernel", "bias")),
    "Embedding": ("embedding", ("embeddings",)),
    "Dense": ("dense", ("kernel", "bias")),
    "BatchNormalization": ("batch_norm", ("gamma", "beta", "moving_mean", "moving_variance")),
}


def named(model: keras.Model) -> Iterator[tuple[str, keras.Variable]]:
    """Canonical name and variable of every weight, in forward order. Keras' layout is canonical."""
    weighted = [layer for layer in model.layers if type(layer).__name__ in _KINDS]
    for index, layer in enumerate(weighted):
        kind, parts = _KINDS[type(layer).__name__]
        by_part = {variable.name: variable for variable in layer.variables}
        for part in parts:
            if part in by_part:
                yield f"{index}.{kind}.{part}", by_part[part]
