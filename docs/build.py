"""Write the parts of docs/ that are made from the code: run it after changing what it reads.

python docs/build.py            writes
python docs/build.py --check    exit status 1, and the names of the pages that are out of date

docs/configuration.md           from config.yaml and the types of its keys
docs/rules.md                   from rules/schemas/compliance.csv
rules/schemas/record.schema.json from the types of records
docs/architecture.md            the rooms, from the imports and docstrings of scripts/paragone/
"""

import argparse
import ast
import csv
import inspect
import json
import re
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import msgspec
import yaml

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "scripts" / "paragone"
sys.path.insert(0, str(ROOT / "scripts"))

from paragone.config import (  # noqa: E402 - found through the line above
    dataset_keys,
    key_types,
    numbers,
    optimizer_keys,
    papers,
    run_spec,
    schedules,
    schema,
)
from paragone.records.run_record import RunRecord  # noqa: E402 - likewise
from paragone.reporting import tables  # noqa: E402 - found through the line above

SCHEMAS = ROOT / "rules" / "schemas"
MARKED = re.compile(r"<!-- (?P<what>\w+) -->\n.*?<!-- end -->", re.DOTALL)

INTRODUCTION = """\
# Configuration

*Written by `docs/build.py` from [`schema.py`](../scripts/paragone/config/schema.py) and the types that it
imports: change those, not this page.*

[`config.yaml`](../config.yaml) is the default. Change it, or put what differs into a file of its own:

```sh
snakemake all --cores 8 --configfile presets/smoke.yaml
```

An overlay replaces single keys at any depth; a list is replaced as a whole. Unknown keys and
impossible values are errors that name the key before anything runs. `<name>` is a name that
you choose, at most 64 characters, `[]` for each element of a list. Paths are relative to the working
directory; `~`, `$NAME` and `${NAME}` in them mean what they mean in a shell.
"""


def pages() -> dict[Path, str]:
    """Every page with made parts, as it should be."""
    of_record = json.dumps(msgspec.json.schema(RunRecord), indent=1)
    content = {
        ROOT / "docs/configuration.md": configuration(),
        ROOT / "docs/rules.md": rules(),
        SCHEMAS / "record.schema.json": f"{of_record}\n",
    }
    for path in (ROOT / "docs/architecture.md", ROOT / "docs/extending.md"):
        content[path] = MARKED.sub(_fill, path.read_text())
    return content


def _fill(match: re.Match) -> str:
    body = {"drawing": drawing, "purposes": purposes, "models": models}[match["what"]]()
    heading = match[0].partition("\n")[0]
    return f"{heading}\n{body}\n<!-- end -->"


def models() -> str:
    """The models of the project and of its papers, by the functions in PyTorch: a row for each."""
    rows = ["| model | options | what it is |", "| --- | --- | --- |"]
    for path in sorted([LIBRARY / "models/torch.py", *ROOT.glob("papers/*/models/torch.py")]):
        tree = ast.parse(path.read_text())
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        place = "" if path.is_relative_to(LIBRARY) else f", of `{path.parts[-3]}`"
        for table in ast.walk(tree):
            if isinstance(table, ast.Dict) and all(isinstance(v, ast.Name) for v in table.values):
                for key, value in zip(table.keys, table.values, strict=True):
                    rows.append(_model(ast.literal_eval(key), functions[value.id], place))
    return "\n".join(rows)


def _model(name: str, function: ast.FunctionDef, place: str) -> str:
    arguments = function.args.args
    defaults = [None] * (len(arguments) - len(function.args.defaults)) + function.args.defaults
    options = [
        f"`{argument.arg}: {ast.unparse(argument.annotation)}"
        f"{f' = {ast.unparse(default)}' if default else ''}`"
        for argument, default in zip(arguments, defaults, strict=True)
        if argument.arg not in ("shape", "classes", "vocabulary")
    ]
    purpose = ast.get_docstring(function).partition("\n")[0].removesuffix(".")
    return f"| `{name}`{place} | {', '.join(options).replace('|', chr(92) + '|')} | {purpose} |"


