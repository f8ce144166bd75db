"""Draw one figure, or write one table, of steps that were compiled and not run."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import pandas as pd

from ahead_of_time.bounds import published_bounds, validated
from ahead_of_time.figures import FIGURES
from ahead_of_time.records import Compilation, MeasuredStep
from ahead_of_time.shown import About, Shown
from ahead_of_time.tables import TABLES
from paragone.analysis import tidy
from paragone.base.errors import UserError, entry_point
from paragone.base.processes import end_process
from paragone.base.typed_json import of_option, read
from paragone.config.numbers import numbers_of
from paragone.config.papers import read_paper
from paragone.reporting import style
from paragone.reporting.tables import save


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("figures", "tables"))
    parser.add_argument("name", choices=sorted({*FIGURES, *TABLES}))
    parser.add_argument("--about", required=True, help="titles and labels, `About` as JSON")
    for name in ("records", "measured"):
        parser.add_argument(f"--{name}", nargs="*", default=[], type=Path, help="of these steps")
    parser.add_argument(
        "--papers", nargs="+", required=True, type=Path, help="folders of the sources"
    )
    files = "svg pdf png csv to write, or csv md json"
    parser.add_argument("--files", nargs="+", required=True, type=Path, help=files)
    options = parser.parse_args(arguments)
    compiled = [read(Compilation, path, "record") for path in options.records]
    measured = [read(MeasuredStep, path, "record") for path in options.measured]
    heading = of_option(About, options.about, "--about")
    published = _published(options.papers, heading.systems, compiled)
    shown = Shown(heading, compiled, published, [(step.step, validated(step)) for step in measured])
    if options.kind == "figures":
        points_of, draw = FIGURES[options.name]
        points = points_of(shown)
        style.save(draw(points, shown), options.files[:3])
        tidy.write(points, options.files[3])
    else:
        save(TABLES[options.name](shown), options.files)


def _published(
    folders: list[Path], systems: list[tuple[str, str, str]], compiled: list[Compilation]
) -> pd.DataFrame:
    tables = []
    numbers = {
        name: entry for folder in folders for name, entry in read_paper(folder).published.items()
    }
    for experiment, system, target in systems:
        table = numbers_of(numbers, experiment, "ahead_of_time.published")
        if (protocol := table.protocols.get(system)) is None:
            raise UserError(f"ahead_of_time.published: {experiment} has no system {system!r}")
        tables.append(published_bounds(experiment, system, target, table.rows, protocol, compiled))
    return pd.concat(tables, ignore_index=True)


if __name__ == "__main__":
    main()
    end_process()
