"""Config files as people write them: YAML, UTF-8, no node that contains itself."""

import json
from pathlib import Path
from typing import Any

import yaml

from paragone.base.errors import UserError

INT, FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"


class _Loader(yaml.CSafeLoader):
    """YAML 1.1 as Snakemake reads it; what its writer has hardly meant is an error.

    It is libyaml's, since every call of Snakemake reads the config and all papers.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, Any]:
        """Refuse keys that are no texts, and keys that a mapping has twice."""
        names: set[str] = set()
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge":  # of an alias, whose keys are defaults
                continue
            if not isinstance(name := self.construct_object(key, deep=True), str):
                raise _fault(
                    key, f"the key {key.value or 'null'} is read as no text; write it in quotes"
                )
            if name in names:
                raise _fault(key, f"the key {name} is there twice; leave one of them")
            names.add(name)
        return super().construct_mapping(node, deep)

    def construct_number(self, node: yaml.ScalarNode) -> float:
        """Refuse what YAML 1.1 reads as sexagesimal or octal."""
        whole, digits = node.tag == INT, node.value.lstrip("+-")
        number = self.construct_yaml_int(node) if whole else self.construct_yaml_float(node)
        octal = whole and digits[0] == "0" and digits.isdecimal() and number
        if ":" in digits or octal:
            raise _fault(
                node, f"{node.value} is read as {number}; write that, or the text in quotes"
            )
        return number


for tag in (INT, FLOAT):
    _Loader.add_constructor(tag, _Loader.construct_number)


def _fault(node: yaml.Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def read(path: Path) -> dict[str, Any]:
    """The content of a config file. Raises `UserError` that names the file and what is wrong."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix == ".json":  # which may be indented by tabs
            text = json.dumps(json.loads(text))
        content = yaml.load(text, _Loader)  # of a subclass of the safe one
        json.dumps(content, default=str)  # follows every alias
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: not UTF-8 (byte {error.start}); save the file with that encoding"
        ) from None
    except json.JSONDecodeError as error:
        raise UserError(f"{path}: {error.msg} (line {error.lineno}); correct it") from None
    except ValueError:
        raise UserError(
            f"{path}: an alias refers to a node that contains it; write the values out"
        ) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        problem = getattr(error, "problem", None) or "not YAML"
        if mark and text[mark.index : mark.index + 1] == "\t":
            problem = "found a tab in the place of spaces"
        remedy = "" if ";" in problem else "; correct it"
        raise UserError(f"{path}{where}: {problem}{remedy}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: not a mapping of keys to values; see config.yaml")
    return content


def merged(block: Any, over: Any) -> Any:
    """`block` with what `over` says otherwise, at any depth; both stay as they are."""
    if not (isinstance(block, dict) and isinstance(over, dict)):
        return over
    return block | {key: merged(block.get(key), value) for key, value in over.items()}
