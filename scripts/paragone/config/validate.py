"""The config is checked before anything runs: unknown keys and impossible values are errors."""

import difflib
import json
import math
import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import yaml

from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.config.datasets import TFDS, block_of, form_module
from paragone.config.engines import check_backend
from paragone.config.expand import BATCH_SIZES, known_name
from paragone.config.schema import FORMS, OPTIMIZERS, Config, Dataset, Optimizer
from paragone.tasks import CLASSIFICATION

ROOT = Path(__file__).parents[3]


# What msgspec calls the types of YAML's values.
_PLAINLY = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}


def validate(config: dict[str, Any]) -> None:
    """Raise `UserError` that names the key, what is wrong and what would be right."""
    check(config, Config)
    check_blocks(config)
    known_name(config["experiments"], config["primary"]["experiment"], "primary.experiment")
    known_name(config["backends"], config["baseline"], "baseline")
    # What is drawn from records alone was trained elsewhere, maybe with plugins of there.
    if not config["records_only"]:
        _check_datasets(config)
        _check_backends(config["backends"])


def check_blocks(config: dict[str, Any]) -> None:
    """Check what the types of datasets, workloads and experiments leave open, as `validate` does."""
    for name, block in config["datasets"].items():
        check(block, FORMS.get(block["form"], Dataset), f"datasets.{name}")
    for name, block in config["workloads"].items():
        optimizer = block["optimizer"]
        kind = OPTIMIZERS.get(optimizer["name"], Optimizer)
        check(optimizer, kind, f"workloads.{name}.optimizer")
        model = block["model"]["name"], block["model"].get("outputs")
        if block["initializer"] == "imagenet" and model != ("mobilenet-v2", 1000):
            raise UserError(
                f"workloads.{name}.model: the weights of ImageNet are those of mobilenet-v2 with 1000 "
                "outputs; write both"
            )
    _check_tasks(config)
    _check_batch_sizes(config)


def _check_tasks(config: dict[str, Any]) -> None:
    """Raise `UserError` for data sets, losses, figures and tables that do not belong to a task."""
    learned = {name: block.get("task", {}) for name, block in config["workloads"].items()}
    names = {name: task.get("name") for name, task in learned.items()}
    for name, block in config["workloads"].items():
        data = config["datasets"].get(block["dataset"], {})
        known = data.get("form") in FORMS or block["dataset"].startswith(f"{TFDS}/")
        where, task = f"workloads.{name}.task", names[name] or CLASSIFICATION.name
        for kind, key in (("regression", "targets"), ("multi-label", "indicators")):
            if known and (task == kind) != (key in data):
                holds = f"`{key}`" if key in data else f"no `{key}`"
                raise UserError(
                    f"{where}: data set {block['dataset']} has {holds}, and the task is {task}; correct one "
                    "of them"
                )
        if known and learned[name].get("ignored", False) != ("ignored" in data):
            holds = "names" if "ignored" in data else "does not name"
            raise UserError(
                f"{where}.ignored: data set {block['dataset']} {holds} an ignored label; correct one of them"
            )
        weights, classes = learned[name].get("class_weights"), data.get("classes")
        if weights and classes and len(weights) != len(classes):
            raise UserError(
                f"{where}.class_weights: there are {len(weights)}, and data set {block['dataset']} has "
                f"{len(classes)} classes; write one for each"
            )
        if names[name] not in (None, CLASSIFICATION.name) and "loss" in block:
            raise UserError(f"workloads.{name}.loss: is of classification alone; leave it out")
    for name, block in config["experiments"].items():
        used = {
            block["workload"],
            *(row.get("workload", block["workload"]) for row in block["matrix"]),
        }
        other = [each for each in used if names.get(each) not in (None, CLASSIFICATION.name)]
        if other and "predictions" in block["figures"]:
            raise UserError(
                f"experiments.{name}.figures: predictions shows classes, and workload {other[0]} is "
                f"{names[other[0]]}; leave it out"
            )


