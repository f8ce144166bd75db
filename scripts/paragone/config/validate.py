"""The config is checked before anything runs: unknown keys and impossible values are errors."""

import difflib
import json
import math
import re
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
from paragone.config.schema import FORMS, OPTIMIZERS, Config, DatasetBlock, Optimizer
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
        check(block, FORMS.get(block["form"], DatasetBlock), f"datasets.{name}")
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
        is_own_form = data.get("form") in FORMS or block["dataset"].startswith(f"{TFDS}/")
        where, task = f"workloads.{name}.task", names[name] or CLASSIFICATION.name
        for kind, key in (("regression", "targets"), ("multi-label", "indicators")):
            if is_own_form and (task == kind) != (key in data):
                holds = f"`{key}`" if key in data else f"no `{key}`"
                raise UserError(
                    f"{where}: data set {block['dataset']} has {holds}, and the task is {task}; correct one "
                    "of them"
                )
        if is_own_form and learned[name].get("ignored", False) != ("ignored" in data):
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
        other = [name for name in used if names.get(name) not in (None, CLASSIFICATION.name)]
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
            path = file.format(backend[key])
            if not (plugins.file_of(path) or (ROOT / path).is_file()):
                raise UserError(
                    f"backends.{name}.{key}: there is no {path} in scripts/paragone/, this checkout or "
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
    if fault := _fault(value, kind, path):
        raise UserError(fault)


def _check_yaml(value: Any, path: str) -> None:
    """Raise `UserError` for names that YAML reads as something else, for numbers that are not finite, and for
    halves of characters, such as "\\ud800"."""
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
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


def _fault(value: Any, kind: Any, path: str) -> str:
    """Return the decoder's path and reason, with a remedy, for a value not of a type; else nothing."""
    try:
        msgspec.convert(value, kind)
        return ""
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `")
    for key, index in re.findall(r"\.(\w+)|\[(\d+|\.{3})\]", place):
        if index == "...":  # the decoder does not name the entry of a mapping
            break
        step = int(index) if index else key
        value, kind, path = value[step], _type_below(kind, step), _join(path, step)
    mapping = next((option for option in _options(kind) if get_origin(option) is dict), None)
    for name in value if isinstance(value, dict) and mapping else ():
        of_names, of_values = get_args(mapping)
        if fault := _fault(name, of_names, f"{path}, the name {name!r}"):
            return fault
        if fault := _fault(value[name], of_values, _join(path, name)):
            return fault
    return f"{path or 'config'}: {_sentence(reason, value, kind)}"


def _options(kind: Any) -> list[Any]:
    """Return the types of a union, or the one type, without bounds."""
    if get_origin(kind) is Annotated:
        return _options(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return [member for option in get_args(kind) for member in _options(option)]
    return [kind]


def _type_below(kind: Any, key: str | int) -> Any:
    """Return the type of what a key of a block, or a place in a list, leads to."""
    for option in _options(kind):
        if isinstance(key, int) and get_origin(option) in (list, tuple):
            return get_args(option)[0]
        if isinstance(option, type) and issubclass(option, msgspec.Struct):
            return get_type_hints(option, include_extras=True)[str(key)]
    raise KeyError(key)


def _sentence(reason: str, value: Any, kind: Any) -> str:
    """Return the decoder's reason in words for people: what is wrong, and what would be right."""
    options = _options(kind)
    key = reason.rpartition(" field `")[2].rstrip("`")
    if reason.startswith("Object contains unknown"):
        fields = next(
            choice for choice in options if hasattr(choice, "__struct_fields__")
        ).__struct_fields__
        close = difflib.get_close_matches(key, fields, 1)
        meant = f"; did you mean {close[0]!r}?" if close else ""
        return f"{key!r} was unexpected{meant}; known keys are {', '.join(fields)}"
    if reason.startswith("Object missing"):
        return f"{key!r} is missing; add it"
    if isinstance(value, dict) and reason[:1].islower():  # of `__post_init__`
        return reason
    if value is None:
        return "has no value; write one, or leave the key out"
    if isinstance(value, str) and {int, float} & {*options} and (remedy := _number_in(value)):
        return remedy
    allowed = [
        choice for option in options if get_origin(option) is Literal for choice in get_args(option)
    ]
    if allowed and not isinstance(value, list | dict):
        return f"{_shown(value)} is not one of {', '.join(map(json.dumps, allowed))}"
    if str in options and not isinstance(value, list | dict | str):
        return f"YAML reads {_shown(value)}, which is no text; write it in quotes"
    if float in options and type(value) is int:  # of an integer the bound is another
        reason = _fault(float(value), kind, "").partition(": expected ")[2].rpartition("; ")[0]
        return f"{_shown(value)}: expected {reason.replace('.0', '')}; correct it"
    plainly = re.sub(r"`([a-z| ]+)`", lambda match: _plainly(match[1]), reason)
    return f"{_shown(value)}: {plainly[:1].lower()}{plainly[1:]}; correct it"


def _plainly(kinds: str) -> str:
    """Return the decoder's names of types in words: `int | float` is a number."""
    names = kinds.replace("int | float", "float").split(" | ")
    return " or ".join(_PLAINLY.get(name, name) for name in names)


def _number_in(text: str) -> str:
    """Return what to write in the place of a text that was meant as a number; nothing if it was not."""
    try:
        number = float(text)
    except ValueError:
        return ""
    if not math.isfinite(number):
        return f"{_shown(text)} is not a finite number; write one that is"
    if isinstance(yaml.safe_load(text), int | float):
        return (
            f"{_shown(text)} is text, not a number; write it without quotes, or, as a block of --config "
            "holds nothing but texts, in a file for --configfile"
        )
    written = repr(number)
    if "." not in written:
        written = written.replace("e", ".0e")  # else it is text again
    return f"YAML reads {_shown(text)} as text; write the number {written}"


def _shown(value: Any) -> str:
    """A value as YAML or JSON has it, shortened."""
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _join(path: str, key: str | int) -> str:
    return f"{path}.{key}" if path else str(key)
