"""Canonical weights: one layout and one draw for every framework.

A model's weights are an ordered mapping from name to float32 array. Names are
"<layer index>.<layer kind>.<part>" in forward order; layouts are those of Keras: convolution kernels
(height, width, in, out), dense kernels (in, out), features flattened in (height, width, channel)
order. Engines translate to and from their own layout; nothing else knows about layouts.
"""

import hashlib
import math

import numpy as np

from paragone.data.random_streams import generator

Weights = dict[str, np.ndarray]
Shapes = dict[str, tuple[int, ...]]

# Updated by batch norm, not by the optimizer.
STATISTICS = ("moving_mean", "moving_variance")
_CONSTANTS = {"gamma": 1.0, "beta": 0.0, "moving_mean": 0.0, "moving_variance": 1.0}


def trainable(name: str) -> bool:
    """Whether the optimizer changes this array."""
    return name.rsplit(".", 1)[1] not in STATISTICS


def draw(shapes: Shapes, initializer: str, seed: int) -> Weights:
    """Draw initial weights by the default rules of a framework.

    `pytorch`: kernels and biases uniform within 1/sqrt(fan_in) (`torch.nn.Linear.reset_parameters`),
    embeddings standard normal. `keras`: Glorot uniform kernels, zero biases, embeddings uniform within
    0.05. Batch norm starts at gamma 1, beta 0, mean 0, variance 1 in both.
    """
    random = generator("weights", seed)
    as_pytorch = initializer == "pytorch"
    drawn: Weights = {}
    bound_of_layer = 0.0
    for name, shape in shapes.items():
        kind, part = name.split(".")[1:]
        if part in _CONSTANTS:
            values = np.full(shape, _CONSTANTS[part])
        elif kind == "embedding" and as_pytorch:
            values = random.standard_normal(shape)
        elif kind == "embedding":
            values = random.uniform(-0.05, 0.05, shape)
        elif part == "bias" and not as_pytorch:
            values = np.zeros(shape)
        elif part == "bias":
            values = random.uniform(-bound_of_layer, bound_of_layer, shape)
        else:
            receptive = math.prod(shape[:-2])
            fan_in, fan_out = receptive * shape[-2], receptive * shape[-1]
            if kind.startswith("depthwise"):  # each output sees one input channel
                fan_in = receptive
            glorot = math.sqrt(6 / (fan_in + fan_out))
            bound_of_layer = 1 / math.sqrt(fan_in) if as_pytorch else glorot
            values = random.uniform(-bound_of_layer, bound_of_layer, shape)
        drawn[name] = values.astype(np.float32)
    return drawn


def digest(weights: Weights) -> str:
    """SHA-256 over names, shapes and bytes, in order."""
    sha = hashlib.sha256()
    for name, values in weights.items():
        sha.update(f"{name}{values.shape}".encode())
        sha.update(np.ascontiguousarray(values, dtype=np.float32).tobytes())
    return sha.hexdigest()


def parameter_count(weights: Weights) -> int:
    """The number of trainable parameters."""
    return sum(values.size for name, values in weights.items() if trainable(name))
