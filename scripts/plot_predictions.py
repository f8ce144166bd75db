"""Draw test images with `label -> prediction`: a 5 x 5 grid for one run of each backend."""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from paragone.analysis import tidy
from paragone.analysis.grouping import Series, series_of
from paragone.base.errors import UserError, entry_point
from paragone.reporting.drawing import style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.options import figure_parser, pairs

SIDE = 5
CELL, TEXT = 0.66, 0.21  # inches: one image with its margins, the two lines above it
GRID = SIDE * (CELL + TEXT) + 0.25
RIGHT, WRONG = style.INK, style.ALARM


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Draw the figure and write what it shows."""
    options = _parser().parse_args(arguments)
    runs = tidy.read(options.runs)
    names = class_names(options.class_names)
    series = series_of(runs, pairs(options.labels))
    chosen = choose(series, {path.parent.name: path for path in options.predictions}, options.run)
    style.save(draw(chosen, runs, names, pairs(options.palette), options.title), options.output)
    tidy.write(points(chosen, names), options.sidecar)


def class_names(manifest: Path) -> list[str]:
    """The names of the classes, by label, from a data manifest. Raises UserError."""
    try:
        return [str(name) for name in json.loads(manifest.read_text())["class_names"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{manifest}: no class names there ({error!r})") from None


@dataclass(frozen=True)
class Grid:
    """One run's test images (n, height, width, channels), labels, predictions, probabilities."""

    label: str
    backend: str
    run: str
    seed: int
    images: np.ndarray
    labels: np.ndarray
    predictions: np.ndarray
    probabilities: np.ndarray


def read_grid(one: Series, run: pd.Series, path: Path) -> Grid:
    """The first 25 predictions of a run. Raises UserError if the file holds no images."""
    names = ("images", "labels", "predictions", "probabilities")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            if "images" not in arrays:
                raise UserError(f"{path}: holds no images; drop `predictions` from `figures`")
            first = {name: arrays[name][: SIDE * SIDE] for name in names}
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: not the predictions of a run ({error})") from None
    return Grid(one.label, one.backend, run["run"], int(run["seed"]), **first)


def choose(series: list[Series], paths: dict[str, Path], run: str | None) -> list[Grid]:
    """The grid of `run`, or of the lowest seed of each series. Raises UserError."""
    grids = []
    for one in series:
        for _, row in one.measured.sort_values("seed").iterrows():
            if row["run"] in paths and run in (None, row["run"]):
                grids.append(read_grid(one, row, paths[row["run"]]))
                break
    if run is not None and not grids:
        raise UserError(f"--run {run}: no completed run of that name with predictions")
    return grids


def points(grids: list[Grid], names: list[str]) -> pd.DataFrame:
    """One row an image: run, position (row by row), label, prediction, probability, right."""
    columns = ["run", "seed", "series", "position", "label", "prediction", "probability", "right"]
    rows = [
        (
            grid.run,
            grid.seed,
            grid.label,
            position,
            names[label],
            names[prediction],
            float(probability),
            label == prediction,
        )
        for grid in grids
        for position, (label, prediction, probability) in enumerate(
            zip(grid.labels, grid.predictions, grid.probabilities, strict=True)
        )
    ]
    return pd.DataFrame(rows, columns=columns)


def draw(
    grids: list[Grid],
    runs: pd.DataFrame,
    names: list[str],
    palette: dict[str, str],
    title: str,
) -> Figure:
    """The figure: one grid in a single column, or grids two by two over both columns."""
    columns = min(len(grids), 2) or 1
    rows = -(-len(grids) // columns) or 1
    width = style.SINGLE if columns == 1 else style.DOUBLE
    height = rows * GRID if grids else 0.4
    remarks = [
        "First 25 test images, each with label \N{RIGHTWARDS ARROW} prediction; wrong ones have a "
        "red frame and \N{BALLOT X}. One run a backend: the completed one with the lowest seed."
    ]
    frame = Frame(width, height, title, runs, remarks)
    panels = frame.figure.subplots(rows, columns, squeeze=False).flat
    for axes in panels:
        axes.set_axis_off()
    if not grids:
        frame.figure.axes[0].text(0, 0.5, "no run was completed", color=style.ALARM)
    for axes, grid in zip(frame.figure.axes, grids, strict=False):
        _draw_grid(axes, grid, names, style.color(palette, grid.backend))
    return frame.figure


def _draw_grid(axes: Axes, grid: Grid, names: list[str], color: str) -> None:
    """Draw one grid; its coordinates are inches, (0, 0) at the upper left of the first cell."""
    right = int((grid.labels == grid.predictions).sum())
    axes.set_title(
        f"{grid.label}, seed {grid.seed}: {right} of {len(grid.labels)} right",
        color=color,
        weight="bold",
    )
    axes.set(xlim=(0, SIDE * CELL), ylim=(SIDE * (CELL + TEXT), 0), aspect="equal")
    images = grid.images.squeeze(-1) if grid.images.shape[-1] == 1 else grid.images
    for position, image in enumerate(images):
        row, column = divmod(position, SIDE)
        left, top = column * CELL + 0.04, row * (CELL + TEXT) + TEXT
        side = CELL - 0.08
        label, prediction = grid.labels[position], grid.predictions[position]
        wrong = label != prediction
        box = (left, left + side, top + side, top)
        axes.imshow(image, cmap="gray_r", interpolation="nearest", extent=box, vmin=0, vmax=255)
        frame = Rectangle((left, top), side, side, fill=False)
        frame.set(edgecolor=WRONG if wrong else style.FAINT, linewidth=1.4 if wrong else 0.5)
        axes.add_patch(frame)
        axes.text(
            left + side / 2,
            top - 0.05,
            f"{names[label]}\n\N{RIGHTWARDS ARROW} {names[prediction]}"
            + (" \N{BALLOT X}" if wrong else ""),
            size=6,
            color=WRONG if wrong else RIGHT,
            ha="center",
            va="baseline",  # not bottom: names with descenders would stand higher
            linespacing=1.0,
        )
    axes.set(xlim=(0, SIDE * CELL), ylim=(SIDE * (CELL + TEXT), 0))


def _parser() -> argparse.ArgumentParser:
    parser = figure_parser(__doc__)
    parser.add_argument(
        "--predictions",
        type=Path,
        nargs="+",
        required=True,
        metavar="run/predictions.npz",
        help="each in the folder of its run",
    )
    parser.add_argument("--class-names", type=Path, required=True, metavar="manifest.json")
    parser.add_argument("--run", help="draw this run only")
    return parser


if __name__ == "__main__":
    main()
