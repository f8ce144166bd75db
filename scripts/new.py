"""Write a folder that runs as it is: a question of the user, or a published source (a paper).

`make new NAME=my_question` calls it, as `make new PAPER=my_paper`; both may be paths. It is filled from
templates/, by the standard library alone.
"""

import argparse
import json
import os
import re
import shlex
import shutil
from pathlib import Path

from paragone.base.errors import UserError, entry_point

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
    project = shlex.quote(os.path.relpath(PROJECT, place))
    snakefile = os.path.relpath(PROJECT / "Snakefile", place)
    values = {
        "name": folder.name,
        "workload": folder.name.replace("_", "-"),
        "title": folder.name.replace("_", " ").capitalize(),
        "snakefile": shlex.quote(snakefile),
        "snakefile_as_python": json.dumps(snakefile),
        "docs": os.path.relpath(PROJECT / "docs", place),
    }
    for templates in (TEMPLATES / kind, TEMPLATES / "data"):
        for template in sorted(path for path in templates.rglob("*") if path.is_file()):
            name = str(template.relative_to(templates)).replace(WORD, folder.name)
            path, text = folder / name, template.read_text(encoding="utf-8")
            path.parent.mkdir(parents=True, exist_ok=True)
            text = re.sub(r"{{ (\w+) }}", lambda match: values[match[1]], text)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path}")
    config = "run" if options.paper else folder.name
    print("", "What is in it runs as it is:", f"  cd {shlex.quote(str(folder))}", sep="\n")
    if not shutil.which("snakemake"):
        if not (PROJECT / ".venv/bin/snakemake").exists():
            print(f"  make -C {project} .venv/dev")
        print(f"  source {project}/.venv/bin/activate")
    print("  python make_data.py")
    call = f"  snakemake -s {values['snakefile']} {{}} --cores 2 --configfile {config}.yaml"
    if options.paper:
        print(call.format(f"results/tables/{folder.name}/comparison.md"))
    print(call.format("all"))
    if options.paper:
        print("The first call of snakemake makes the verdict on the published numbers alone.")
    else:
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
    name, files = folder.name, [PROJECT / "config.yaml", *PROJECT.glob("papers/*/paper.yaml")]
    block = re.compile(f"^  ({name}|{name.replace('_', '-')}):", re.MULTILINE)
    if any(block.search(path.read_text(encoding="utf-8")) for path in files):
        raise UserError(
            f"{option}: the project has {folder.name!r} itself; choose another {option}"
        )


if __name__ == "__main__":
    main()