RULES = """\
# Measurement rules

*Written by `docs/build.py` from [`compliance.csv`](../rules/schemas/compliance.csv): change that, not
this page.*

A program checks every record by these rules before anything is drawn. The table
`results/tables/<experiment>/compliance.csv` lists every violation with file, rule and value. A record
that cannot be read, was changed after it was written, or is in the folder of another run is refused.

| severity | consequence |
| --- | --- |
| `invalid` | the run is labelled in figures and tables and excluded from every median |
| `no speed` | losses and accuracies count; seconds and throughput do not |
| `remark` | the values count; every figure and table that shows them has a footnote with the rule |

| rule | severity | what must hold | reason |
| --- | --- | --- | --- |
"""


def rules() -> str:
    """The page of the measurement rules: a row for each, with an anchor."""
    with (SCHEMAS / "compliance.csv").open(newline="") as file:
        return RULES + "".join(f"{_rule(row)}\n" for row in csv.DictReader(file))


def _rule(row: dict[str, str]) -> str:
    """One row of the page of rules."""
    rule = f'<a id="rule-{row["id"]}"></a>`{row["id"]}`'
    section, *origins = row["source"].split("; ")
    anchor = section.removeprefix("docs/")
    reason = "; ".join([f"[{anchor.partition('#')[2].replace('-', ' ')}]({anchor})", *origins])
    statement = row["says"].replace("`limit`", row["limit"])
    return f"| {rule} | {row['severity']} | {statement}. | {reason} |"


def rooms() -> dict[str, set[str]]:
    """Map each room of the library to the rooms that its modules import, the lowest room first."""
    folders = {path.parent for path in LIBRARY.glob("*/__init__.py")}
    imports = {folder.name: imported_rooms(folder) - {folder.name} for folder in folders}
    alphabetical = {room: sorted(imports[room]) for room in sorted(imports)}
    return {room: imports[room] for room in TopologicalSorter(alphabetical).static_order()}


def imported_rooms(folder: Path) -> set[str]:
    """Return the rooms that the modules in a folder import."""
    modules = []
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.ImportFrom(module="paragone"):
                    modules += [f"paragone.{alias.name}" for alias in node.names]
                case ast.ImportFrom(module=str(module)):
                    modules.append(module)
                case ast.Import():
                    modules += [alias.name for alias in node.names]
    return {name.split(".")[1] for name in modules if name.startswith("paragone.")}


def drawing() -> str:
    """Return the rooms as a Mermaid graph, without the imports that other arrows imply."""
    below: dict[str, set[str]] = {}
    lines = ["```mermaid", "flowchart TD"]
    for room, imports in rooms().items():
        deeper = set().union(*(below[name] for name in imports))
        below[room] = imports | deeper
        lines += [f"    {room} --> {name}" for name in sorted(imports - deeper)]
    return "\n".join([*lines, "```"])


def purpose(module: Path) -> str:
    """The first paragraph of a module's docstring."""
    text = ast.get_docstring(ast.parse(module.read_text())) or ""
    return _sentence(" ".join(text.split("\n\n")[0].split()))


def purposes() -> str:
    """The rooms with what each is for, highest first."""
    lines = ["| room | what it is for |", "| --- | --- |"]
    for room in reversed(rooms()):
        sentence = purpose(LIBRARY / room / "__init__.py")
        lines.append(f"| [`{room}`](../scripts/paragone/{room}) | {sentence} |")
    return "\n".join(lines)


def configuration() -> str:
    """The page that lists every key of the config."""
    values = yaml.safe_load((ROOT / "config.yaml").read_text())
    walk = Walk(described(schema.Config), values)
    text = [INTRODUCTION.rstrip()]
    single = []
    for name, node in walk.root["$defs"]["Config"]["properties"].items():
        if name == "datasets":
            text += _shared(name, dataset_keys.DatasetBlock)
            text += _kinds("datasets.<name>", "Form", dataset_keys.FORMS, dataset_keys.DatasetBlock)
            continue
        block = walk.resolved(node)
        every = block.get("additionalProperties")
        source = walk.resolved(every) if isinstance(every, dict) else block
        if block.get("type") != "object":
            single.append((name, block, True))
            continue
        text.append(f"\n## {name}\n\n{_sentence(source['description'])}\n\n{_HEADER}")
        text += [_row(*key) for key in walk.keys(name, block)]
        if name == "workloads":
            path, common = "workloads.<name>.optimizer", optimizer_keys.Common
            text += _kinds(path, "Optimizer", {"of the project": common}, optimizer_keys.Optimizer)
            text += _kinds(path, "Optimizer", optimizer_keys.OPTIMIZERS, common)
            path, shape = "workloads.<name>.learning_rate.schedule", schedules.Schedule
            text += _kinds(path, "Schedule", {"of the project": shape}, None)
    text.append(f"\n## Single keys\n\n{_HEADER}")
    text += [_row(name, block, required, values.get(name)) for name, block, required in single]
    text += [part for kind in ("figures", "tables") for part in _modules(kind)]
    return "\n".join([*text, *_of_papers()]) + "\n"


