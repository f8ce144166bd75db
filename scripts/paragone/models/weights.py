"""Canonical weights, one layout for every framework, and the weights from which a run starts.

A model's weights are an ordered mapping from name to float32 array. Names are
"<layer index>.<layer kind>.<part>" in forward order; what belongs to no layer of a known kind is a free
parameter, "<its name> <number>.parameter.values". Layouts are those of Keras: convolution kernels
(height, width, in, out), dense kernels (in, out), features flattened in (height, width, channel) order.
Engines translate to and from their own layout; nothing else knows about layouts. With the initializer
`model` names and layouts are the framework's own. A name ends with `FROZEN` for a parameter that is not
trained, and with `BUFFER` for an array of a framework's own name that is no parameter.
"""

import hashlib
import json
import math
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from paragone.base.errors import UserError
from paragone.config.run_spec import MODEL, Initializer, Options, Spec
from paragone.data.random_streams import generator

Weights = dict[str, np.ndarray]
Shapes = dict[str, tuple[int, ...]]

FROZEN, BUFFER = " (frozen)", " (buffer)"
_CONSTANTS = {"gamma": 1.0, "beta": 0.0, "moving_mean": 0.0, "moving_variance": 1.0}
PARAMETER = ".parameter.values"
GATES = {"lstm": 4, "gru": 3, "rnn": 1}  # blocks along the last axis of the arrays of a layer

View = Callable[[np.ndarray], np.ndarray]


def as_it_is(array: np.ndarray) -> np.ndarray:
    """Return the array: its layout is the canonical one."""
    return array


@dataclass(frozen=True)
class Layout:
    """How an array of a framework becomes canonical.

    `path`: the framework's name of its layer, or of the array if it is a free parameter. `native_shape`: of
    the framework's array. `view`: returns a view of what is canonical in it. `gates`: the order of the blocks
    along the last axis, which is its own inverse, if the canonical one differs.
    """

    path: str
    native_shape: tuple[int, ...]
    view: View = as_it_is
    gates: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the canonical array."""
        return self.view(np.empty(self.native_shape, bool)).shape

    def canonical(self, array: Any) -> np.ndarray:
        """Return a copy of the framework's array in canonical layout."""
        return np.array(self.ordered(self.view(np.asarray(array))), order="C")

    def ordered(self, array: np.ndarray) -> np.ndarray:
        """Return an array whose blocks are in canonical order with those in the framework's, or back."""
        blocks = np.split(array, len(self.gates), -1) if self.gates else []
        return np.concatenate([blocks[gate] for gate in self.gates], -1) if blocks else array


Entry = tuple[str, Any, Layout]  # name, the framework's array, its layout
Entries = Iterable[Entry]


class Layer(NamedTuple):
    """A layer of a known kind: by part its array, or None, and the view of it; the rest is as in `Layout`."""

    path: str
    kind: str
    parts: dict[str, tuple[Any, View]]
    gates: tuple[int, ...] = ()


def canonical_arrays(
    layers: Iterable[Layer], native: Entries, pairs: dict[str, str]
) -> Iterator[Entry]:
    """Yield each weight by its canonical name: those of layers of known kinds by order, others by name.

    `layers`: in forward order; an array that several share is that of the first. `native`: all arrays by the
    framework's own names. `pairs`: what a layer or a free parameter is called in every framework, by own
    name; those that there are are removed.
    """
    left = {id(array): (name, array, layout) for name, array, layout in native}
    owners: dict[int, str] = {}
    numbers, alike = count(), Counter[str]()
    by_name: list[Entry] = []
    for path, kind, parts, gates in layers:
        there = {
            part: pair
            for part, pair in parts.items()
            if id(pair[0]) in left and owners.setdefault(id(pair[0]), path) == path
        }
        if not there:
            continue
        identity = pairs.pop(path, None)
        before = f"{next(numbers) if identity is None else identity}.{kind}"
        for part, (array, view) in there.items():
            name, _, layout = left[id(array)]
            layout = Layout(path, layout.native_shape, view, gates)
            entry = f"{before}.{part}{_frozen(part, name)}", array, layout
            if identity is None:
                yield entry
            else:
                by_name.append(entry)
    for key, (name, array, layout) in left.items():
        if key not in owners and not name.endswith(BUFFER):
            last = re.split(r"[./]", bare(name))[-1].split(" ")[0]
            identity = pairs.pop(bare(name), None)
            if identity is None:
                alike[last] += 1
                identity = f"{last} {alike[last]}"
            by_name.append((f"{identity}{PARAMETER}{_frozen('', name)}", array, layout))
    yield from sorted(by_name, key=lambda entry: entry[0].rsplit(".", 2)[0])


def _frozen(part: str, native: str) -> str:
    return FROZEN * (native != bare(native) and not part.startswith("moving_"))


