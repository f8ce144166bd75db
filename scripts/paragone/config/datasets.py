"""The data sets that workloads name: the block of each, and what of it a rule depends on.

Standard library only: the Snakefile imports this module at parse time.
"""

from pathlib import Path
from typing import Any

from paragone.base import plugins
from paragone.base.errors import UserError

TFDS = "tfds"  # the form that any builder of TensorFlow Datasets has; before a slash, a name without a block
SPLITS = ("train", "test")
# Keys of a block that do not shape the arrays made from it.
_BESIDE = ("editions", "address", "files", "path", "about", "stand_in")


def block_of(config: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    """The block of a data set; of `tfds/<builder>` one with all defaults.

    Raises `UserError` naming the key, `where`, for an unknown name.
    """
    if name in config["datasets"]:
        return config["datasets"][name]
    form, _, builder = name.partition("/")
    if form == TFDS and builder:
        return {"form": TFDS, "builder": builder}
    raise UserError(
        f"{where}: there is no data set {name!r}; known are {', '.join(config['datasets'])}, and "
        f"{TFDS}/<builder> for any builder of TensorFlow Datasets"
    )


def shaping(block: dict[str, Any]) -> dict[str, Any]:
    """What of a block the arrays depend on, beside the files."""
    return {key: value for key, value in block.items() if key not in _BESIDE}


def of_split(value: Any, split: str) -> Any:
    """What a key says of a split: it has one value for both, or one for each."""
    return value[split] if isinstance(value, dict) else value


def data_modules(block: dict[str, Any]) -> list[str]:
    """Dotted names of the modules that fetching and serializing a data set load by name."""
    builder = builder_module(block.get("builder", ""))
    return [form_module(block["form"]), *([builder] if builder else [])]


def form_module(form: str) -> str:
    """The dotted name of the module that reads a form, not imported; `UserError` if there is none."""
    if plugins.file_of(f"data/forms/{form}.py") is None:
        known = ", ".join(plugins.names_in("data/forms"))
        raise UserError(f"no module reads the form {form!r}; known are {known}")
    return f"paragone.data.forms.{form}"


def builder_module(builder: str) -> str | None:
    """The dotted name of the builder's module in this project or a plugin; None if there is none."""
    file = plugins.file_of(f"data/builders/{builder}.py")
    return f"paragone.data.builders.{builder}" if file else None


def data_paths(block: dict[str, Any]) -> list[str]:
    """The files and folders of the user that a data set is read from, as far as they are there."""
    named = {of_split(block["path"], split): None for split in SPLITS} if "path" in block else {}
    return [path for path in named if Path(path).exists()]