def _of_papers() -> list[str]:
    """The keys of a paper's file as a section of the page, but for those within blocks of a config."""
    walk = Walk(described(papers.Source), {})
    block = walk.root["$defs"]["Source"]
    keys = [(path.removeprefix("."), *more) for path, *more in walk.keys("", block)]
    keys = [
        key for key in keys if not key[0].startswith(tuple(f"{kind}." for kind in papers.KINDS))
    ]
    text = "What the file of [a paper](extending.md#a-paper) has; for blocks that a config has, see above."
    return [f"\n## paper.yaml\n\n{text}\n\n{_HEADER}", *(_row(*key) for key in keys)]


def described(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of a type of blocks, with the first line of each type's docstring and the meaning of
    its keys, `key: meaning` in the docstrings of the type and of those that it is derived from."""
    schema_of_kind = msgspec.json.schema(kind)
    modules = (
        run_spec,
        key_types,
        dataset_keys,
        optimizer_keys,
        schema,
        numbers,
        papers,
        schedules,
    )
    types = {name: value for module in modules for name, value in vars(module).items()}
    for name, block in schema_of_kind["$defs"].items():
        block["description"], _, _ = block["description"].partition("\n")
        texts = "\n".join(inspect.getdoc(parent) or "" for parent in types[name].__mro__[::-1])
        meanings = re.findall(r"^(\w+): (.*(?:\n +.+)*)", texts, re.MULTILINE)
        for key, meaning in meanings:
            if key in block["properties"]:
                block["properties"][key]["description"] = " ".join(meaning.split())
    return schema_of_kind


def _shared(name: str, kind: type[msgspec.Struct]) -> list[str]:
    """A section of the keys that blocks of a name have in every form."""
    walk = Walk(described(kind), {})
    block = walk.root["$defs"][kind.__name__]
    rows = [_row(*key) for key in walk.keys(f"{name}.<name>", block)]
    return [f"\n## {name}\n\n{_sentence(block['description'])}\n\n{_HEADER}", *rows]


def _kinds(
    path: str,
    title: str,
    kinds: dict[str, type[msgspec.Struct]],
    shared: type[msgspec.Struct] | None,
) -> list[str]:
    """A section for each kind of a block, with the keys that those of all kinds are not."""
    text = []
    shared_keys = described(shared)["$defs"][shared.__name__]["properties"] if shared else {}
    for name, kind in kinds.items():
        schema_of_kind = described(kind)
        block = schema_of_kind["$defs"][kind.__name__]
        special_keys = {
            key: node for key, node in block["properties"].items() if node != shared_keys.get(key)
        }
        text.append(f"\n### {title} `{name}`\n\n{_sentence(block['description'])}\n\n{_HEADER}")
        text += [
            _row(*key)
            for key in Walk(schema_of_kind, {}).keys(path, {**block, "properties": special_keys})
        ]
    return text


def _modules(kind: str) -> list[str]:
    """What `figures` or `tables` of an experiment may name, as a section of the page."""
    if kind == "tables":
        purposes = {
            name: (tables.load(name).__doc__ or "").splitlines()[0] for name in tables.TABLES
        }
    else:
        folder = "reporting/figures/[!_]*.py"
        files = [*LIBRARY.glob(folder), *ROOT.glob(f"papers/*/{folder}")]
        purposes = {file.stem: purpose(file) for file in files}
    rows = [f"| `{name}` | {text} |" for name, text in sorted(purposes.items())]
    return [f"\n## Names of {kind}\n", "| name | what it shows |", "| --- | --- |", *rows]


_HEADER = "| key | value | default | meaning |\n| --- | --- | --- | --- |"


class Walk:
    """All keys of a schema, outermost first; those of a block that several keys have, at the first of them.

    `values`: the default config.
    """

    def __init__(self, root: dict[str, Any], values: dict[str, Any]) -> None:
        self.root, self.values = root, values
        self._listed: set[str] = set()

    def resolved(self, node: dict[str, Any]) -> dict[str, Any]:
        """A node with what its `$ref` names; its own keys win."""
        if "$ref" not in node:
            return node
        definition = self.root["$defs"][node["$ref"].rpartition("/")[2]]
        return {**self.resolved(definition), **{key: node[key] for key in node if key != "$ref"}}

    def keys(self, path: str, node: dict[str, Any]) -> Iterator[tuple]:
        """Path, schema, whether it is required, and its value in config.yaml, for each key below."""
        needed = {*node.get("required", [])}
        for key, child in node.get("properties", {}).items():
            place = f"{path}.{key}"
            yield (place, self.resolved(child), key in needed, self._value(place))
            yield from self.inside(place, child)
        if isinstance(every := node.get("additionalProperties"), dict):
            yield from self.inside(f"{path}.<name>", every)

    def inside(self, path: str, node: dict[str, Any]) -> Iterator[tuple]:
        """The keys within a value: of an object, or of the objects that are a list's elements."""
        for option in [node, *node.get("anyOf", [])]:
            block = self.resolved(option)
            if isinstance(block.get("items"), dict):
                yield from self.inside(f"{path}[]", block["items"])
                return
            if block.get("type") == "object":
                if (name := option.get("$ref", path)) not in self._listed:
                    self._listed.add(name)
                    yield from self.keys(path, block)
                return

    def _value(self, path: str) -> Any:
        at = self.values
        for key in path.split("."):
            at = at.get(key) if isinstance(at, dict) else None
        return at


def _row(path: str, node: dict[str, Any], required: bool, value: Any) -> str:
    default = node.get("default", value)
    shown = "*required*" if required else ""
    if isinstance(default, str | int | float) or default == []:
        shown = f"`{json.dumps(default)}`"
    if not (meaning := node.get("description")):
        raise ValueError(f"{path}: has no meaning; write one in the docstring of its type")
    return f"| `{path}` | {_kind(node)} | {shown} | {_sentence(meaning)} |"


def _kind(node: dict[str, Any]) -> str:
    """What a value may be, in words."""
    if "enum" in node:
        return ", ".join(f"`{value}`" for value in node["enum"])
    if "anyOf" in node:
        kinds = [_kind(option) or "object" for option in node["anyOf"]]
        if kinds[1] == kinds[0].replace("integer", "number"):  # an integer or another number
            del kinds[0]
        if len(kinds) == 1:
            return kinds[0]
        return "one or a list" if "list" in kinds else " or ".join(kinds)
    kinds = node.get("type", "")
    kind = " or ".join(kinds) if isinstance(kinds, list) else kinds
    if kind == "array":
        inner = node.get("items", {})
        return f"list of: {_kind(inner)}" if "enum" in inner else "list"
    limits = {
        "minimum": ">= {}",
        "exclusiveMinimum": "> {}",
        "maximum": "<= {}",
        "exclusiveMaximum": "< {}",
    }
    bounds = [
        template.format(node[key])
        for key, template in limits.items()
        if key in node and node[key] < 2**53  # of every count, which JSON must be able to hold
    ]
    return " ".join([kind, ", ".join(bounds)]).strip()


def _sentence(text: str) -> str:
    """A cell of a table: outside of code, <name> must not be taken for HTML."""
    parts = text.replace("|", "\\|").split("`")
    parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]
    text = "`".join(parts)
    # A literal, as `auto: mirrors` or `envs/<environment>.yaml` begin with, stays as it is.
    return text[:1].upper() + text[1:] if re.match(r"[a-z']+[ ,;.]", text) else text


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing, name what would change"
    )
    check = parser.parse_args().check
    stale = [(path, text) for path, text in pages().items() if _differs(path, text)]
    for path, text in stale:
        if not check:
            path.write_text(text)
        state = "out of date; run docs/build.py" if check else "written"
        print(f"{path.relative_to(ROOT)}: {state}")
    sys.exit(bool(check and stale))


def _differs(path: Path, text: str) -> bool:
    return not path.exists() or path.read_text() != text


if __name__ == "__main__":
    main()
