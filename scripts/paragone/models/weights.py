"""Canonical weights, one layout for every framework, and the weights from which a run starts.

A model's weights are an ordered mapping from name to float32 array. Names are
"<layer index>.<layer kind>.<part>" in forward order. Layouts are those of Keras: convolution kernels
(height, width, in, out), dense kernels (in, out), features flattened in (height, width, channel) order.
Engines translate to and from their own layout; nothing else knows about layouts. With the initializer
`model` names and layouts are the framework's own. A name ends with `FROZEN` for a parameter that is not
trained, and with `BUFFER` for an array of a framework's own name that is no parameter.
"""

import hashlib
import json
import math
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from paragone.base.errors import UserError
from paragone.config.run_spec import MODEL, Initializer, Options, Spec
from paragone.data.random_streams import generator

Weights = dict[str, np.ndarray]
Shapes = dict[str, tuple[int, ...]]

FROZEN, BUFFER = " (frozen)", " (buffer)"
_CONSTANTS = {"gamma": 1.0, "beta": 0.0, "moving_mean": 0.0, "moving_variance": 1.0}


def trainable(name: str) -> bool:
    """Return whether the optimizer updates the array of this name: not what is frozen, nor statistics."""
    return not name.endswith((".moving_mean", ".moving_variance", FROZEN, BUFFER))


def group_of(name: str) -> str:
    """Return what the first steps compare an array with: updates of weights, running means or variances."""
    if trainable(name):
        return "updates"
    return "variances" if name.removesuffix(BUFFER).endswith(("variance", "var")) else "means"


def decayed(dimensions: int, options: Options) -> bool:
    """Return whether an optimizer with these options decays an array of so many dimensions."""
    return options.get("decays", "all") == "all" or dimensions >= 2


def draw(shapes: Shapes, initializer: str, seed: int) -> Weights:
    """Draw initial weights by the default rules of a framework, or by Xavier's.

    `pytorch`: kernels and biases uniform within 1/sqrt(fan_in) (`torch.nn.Linear.reset_parameters`),
    embeddings standard normal. `keras`: Glorot uniform kernels, zero biases, embeddings uniform within
    0.05. `xavier`: Glorot uniform kernels, the rest as `pytorch`. `gpt-2`: kernels and embeddings
    normal with deviation 0.02, those of the n kernels whose outputs are added to their block's input
    0.02/sqrt(n) (Radford et al., 2019), zero biases. Norms start at gamma 1, beta 0, mean 0, variance 1.
    """
    random = generator("weights", seed)
    as_pytorch = initializer in ("pytorch", "xavier")
    added = sum(name.endswith(".residual_dense.kernel") for name in shapes)
    drawn: Weights = {}
    bound_of_layer = 0.0
    for name, shape in shapes.items():
        kind, part = name.removesuffix(FROZEN).split(".")[1:]
        if part in _CONSTANTS:
            values = np.full(shape, _CONSTANTS[part])
        elif initializer == "gpt-2" and part != "bias":
            values = random.normal(0, 0.02, shape)
            if kind == "residual_dense":
                values /= math.sqrt(added)
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
            bound_of_layer = 1 / math.sqrt(fan_in)
            glorot = math.sqrt(6 / (fan_in + fan_out))
            bound = bound_of_layer if initializer == "pytorch" else glorot
            values = random.uniform(-bound, bound, shape)
        drawn[name] = values.astype(np.float32)
    return drawn


def digest(weights: Weights) -> str:
    """Return the SHA-256 over names, shapes and float32 bytes, in order."""
    sha = hashlib.sha256()
    for name, values in weights.items():
        sha.update(f"{name}{values.shape}".encode())
        sha.update(np.ascontiguousarray(values, dtype=np.float32).tobytes())
    return sha.hexdigest()


def parameter_count(weights: Weights) -> int:
    """Return the number of trainable parameters."""
    return sum(values.size for name, values in weights.items() if trainable(name))


@dataclass(frozen=True)
class Pretrained:
    """Published weights in canonical layout, and the SHA-256 of the file they were published in."""

    path: Path
    sha256: str
    weights: Weights


def read(description: Path | None, data_folder: Path) -> Pretrained | None:
    """Read the published weights that `scripts/fetch.py --model` described; None if it found none.

    `description`: the JSON file it wrote, or None for a run that needs no published weights. `data_folder`:
    `data.folder` of the config. Raises `UserError` if a file is missing or damaged.
    """
    if description is None:
        return None
    try:
        described = json.loads(description.read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(f"--weights: {description} cannot be read: {error}") from None
    if described["file"] is None:
        return None
    path = data_folder / described["file"]
    try:
        with np.load(path, allow_pickle=False) as arrays:
            weights = dict(arrays)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise UserError(
            f"{path} is missing or damaged ({error}): delete the folder {path.parent} and "
            f"{description}, and run again"
        ) from None
    return Pretrained(path, described["sha256"], weights)


def starting(
    fresh: Weights, spec: Spec, pretrained: Pretrained | None
) -> tuple[Weights, Initializer]:
    """Return the initial weights of a run, and the name of the initializer that was used.

    `fresh`: those that the framework created, with which the initializer `model` starts. A norm whose fresh
    gamma is 0, as the last one of a residual block may be, starts at 0, as do rows of a padding index. Raises
    `UserError` if published weights have other names or shapes.
    """
    if spec.workload.initializer == MODEL:
        return {name: values.astype(np.float32) for name, values in fresh.items()}, MODEL
    shapes = {name: values.shape for name, values in fresh.items()}
    initializer = spec.workload.initializer
    if initializer != "imagenet" or pretrained is None:
        used: Initializer = "keras" if initializer == "imagenet" else initializer
        weights = draw(shapes, used, spec.seed)
        at_zero = [name for name in fresh if name.endswith(".gamma") and not fresh[name].any()]
        for name in (name for name in fresh if name.endswith(".embeddings")):
            filled = fresh[name].any(
                1
            )  # all rows but that of a padding index; none of the project's
            weights[name][~filled & filled.any()] = 0
        return weights | {name: np.zeros_like(weights[name]) for name in at_zero}, used
    published = {name: values.shape for name, values in pretrained.weights.items()}
    if published != shapes:
        odd = sorted(
            name for name in {*published, *shapes} if published.get(name) != shapes.get(name)
        )
        raise UserError(
            f"workloads.{spec.workload.name}.initializer: the weights in {pretrained.path} do "
            f"not fit the model: {odd[0]} is {published.get(odd[0], 'not there')}, the model has "
            f"{shapes.get(odd[0], 'no such array')}; correct `model` or choose another initializer"
        )
    return {name: pretrained.weights[name] for name in shapes}, initializer