def _check_batch_sizes(config: dict[str, Any]) -> None:
    for name, workload in config["workloads"].items():
        if not any(key in workload for key in BATCH_SIZES):
            raise UserError(f"workloads.{name}: has no batch size; add {' or '.join(BATCH_SIZES)}")
    blocks = {f"workloads.{name}": block for name, block in config["workloads"].items()}
    for name, block in config["experiments"].items():
        blocks[f"experiments.{name}"] = block
        blocks |= {
            f"experiments.{name}.matrix[{at}]": row for at, row in enumerate(block["matrix"])
        }
    for where, block in blocks.items():
        if all(key in block for key in BATCH_SIZES):
            raise UserError(f"{where}: has both {' and '.join(BATCH_SIZES)}; leave one of them out")


def _check_backends(backends: dict[str, Any]) -> None:
    for name, backend in backends.items():
        for key, file in (("engine", "engines/{}.py"), ("environment", "envs/{}.yaml")):
            wanted = file.format(backend[key])
            if not (plugins.file_of(wanted) or (ROOT / wanted).is_file()):
                raise UserError(
                    f"backends.{name}.{key}: there is no {wanted} in scripts/paragone/, this checkout or "
                    "a plugin; add it or name one that is there"
                )
        check_backend(name, backend)


def _check_datasets(config: dict[str, Any]) -> None:
    for name, block in config["datasets"].items():
        try:
            form_module(block["form"])
        except UserError as error:
            raise UserError(f"datasets.{name}.form: {error}") from None
    for name, workload in config["workloads"].items():
        block_of(config, workload["dataset"], f"workloads.{name}.dataset")


def check(value: Any, kind: Any, path: str = "") -> None:
    """Raise `UserError` with key, fault and remedy for a value that is not of a type of `schema`.

    path: the key of the value; empty for the whole config.
    """
    _check_yaml(value, path)
    if _misfit(value, kind):
        raise UserError(_fault(value, kind, path))


def _check_yaml(value: Any, path: str) -> None:
    """Raise `UserError` for names that YAML reads as something else, for numbers that are not finite, and for
    halves of characters, such as "\\ud800"."""
    if isinstance(value, str) and any("\ud800" <= each <= "\udfff" for each in value):
        raise UserError(f"{path}: {_shown(value)} has half of a character; write the whole one")
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{path}: {value} is not a finite number; write one that is")
    entries = value.items() if isinstance(value, dict) else ()
    for key, inner in entries:
        if not isinstance(key, str):
            raise UserError(
                f"{path or 'config'}: YAML reads the name of a key as {_shown(key)}, which is no text; "
                "write it in quotes"
            )
        _check_yaml(key, path or "config")
        _check_yaml(inner, _join(path, key))
    for place, inner in enumerate(value if isinstance(value, list) else ()):
        _check_yaml(inner, _join(path, place))


