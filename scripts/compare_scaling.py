"""Hold published speed-ups against the cost model: CSV, Markdown and LaTeX."""

import argparse
import json
from pathlib import Path

import pandas as pd

from paragone.analysis import published, tidy
from paragone.analysis.scaling.external import Check, rows_of, table_of
from paragone.base.errors import entry_point
from paragone.reporting.markup import WIDE, write_documents
from paragone.reporting.options import table_parser

BEST = (
    "Model: the best case. Compute of one replica as published, shared out evenly, no fixed cost a step; "
    "one ring all-reduce of all gradients in float32 over the assumed link, hidden behind nothing. "
    "The sources do not say what joined their devices."
)


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Write the comparison in three formats."""
    parser = table_parser(__doc__, runs=False, published=True)
    parser.add_argument("--protocols", type=Path, required=True, help="published conditions, CSV")
    parser.add_argument("--checks", type=read_checks, required=True, help="JSON")
    parser.add_argument("--ratios", type=Path, required=True, help="ratios to compare, CSV")
    parser.add_argument("--flaws", type=Path, required=True, help="known flaws of the sources, CSV")
    options = parser.parse_args(arguments)
    rows, flaws = [], []
    for check in options.checks:
        values = published.read_rows(options.published, check.experiment)
        ratios = published.read_ratios(options.ratios, check.experiment, values)
        rows += rows_of(
            check, ratios, published.read_protocols(options.protocols, check.experiment)
        )
        flaws += published.read_flaws(options.flaws, check.experiment)
    found, remarks = table_of(rows), [BEST, *flaws]
    tidy.write(found, options.csv)
    shown = _printed(found)
    title = f"{options.title}: published speed-ups"
    layout = f"{WIDE * 2}l{WIDE}rl{WIDE}"
    write_documents(shown, title, layout, remarks, options.markdown, options.latex)


def read_checks(text: str) -> list[Check]:
    """The checks that the command line names as JSON."""
    try:
        return [Check.from_config(entry) for entry in json.loads(text)]
    except (ValueError, KeyError, TypeError) as error:
        raise argparse.ArgumentTypeError(f"not a list of checks ({error!r})") from None


def _printed(found: pd.DataFrame) -> pd.DataFrame:
    shown = found.drop(columns=["experiment", "published"]).rename(columns={"printed": "published"})
    best = found["predicted"].map(lambda value: "-" if pd.isna(value) else f"{value:.2f}")
    return shown.assign(predicted=best).rename(columns={"predicted": "at best"})


if __name__ == "__main__":
    main()
