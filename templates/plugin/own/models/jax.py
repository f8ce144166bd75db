"""The model in JAX. The parity gate holds it against that in PyTorch before any speed is compared."""

import math

from flax import nnx


def model(shape: tuple[int, ...], classes: int, hidden: int) -> nnx.Module:
    """shape: of one input, channels last; hidden: as the config says."""
    rngs = nnx.Rngs(0)  # its draws are not used: every framework gets the same weights
    return nnx.Sequential(
        lambda images: images.reshape(len(images), -1),
        nnx.Linear(math.prod(shape), hidden, rngs=rngs),
        nnx.relu,
        nnx.Linear(hidden, classes, rngs=rngs),
    )


MODELS = {"{{ workload }}": model}
