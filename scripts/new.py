"""Write a folder for a question of the user: a config, a model in two frameworks, data and a test.

`make new NAME=my_question` calls it; NAME may be a path. It is filled from templates/plugin/.
"""

import argparse
import json
import os
import re
import shlex
import sys
from pathlib import Path

import jinja2

from paragone.base.errors import UserError, entry_point
from paragone.config.read import read

PROJECT = Path(__file__).parents[1]
TEMPLATES = PROJECT / "templates/plugin"
WORD = "question"  # in the names of files: the name of the question takes its place


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Write the folder, and print what to do in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder to write; its name is the question's")
    folder: Path = parser.parse_args(arguments).folder
    check(folder)
    values = values_of(folder)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    for name in sorted(environment.list_templates()):
        path = folder / name.replace(WORD, values["name"])
        path.parent.mkdir(parents=True, exist_ok=True)
        text = environment.get_template(name).render(values)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
    print("", "What is in it runs as it is:", *steps(folder, values), sep="\n")


def check(folder: Path) -> None:
    """Raise `UserError` for a name that no experiment can have, and for a folder that exists."""
    if not re.fullmatch("[a-z][a-z0-9_]*", folder.name):
        raise UserError(
            f"NAME: {str(folder)!r} does not end in a name of lower-case letters, digits and _; "
            "write make new NAME=my_question, say"
        )
    if folder.exists():
        raise UserError(f"{folder} exists; choose another NAME, or move it away")
    config = read(PROJECT / "config.yaml")
    taken = {*config["experiments"], *(name.replace("-", "_") for name in config["workloads"])}
    if folder.name in taken:
        raise UserError(f"NAME: the project has {folder.name!r} itself; choose another NAME")


def values_of(folder: Path) -> dict[str, str]:
    """The values that fill the templates; paths are relative to the folder."""
    folder = folder.resolve()
    snakefile = os.path.relpath(PROJECT / "Snakefile", folder)
    return {
        "name": folder.name,
        "workload": folder.name.replace("_", "-"),
        "title": folder.name.replace("_", " ").capitalize(),
        "snakefile": shlex.quote(snakefile),
        "snakefile_as_python": json.dumps(snakefile),
        "docs": os.path.relpath(PROJECT / "docs", folder),
    }


def steps(folder: Path, values: dict[str, str]) -> list[str]:
    """The commands that train, compare and test what is in the folder."""
    activate = Path(os.path.relpath(sys.prefix, folder.resolve())) / "bin/activate"
    name, snakefile = values["name"], values["snakefile"]
    return [
        f"  cd {shlex.quote(str(folder))}",
        *([f"  source {shlex.quote(str(activate))}"] if sys.prefix != sys.base_prefix else []),
        "  python make_data.py",
        f"  snakemake -s {snakefile} all --cores 2 --configfile {name}.yaml",
        f"  python -m pytest test_{name}.py",
    ]


if __name__ == "__main__":
    main()