def bare(name: str) -> str:
    """Return the framework's own name of an array."""
    return name.removesuffix(FROZEN).removesuffix(BUFFER)


def native_arrays(entries: Entries, weights: Weights) -> Iterable[tuple[Any, np.ndarray]]:
    """Return each array of a framework, and its values in canonical weights, in its own layout."""
    values: dict[int, tuple[Any, np.ndarray]] = {}
    for name, array, layout in entries:
        empty = np.empty(layout.native_shape, weights[name].dtype)
        _, native = values.setdefault(id(array), (array, empty))
        layout.view(native)[...] = layout.ordered(weights[name])  # some arrays have several parts
    return values.values()


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
    Recurrent layers: `pytorch`, all uniform within 1/sqrt(units); `keras`, orthogonal recurrent kernels, and
    the forget gate of an LSTM starts with a bias of 1. Free parameters: normal with deviation 0.02.
    """
    random = generator("weights", seed)
    as_pytorch = initializer in ("pytorch", "xavier")
    added = sum(name.endswith(".residual_dense.kernel") for name in shapes)
    drawn: Weights = {}
    bound_of_layer = 0.0
    for name, shape in shapes.items():
        kind, part = name.removesuffix(FROZEN).rsplit(".", 2)[1:]
        gates = GATES.get(kind, 1)
        if part in _CONSTANTS:
            values = np.full(shape, _CONSTANTS[part])
        elif kind == "parameter":
            values = random.normal(0, 0.02, shape)
        elif initializer == "gpt-2" and not part.endswith("bias"):
            values = random.normal(0, 0.02, shape)
            if kind == "residual_dense":
                values /= math.sqrt(added)
        elif kind == "embedding" and as_pytorch:
            values = random.standard_normal(shape)
        elif kind == "embedding":
            values = random.uniform(-0.05, 0.05, shape)
        elif part.endswith("bias") and not as_pytorch:
            values = np.zeros(shape)
            if kind == "lstm":
                values[shape[0] // gates : shape[0] // gates * 2] = initializer != "gpt-2"
        elif part.endswith("bias"):
            values = random.uniform(-bound_of_layer, bound_of_layer, shape)
        elif part == "recurrent_kernel" and not as_pytorch:
            values = _orthogonal(random, shape)
        else:
            receptive = math.prod(shape[:-2])
            fan_in, fan_out = receptive * shape[-2], receptive * shape[-1]
            if kind.startswith("depthwise"):  # each output sees one input channel
                fan_in = receptive
            bound_of_layer = 1 / math.sqrt(shape[-1] / gates if kind in GATES else fan_in)
            glorot = math.sqrt(6 / (fan_in + fan_out))
            bound = bound_of_layer if initializer == "pytorch" else glorot
            values = random.uniform(-bound, bound, shape)
        drawn[name] = values.astype(np.float32)
    return drawn


def _orthogonal(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return a matrix of orthonormal rows, of no more rows than columns (Saxe et al., arXiv:1312.6120)."""
    columns, triangle = np.linalg.qr(random.standard_normal(shape[::-1]))
    return (columns * np.sign(np.diag(triangle))).T


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
    gamma is 0, as the last one of a residual block may be, starts at 0, as do rows of a padding index. A free
    parameter of one value keeps it. Raises `UserError` if published weights have other names or shapes.
    """
    if spec.workload.initializer == MODEL:
        return {name: values.astype(np.float32) for name, values in fresh.items()}, MODEL
    shapes = {name: values.shape for name, values in fresh.items()}
    initializer = spec.workload.initializer
    if initializer != "imagenet" or pretrained is None:
        used: Initializer = "keras" if initializer == "imagenet" else initializer
        weights = draw(shapes, used, spec.seed)
        kept = {
            name: values
            for name, values in fresh.items()
            if (name.endswith(".gamma") and not values.any())
            or (PARAMETER in name and values.size and (values == values.flat[0]).all())
        }
        for name in (name for name in fresh if name.endswith(".embeddings")):
            filled = fresh[name].any(1)  # all rows but a padding index; none of the project's
            weights[name][~filled & filled.any()] = 0
        return weights | {name: values.astype(np.float32) for name, values in kept.items()}, used
    published = {name: values.shape for name, values in pretrained.weights.items()}
    if published != shapes:
        names = {*published, *shapes}
        odd = min(name for name in names if published.get(name) != shapes.get(name))
        raise UserError(
            f"workloads.{spec.workload.name}.initializer: the weights in {pretrained.path} do "
            f"not fit the model: {odd} is {published.get(odd, 'not there')}, the model has "
            f"{shapes.get(odd, 'no such array')}; correct `model` or choose another initializer"
        )
    return {name: pretrained.weights[name] for name in shapes}, initializer
