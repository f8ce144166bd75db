"""Write the result page: one HTML file with the answers, figures, tables and runs, from records alone."""

import argparse
import json
from pathlib import Path

import pandas as pd

from paragone.analysis import tidy
from paragone.analysis.answers import from_frame
from paragone.base.errors import UserError, entry_point
from paragone.reporting.inputs import pair
from paragone.reporting.page import exhibits, runs, write


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Read what results hold and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True, help="of figures, tables, runs")
    parser.add_argument(
        "--outline",
        type=json.loads,
        required=True,
        help="sections in order, JSON: name, title, and the labels of figures and tables by name",
    )
    parser.add_argument("--answers", type=Path, required=True, help="answers.csv")
    parser.add_argument("--runs", type=Path, required=True, help="runs.parquet of all experiments")
    parser.add_argument(
        "--logs", type=Path, required=True, help="folder of <run>.log; may be empty"
    )
    parser.add_argument("--captions", type=Path, required=True, help="rules/report/")
    parser.add_argument("--preset", default="", help="what the config was overlaid with")
    for name, form in (("labels", "backend=Label"), ("palette", "backend=#hex")):
        parser.add_argument(f"--{name}", type=pair, nargs="*", default=[], metavar=form)
    parser.add_argument("--output", type=Path, required=True, help="index.html to write")
    options = parser.parse_args(arguments)
    palette = dict(options.palette)
    colors = {label: palette[backend] for backend, label in options.labels}
    table = tidy.read(options.runs)
    readable = table.loc[table["status"] != "unreadable", "run"]
    page = write.Page(
        answers=from_frame(_answers(options.answers)),
        sections=[
            exhibits.read(one, options.results, options.captions, colors) for one in options.outline
        ],
        runs=[runs.read(options.results, run, options.logs) for run in sorted(readable)],
        table=table,
        preset=options.preset or "default",
        method=exhibits.caption(options.captions / "page.rst"),
    )
    write.write(page, options.output)


def _answers(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path}: not the table of answers ({error}); run answer.py first"
        ) from None


if __name__ == "__main__":
    main()