def _misfit(value: Any, kind: Any) -> str:
    """What msgspec says of a value that is not of a type; nothing of one that is."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def _plain(kind: Any) -> Any:
    """A type without its bounds."""
    while get_origin(kind) is Annotated:
        kind, *_ = get_args(kind)
    return kind


def _fault(value: Any, kind: Any, path: str) -> str:
    """The message for a value that does not fit: that of the innermost key which is wrong."""
    where, plain = path or "config", _plain(kind)
    options = {getattr(option, "__origin__", option) for option in get_args(plain)}
    if options - {type(None)} == {int, float}:  # messages speak of a number
        kind, plain = get_args(plain)[1], float
    if get_origin(plain) in (Union, types.UnionType):
        return _fault_of_union(value, kind, get_args(plain), path)
    if isinstance(value, dict) and isinstance(plain, type) and issubclass(plain, msgspec.Struct):
        fields = {field.name: field for field in msgspec.structs.fields(plain)}
        if plain.__struct_config__.forbid_unknown_fields:
            for key in value.keys() - fields.keys():
                close = difflib.get_close_matches(key, fields, 1)
                meant = f"; did you mean {close[0]!r}?" if close else ""
                return f"{where}: {key!r} was unexpected{meant}; known keys are {', '.join(fields)}"
        for name, field in fields.items():
            if field.required and name not in value:
                return f"{where}: {name!r} is missing; add it"
        hints = get_type_hints(plain, include_extras=True)
        inner: list[tuple[str | int, Any, Any]]
        inner = [(key, value[key], hints[key]) for key in fields if key in value]
    elif isinstance(value, dict) and get_origin(plain) is dict:
        of_names, of_values = get_args(plain)
        for key in value:
            if _misfit(key, of_names):
                return _fault(key, of_names, f"{path}, the name {key!r}")
        inner = [(key, entry, of_values) for key, entry in value.items()]
    elif isinstance(value, list) and get_origin(plain) in (list, tuple):
        inner = [(place, entry, get_args(plain)[0]) for place, entry in enumerate(value)]
    else:
        inner = []
    for key, entry, of_entry in inner:
        if _misfit(entry, of_entry):
            return _fault(entry, of_entry, _join(path, key))
    return f"{where}: {_said(value, kind, plain)}"


def _fault_of_union(value: Any, kind: Any, kinds: tuple[Any, ...], path: str) -> str:
    """The message for a value that is of none of several types: of the list or block, if it is one."""
    for option in kinds:
        container = get_origin(_plain(option)) or _plain(option)
        same = isinstance(value, list) and container in (list, tuple)
        if same or (
            isinstance(value, dict) and container not in (list, tuple, Literal, str, int, bool)
        ):
            return _fault(value, option, path)
    numbers = [option for option in kinds if float in (option, *get_args(option)[:1])]
    if numbers and not isinstance(value, list | dict):
        return f"{path}: {_said(value, numbers[0], float)}"
    scalars = [option for option in kinds if get_origin(option) is Literal]
    if scalars and not isinstance(value, list | dict):
        return _fault(value, scalars[0], path)
    return f"{path}: {_said(value, kind, kind)}"


def _said(value: Any, kind: Any, plain: Any) -> str:
    """What is wrong with a value by itself, and what would be right."""
    if get_origin(plain) is Literal:
        allowed = ", ".join(json.dumps(option) for option in get_args(plain))
        return f"{_shown(value)} is not one of {allowed}"
    words, _, _ = _misfit(value, kind).partition(" - at `")
    if plain in (int, float) and isinstance(value, str):
        try:
            if isinstance(yaml.safe_load(value), int | float):
                return (
                    f"{_shown(value)} is text, not {_PLAINLY[plain.__name__]}; write it without quotes, or, "
                    "as a block of --config holds nothing but texts, in a file for --configfile"
                )
            number = repr(float(value))
            if not math.isfinite(float(value)):
                return f"{_shown(value)} is not a finite number; write one that is"
            if "." not in number:
                number = number.replace("e", ".0e")  # else it is text again
            return f"YAML reads {_shown(value)} as text; write the number {number}"
        except (ValueError, yaml.YAMLError):
            pass
    if value is None:
        return "has no value; write one, or leave the key out"
    if plain is str and not isinstance(value, str | list | dict):
        return f"YAML reads {_shown(value)}, which is no text; write it in quotes"
    if isinstance(value, dict) and words[:1].islower():  # of `__post_init__`
        return words
    for name, plainly in _PLAINLY.items():
        words = words.replace(f"`{name}`", plainly)
    return f"{_shown(value)}: {words[:1].lower()}{words[1:]}; correct it"


def _shown(value: Any) -> str:
    """A value as YAML or JSON has it, shortened."""
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _join(path: str, key: str | int) -> str:
    return f"{path}.{key}" if path else str(key)
