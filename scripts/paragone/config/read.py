"""Config files as people write them: YAML, UTF-8, no node that contains itself."""

import json
from pathlib import Path
from typing import Any

import yaml

from paragone.base.errors import UserError


def read(path: Path) -> dict[str, Any]:
    """The content of a config file. Raises `UserError` that names the file and what is wrong."""
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
        json.dumps(found, default=str)  # follows every alias
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: not UTF-8 (byte {error.start}); save the file with that encoding"
        ) from None
    except ValueError:
        raise UserError(
            f"{path}: an alias refers to a node that contains it; write the values out"
        ) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        problem = getattr(error, "problem", None) or "not YAML"
        raise UserError(f"{path}: {problem}{where}; correct it") from None
    if not isinstance(found, dict):
        raise UserError(f"{path}: not a mapping of keys to values; see config.yaml")
    return found


def fill(config: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Add to `config`, in place, what only `defaults` has, at every depth."""
    for key, value in defaults.items():
        if key not in config:
            config[key] = value
        elif isinstance(value, dict) and isinstance(config[key], dict):
            fill(config[key], value)
