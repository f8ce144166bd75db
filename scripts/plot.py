"""Draw one figure from tables, in several formats, with a CSV file of what is drawn."""

import argparse
from pathlib import Path

from paragone.analysis import tidy
from paragone.base.errors import entry_point
from paragone.base.processes import end_process
from paragone.reporting import figures, fonts, inputs, style


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Draw the figure and write what it shows."""
    parser = argparse.ArgumentParser(description=__doc__)
    inputs.add_options(parser)
    parser.add_argument(
        "--output",
        type=Path,
        nargs="+",
        required=True,
        metavar="figure.svg",
        help="one file per format: .svg .pdf .png, and .csv of what is drawn, with run names, n and interval",
    )
    options = parser.parse_args(arguments)
    figure, given = figures.load(options.name), inputs.from_options(options)
    shown = figure.points(given)
    named = shown.select_dtypes(["object", "string"]).to_numpy().ravel()
    texts = (each for each in named if isinstance(each, str))
    fonts.use_fonts_for([given.title, *given.labels.values(), *texts])
    drawings = [path for path in options.output if path.suffix != ".csv"]
    style.save(figure.draw(shown, given), drawings)
    for path in {*options.output} - {*drawings}:
        tidy.write(shown.loc[:, ~shown.columns.str.startswith("_")], path)


if __name__ == "__main__":
    main()
    end_process()
