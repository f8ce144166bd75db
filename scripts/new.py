"""Write a folder that runs as it is: a question of the user, or a published source (a paper).

`make new NAME=my_question` calls it, as `make new PAPER=my_paper`; both may be paths. It is filled from
templates/.
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
from paragone.config.papers import with_papers
from paragone.config.read import read

PROJECT = Path(__file__).parents[1]
TEMPLATES = PROJECT / "templates"
WORD = "question"  # in the names of files: the name of the question takes its place


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Write the folder, and print what to do in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder to write; its name is the question's")
    parser.add_argument("--paper", action="store_true", help="of a published source")
    options = parser.parse_args(arguments)
    folder: Path = options.folder
    kind, option = ("paper", "PAPER") if options.paper else ("plugin", "NAME")
    check(folder, option)
    values = values_of(folder)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([TEMPLATES / kind, TEMPLATES / "data"]),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    for name in sorted(environment.list_templates()):
        path = folder / name.replace(WORD, values["name"])
        path.parent.mkdir(parents=True, exist_ok=True)
        text = environment.get_template(name).render(values)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
    config = "run" if options.paper else values["name"]
    lines = steps(folder, values, config)
    if not options.paper:
        lines.append(f"  python -m pytest test_{values['name']}.py")
    print("", "What is in it runs as it is:", *lines, sep="\n")


def check(folder: Path, option: str) -> None:
    """Raise `UserError` for a name that no experiment can have, and for a folder that exists."""
    if not re.fullmatch("[a-z][a-z0-9_]*", folder.name):
        raise UserError(
            f"{option}: {str(folder)!r} does not end in a name of lower-case letters, digits and _; "
            f"write make new {option}=my_question, say"
        )
    if folder.exists():
        raise UserError(f"{folder} exists; choose another {option}, or move it away")
    config = read(PROJECT / "config.yaml")
    with_papers(config, PROJECT)
    taken = {*config["experiments"], *(name.replace("-", "_") for name in config["workloads"])}
    if folder.name in taken:
        raise UserError(
            f"{option}: the project has {folder.name!r} itself; choose another {option}"
        )


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


def steps(folder: Path, values: dict[str, str], config: str) -> list[str]:
    """The commands that make data, train and compare in the folder, as its file `config` has it."""
    activate = Path(os.path.relpath(sys.prefix, folder.resolve())) / "bin/activate"
    snakefile = values["snakefile"]
    return [
        f"  cd {shlex.quote(str(folder))}",
        *([f"  source {shlex.quote(str(activate))}"] if sys.prefix != sys.base_prefix else []),
        "  python make_data.py",
        f"  snakemake -s {snakefile} all --cores 2 --configfile {config}.yaml",
    ]


if __name__ == "__main__":
    main()
