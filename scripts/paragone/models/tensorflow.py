"""Layers that models in Keras share, and the models that the engine `tensorflow` finds by name.

The function of a model takes the shape of one example (channels last), the number of classes and the options
of the workload's `model` block, and returns a model from (batch, height, width, channels) to logits.
"""

from collections.abc import Callable

from paragone.base import plugins
from paragone.base.tensorflow import keras

layers = keras.layers

# PyTorch's constants: its running average keeps 0.9 of the old value.
BATCH_NORM = {"momentum": 0.9, "epsilon": 1e-5}


def mlp(shape: tuple[int, ...], classes: int, hidden: list[int]) -> keras.Model:
    """Dense layers of `hidden` outputs, each rectified; one dense layer."""
    dense = [layers.Dense(outputs, activation="relu") for outputs in hidden]
    return keras.Sequential([layers.Input(shape), layers.Flatten(), *dense, layers.Dense(classes)])


class Residual(keras.layers.Dense):
    """A dense layer without bias whose output is added to its block's input."""

    def __init__(self, outputs: int) -> None:
        super().__init__(outputs, use_bias=False)


MODELS: dict[str, Callable[..., keras.Model]] = plugins.extend("models/tensorflow.py", {"mlp": mlp})
