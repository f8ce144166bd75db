"""Initial weights in a file: its arrays in the place of a model's own, by the framework's own names."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from paragone.base.atomic_files import sha256
from paragone.base.errors import UserError, first_sentence
from paragone.config.run_spec import Start
from paragone.data.forms import BYTES, kind_of
from paragone.models.weights import Weights, bare

# What programs put around a state dict, and wrappers of a model before its names.
WRAPPINGS = ("state_dict", "model_state_dict", "model", "module", "net", "params")
PREFIXES = ("module.", "_orig_mod.", "model.")


def checked(start: Start) -> Path:
    """Return the file. Raises `UserError` if its content is not that of the specification."""
    path = Path(start.file)
    if not path.is_file() or sha256(path) != start.sha256:
        raise UserError(
            f"{path}: its content has changed, or is not that of `start.sha256`; run again"
        )
    return path


def damaged(path: Path, error: Exception) -> UserError:
    """Return the error for a file that a library cannot read."""
    with path.open("rb") as file:
        begin = file.read(BYTES)
    if not begin.startswith(b"PK") and (kind := kind_of(begin)):  # a state dict is a zip file
        return UserError(f"{path}: is {kind}")
    reason = f"{type(error).__name__}: {first_sentence(error)}"
    return UserError(f"{path}: is damaged, or no file of weights: {reason}; save it again")


def unwrapped(content: Any, path: Path, names: Collection[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the arrays in what a file holds by a model's names, and notices on what was around them.

    Raises `UserError` if it has none of these names.
    """
    around, notices = content if isinstance(content, dict) else {}, []
    wrapping = next((key for key in WRAPPINGS if _arrays(around.get(key))), None)
    if wrapping:
        notices.append(f"{path}: the arrays in {wrapping!r} are read, and nothing beside them")
    arrays = _arrays(around[wrapping] if wrapping else around)
    for prefix in PREFIXES * 2:
        if not arrays.keys() & {*names} and any(name.startswith(prefix) for name in arrays):
            arrays = {name.removeprefix(prefix): values for name, values in arrays.items()}
            notices.append(f"{path}: {prefix!r} at the beginning of its names is left out")
    if not arrays.keys() & {*names}:
        raise UserError(
            f"{path}: has none of the model's {len(names)} arrays, of which {min(names)} is one; its own are "
            f"{', '.join(sorted(arrays)[:3]) or 'none'}; save the state of this model, or rename them"
        )
    return arrays, notices


def _arrays(content: Any) -> dict[str, Any]:
    pairs = content.items() if isinstance(content, dict) else ()
    return {str(name): value for name, value in pairs if hasattr(value, "shape")}


def placed(fresh: Weights, arrays: Weights, path: Path) -> tuple[Weights, list[str]]:
    """Return a model's weights, `fresh`, with the arrays of a file in their place, and notices on the others.

    Raises `UserError` for shapes that differ, and for whole numbers.
    """
    names = {bare(name): name for name in fresh}
    common = [name for name in names if name in arrays]
    for name in common:
        here, there = fresh[names[name]], arrays[name]
        if here.shape != there.shape or there.dtype.kind not in "fV":  # bfloat16 is V
            raise UserError(
                f"{path}: {name} has shape {there.shape} of {there.dtype}, and the model's has {here.shape} "
                "of floats; correct the model, or leave it out of the file, so that it is the model's own"
            )
    lacking, beside = names.keys() - arrays.keys(), arrays.keys() - names.keys()
    notices = [
        f"{path}: {len(rest)} of {whose} arrays are not in the {where}, {min(rest)} is one"
        for rest, whose, where in (
            (lacking, f"the model's {len(names)}", "file and keep their own values"),
            (beside, f"its {len(arrays)}", "model and are left out"),
        )
        if rest
    ]
    return fresh | {names[name]: arrays[name].astype(np.float32) for name in common}, notices
