"""Blocks of a config as the types of `schema`; a fault is one sentence with key, reason and remedy."""

import json
import math
import os
import re
import types
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from paragone.base.errors import UserError, meant

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
# The keys of a config, and of paper.yaml, that are paths: `*` is any key, or a place in a list.
_PATHS = (
    *("pathvars.*", "data.folder", "data.mirrors.*", "plugins.*", "papers.*", "bundles.*"),
    *("datasets.*.path", "datasets.*.path.*", "workloads.*.start.file"),
    "backends.*.environment",
)


def content_of(file: Path, value: Any, kind: Any) -> Any:
    """Return what a file contains as a `kind`. Raises `UserError` with file, key, fault and remedy."""
    try:
        return decoded(value, kind)
    except UserError as error:
        raise UserError(f"{file}: {str(error).removeprefix('config: ')}") from None


def decoded(value: Any, kind: Any, path: str = "") -> Any:
    """Return the value as a `kind`. Raises `UserError` with key, fault and remedy where it is none.

    path: the key of the value; empty for the whole config.
    """
    _check_yaml(value, path)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise UserError(_fault(str(error), value, kind, path)) from None


def with_expanded_paths(value: Any, path: str = "") -> Any:
    """Return a config, or a paper.yaml, with each path as a shell reads it: `~`, `$NAME`, `${NAME}`.

    path: as `decoded` has it. Raises `UserError` for what is not set, and for what Snakemake would replace.
    """
    if isinstance(value, dict):
        return {key: with_expanded_paths(inner, _join(path, key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_expanded_paths(inner, _join(path, at)) for at, inner in enumerate(value)]
    is_path = isinstance(value, str) and any(fnmatchcase(path, keys) for keys in _PATHS)
    return _expanded(value, path) if is_path and "://" not in value else value


def _expanded(text: str, path: str) -> str:
    names = [name.strip("{}") for name in re.findall(r"\$(\w+|\{\w+\})", text)]
    unset = [name for name in names if not os.environ.get(name)]
    expanded = text if unset else os.path.expandvars(os.path.expanduser(text))
    if (unset or expanded.startswith("~")) and not os.path.lexists(text):
        fault = f"{unset[0]} is not set; set it, or" if unset else "there is no such home;"
        raise UserError(f"{path}: {_shown(text)}: {fault} write the whole path")
    if not path.startswith("data.") and re.search("[{}]|<[a-z0-9_]+>", expanded):
        raise UserError(
            f"{path}: {_shown(expanded)} has braces or <...>, which Snakemake replaces; rename it"
        )
    return expanded


def _check_yaml(value: Any, path: str) -> None:
    """Raise `UserError` for names that YAML reads as something else, for numbers that are not finite, and for
    halves of characters, such as "\\ud800"."""
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        raise UserError(f"{path}: {value!a} has half of a character; write the whole one")
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{path}: {value} is not a finite number; write one that is")
    for key, inner in value.items() if isinstance(value, dict) else ():
        if not isinstance(key, str):
            raise UserError(
                f"{path or 'config'}: YAML reads the name of a key as {_shown(key)}, which is no text; "
                "write it in quotes"
            )
        _check_yaml(key, path or "config")
        _check_yaml(inner, _join(path, key))
    for place, inner in enumerate(value if isinstance(value, list) else ()):
        _check_yaml(inner, _join(path, place))


def _fault(error: str, value: Any, kind: Any, path: str) -> str:
    reason, _, place = error.partition(" - at `")
    for key, index in re.findall(r"\.(\w+)|\[(\d+|\.{3})\]", place):
        if index == "...":  # the decoder does not name the entry of a mapping
            break
        step = int(index) if index else key
        value, kind, path = value[step], _type_below(kind, step), _join(path, step)
    mapping = next((option for option in _options(kind) if get_origin(option) is dict), None)
    for name in value if isinstance(value, dict) and mapping else ():
        of_names, of_values = get_args(mapping)
        decoded(name, of_names, path)
        decoded(value[name], of_values, _join(path, name))
    return f"{path or 'config'}: {_sentence(reason, value, kind)}"


def _options(kind: Any) -> list[Any]:
    """Return the types of a union, or the one type, without bounds."""
    if get_origin(kind) is Annotated:
        return _options(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return [member for option in get_args(kind) for member in _options(option)]
    return [kind]


def _type_below(kind: Any, key: str | int) -> Any:
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
        ).__struct_encode_fields__
        return f"{key!r} was unexpected{meant(key, fields)}; known keys are {', '.join(fields)}"
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
        return f"{_shown(value)} is not one of {', '.join(map(_shown, allowed))}"
    if str in options and not isinstance(value, list | dict | str):
        return f"YAML reads {_shown(value)}, which is no text; write it in quotes"
    described = [meta.description for meta in get_args(kind)[1:] if isinstance(meta, msgspec.Meta)]
    if isinstance(value, str) and any(described):
        return f"{_shown(value)} is no name; a name has {described[0]}"
    if float in options and type(value) is int:  # of an integer the bound is another
        try:
            msgspec.convert(float(value), kind)
        except msgspec.ValidationError as error:
            reason = str(error).replace(".0", "")
    plainly = re.sub(
        r"`([a-z| ]+)`",
        lambda match: " or ".join(_PLAINLY.get(name, name) for name in match[1].split(" | ")),
        reason.replace("int | float", "float"),  # in words: a number
    )
    return f"{_shown(value)}: {plainly[:1].lower()}{plainly[1:]}; correct it"


def _number_in(text: str) -> str:
    """Return what to write in the place of a text that was meant as a number; nothing if it was not."""
    try:
        number = float(text)
    except ValueError:
        return ""
    if not math.isfinite(number):
        return f"{_shown(text)} is not a finite number; write one that is"
    import yaml  # not at the top: environments of frameworks have no YAML

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
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _join(path: str, key: str | int) -> str:
    return f"{path}.{key}" if path else str(key)
