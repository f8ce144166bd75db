"""Initial weights in a file: its arrays in the place of a model's own, by the framework's own names."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from paragone.base.atomic_files import sha256
from paragone.base.errors import UserError, first_sentence
from paragone.config.run_spec import Start
from paragone.models.weights import BUFFER, FROZEN, Weights

# What programs put around a state dict, and wrappers of a model before its names.
WRAPPINGS = ("state_dict", "model_state_dict", "model", "module", "net", "params")
PREFIXES = ("module.", "_orig_mod.", "model.")


def checked(start: Start) -> Path:
    """Return the file. Raises `UserError` if its content is not that of the specification."""
    path = Path(start.file)
    if not path.is_file() or sha256(path) != start.sha256:
        raise UserError(f"{path}: has changed since this call began, or is gone; run again")
    return path


def damaged(path: Path, error: Exception) -> UserError:
    """Return the error for a file that a library cannot read."""
    reason = f"{type(error).__name__}: {first_sentence(error)}"
    return UserError(f"{path}: is damaged, or no file of weights: {reason}; save it again")


def read_safetensors(path: Path) -> Weights:
    """Return the arrays of a file of safetensors. Raises `UserError` for another, or a damaged one."""
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except Exception as error:  # the library has its own, and passes on those of NumPy
        raise damaged(path, error) from None


def unwrapped(content: Any, path: Path, names: Collection[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the arrays in what a file holds by a model's names, and notices on what was around them.

    Raises `UserError` if there is no array, or none of these names.
    """
    notices = []
    if isinstance(content, dict):
        wrapping = next((key for key in WRAPPINGS if _arrays(content.get(key))), None)
        if wrapping:
            content = content[wrapping]
            notices.append(f"{path}: the arrays in {wrapping!r} are read, and nothing beside them")
    arrays = _arrays(content)
    for prefix in PREFIXES * 2:
        if not arrays.keys() & {*names} and any(name.startswith(prefix) for name in arrays):
            arrays = {name.removeprefix(prefix): values for name, values in arrays.items()}
            notices.append(f"{path}: {prefix!r} at the beginning of its names is left out")
    if not arrays.keys() & {*names}:
        has = f"{min(arrays)}, say" if arrays else f"a {type(content).__name__} without any"
        raise UserError(
            f"{path}: has none of the model's arrays, which are {min(names)} and {len(names) - 1} more, but "
            f"{has}; save the state of this model, or rename its arrays"
        )
    return arrays, notices


def _arrays(content: Any) -> dict[str, Any]:
    pairs = content.items() if isinstance(content, dict) else ()
    return {str(name): value for name, value in pairs if hasattr(value, "shape")}


def bare(name: str) -> str:
    """Return the framework's own name of an array."""
    return name.removesuffix(FROZEN).removesuffix(BUFFER)


def placed(fresh: Weights, arrays: Weights, path: Path) -> tuple[Weights, list[str]]:
    """Return a model's weights with the arrays of a file in their place, and notices on the others.

    `fresh`: those of the framework. Raises `UserError` for shapes that differ, and for whole numbers.
    """
    names = {bare(name): name for name in fresh}
    common = [name for name in names if name in arrays]
    for name in common:
        here, there = fresh[names[name]], arrays[name]
        if here.shape != there.shape or there.dtype.kind not in "fV":  # bfloat16 is V
            raise UserError(
                f"{path}: {name} has shape {there.shape} of {there.dtype}, and the model's has {here.shape} "
                f"of {here.dtype}; correct the model, or leave the array out of the file, so that it has the "
                "model's own values"
            )
    missing, unexpected = names.keys() - {*common}, arrays.keys() - {*common}
    notices = []
    if missing:
        notices.append(
            f"{path}: {len(missing)} of the model's {len(names)} arrays are not in the file and have the "
            f"model's own values, {min(missing)} is one"
        )
    if unexpected:
        notices.append(
            f"{path}: {len(unexpected)} of its {len(arrays)} arrays are not the model's and are left out, "
            f"{min(unexpected)} is one"
        )
    return fresh | {names[name]: arrays[name].astype(np.float32) for name in common}, notices
