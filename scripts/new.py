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
    place = folder.resolve()
    snakefile = os.path.relpath(PROJECT / "Snakefile", place)
    values = {
        "name": folder.name,
        "workload": folder.name.replace("_", "-"),
        "title": folder.name.replace("_", " ").capitalize(),
        "snakefile": shlex.quote(snakefile),
        "snakefile_as_python": json.dumps(snakefile),
        "docs": os.path.relpath(PROJECT / "docs", place),
    }
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([TEMPLATES / kind, TEMPLATES / "data"]),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    for name in sorted(environment.list_templates()):
        path = folder / name.replace(WORD, folder.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = environment.get_template(name).render(values)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
    config = "run" if options.paper else folder.name
    print("", "What is in it runs as it is:", f"  cd {shlex.quote(str(folder))}", sep="\n")
    if sys.prefix != sys.base_prefix:
        print(f"  source {shlex.quote(os.path.relpath(sys.prefix, place))}/bin/activate")
    print("  python make_data.py")
    print(f"  snakemake -s {values['snakefile']} all --cores 2 --configfile {config}.yaml")
    if not options.paper:
        print(f"  python -m pytest test_{folder.name}.py")


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


if __name__ == "__main__":
    main()
