"""The weights that a run starts from: published ones where they are available, else random draws."""

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from paragone.base.errors import UserError
from paragone.config.run_spec import Spec
from paragone.models.canonical_weights import Shapes, Weights, draw

# The initializer in place of published weights that are not available.
FALLBACK = {"imagenet": "keras"}


@dataclass(frozen=True)
class Pretrained:
    """Published weights in canonical layout, and the SHA-256 of the file they were published in."""

    path: Path
    sha256: str
    weights: Weights


def read(description: Path | None, data_folder: Path) -> Pretrained | None:
    """The weights that `scripts/fetch.py --model` has described; None if it found none.

    description: its JSON file, None for a run that needs none; data_folder: `data.folder` of the
    config. Raises UserError when a file is missing or damaged.
    """
    if description is None:
        return None
    try:
        found = json.loads(description.read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(f"--weights: {description} cannot be read: {error}") from None
    if found["file"] is None:
        return None
    path = data_folder / found["file"]
    try:
        with np.load(path, allow_pickle=False) as arrays:
            weights = dict(arrays)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise UserError(
            f"{path} is missing or damaged ({error}): delete the folder {path.parent} and "
            f"{description}, and run again"
        ) from None
    return Pretrained(path, found["sha256"], weights)


def starting(fresh: Weights, spec: Spec, pretrained: Pretrained | None) -> tuple[Weights, str]:
    """`initial` for a model whose weights are as its framework made them.

    A norm that its function lets start at gamma 0, as the last one of a residual block may, does so.
    """
    shapes = {name: values.shape for name, values in fresh.items()}
    weights, used = initial(shapes, spec, pretrained)
    if used != "imagenet":
        at_zero = [name for name in fresh if name.endswith(".gamma") and not fresh[name].any()]
        weights |= {name: np.zeros_like(weights[name]) for name in at_zero}
    return weights, used


def initial(shapes: Shapes, spec: Spec, pretrained: Pretrained | None) -> tuple[Weights, str]:
    """The initial weights of a run, and the initializer that was really used.

    shapes: of the model's weights, by canonical name. Raises UserError when published weights do not
    fit them.
    """
    wanted = spec.workload["initializer"]
    if wanted not in FALLBACK or pretrained is None:
        used = FALLBACK.get(wanted, wanted)
        return draw(shapes, used, spec.seed), used
    found = {name: values.shape for name, values in pretrained.weights.items()}
    if found != shapes:
        odd = sorted(name for name in {*found, *shapes} if found.get(name) != shapes.get(name))
        raise UserError(
            f"workloads.{spec.workload['name']}.initializer: the weights in {pretrained.path} do "
            f"not fit the model: {odd[0]} is {found.get(odd[0], 'not there')}, the model has "
            f"{shapes.get(odd[0], 'no such array')}; correct `model` or choose another initializer"
        )
    return {name: pretrained.weights[name] for name in shapes}, wanted
