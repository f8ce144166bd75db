"""Test images with `label -> prediction`: a 5 x 5 grid for one run of each backend."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from paragone.analysis.grouping import Series
from paragone.base.errors import UserError
from paragone.reporting.drawing import style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.inputs import Inputs

SIDE = 5
CELL, TEXT = 0.66, 0.21  # inches: one image with its margins, the two lines above it
GRID = SIDE * (CELL + TEXT) + 0.25
RIGHT, WRONG = style.INK, style.ALARM
COLUMNS = ["run", "seed", "series", "position", "label", "prediction", "probability", "right"]
GRIDS = (
    "First 25 test images, each with label \N{RIGHTWARDS ARROW} prediction; wrong ones have a red frame "
    "and \N{BALLOT X}. One run per backend: the completed one with the lowest seed."
)


def points(inputs: Inputs) -> pd.DataFrame:
    """One row per image of the completed run with the lowest seed of each series: run, position (row
    by row), label, prediction, probability, right; `_image` (height, width, channels) uint8.

    Raises `UserError` if a file holds no images.
    """
    paths = {path.parent.name: path for path in inputs.paths("predictions")}
    parts = []
    for one in inputs.series:
        runs = one.measured[one.measured["run"].isin(list(paths))].sort_values("seed")
        for _, run in runs.head(1).iterrows():
            parts.append(_grid(one, run, paths[run["run"]]))
    nothing = pd.DataFrame(columns=[*COLUMNS, "_backend", "_image"])
    return pd.concat(parts, ignore_index=True) if parts else nothing


def _grid(one: Series, run: pd.Series, path: Path) -> pd.DataFrame:
    found = read(path)
    images = found.pop("images")
    names = {kind: found["class_names"][found[f"{kind}s"]] for kind in ("label", "prediction")}
    right = found["labels"] == found["predictions"]
    about = {"run": run["run"], "seed": int(run["seed"]), "series": one.label}
    return pd.DataFrame(
        {
            **about,
            "position": range(len(images)),
            **{kind: text.astype(object) for kind, text in names.items()},
            "probability": found["probabilities"].astype(float),
            "right": right,
            "_backend": one.backend,
            "_image": list(images),
        }
    )


def read(path: Path) -> dict[str, np.ndarray]:
    """The first 25 predictions of a run, and its class names. Raises `UserError` without images."""
    names = ("images", "labels", "predictions", "probabilities")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            if "images" not in arrays:
                raise UserError(f"{path}: holds no images; drop `predictions` from `figures`")
            first = {name: arrays[name][: SIDE * SIDE] for name in names}
            return {**first, "class_names": arrays["class_names"]}
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: not the predictions of a run ({error})") from None


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """The figure: one grid in a single column, or grids two by two over both columns."""
    grids = [grid for _, grid in points.groupby("run", sort=False)]
    columns = min(len(grids), 2) or 1
    rows = -(-len(grids) // columns) or 1
    width = style.SINGLE if columns == 1 else style.DOUBLE
    height = rows * GRID if grids else 0.4
    frame = Frame(width, height, inputs.title, inputs.runs, [GRIDS])
    panels = frame.figure.subplots(rows, columns, squeeze=False).flat
    for axes in panels:
        axes.set_axis_off()
    if not grids:
        frame.figure.axes[0].text(0, 0.5, "no run was completed", color=style.ALARM)
    for axes, grid in zip(frame.figure.axes, grids, strict=False):
        _draw_grid(axes, grid, style.color(inputs.palette, grid["_backend"].iloc[0]))
    return frame.figure


def _draw_grid(axes: Axes, grid: pd.DataFrame, color: str) -> None:
    """Draw one grid; its coordinates are inches, (0, 0) at the upper left of the first cell."""
    first = grid.iloc[0]
    right = f"{grid['right'].sum()} of {len(grid)} right"
    axes.set_title(f"{first['series']}, seed {first['seed']}: {right}", color=color, weight="bold")
    for one in grid.to_dict("records"):
        row, column = divmod(one["position"], SIDE)
        left, top = column * CELL + 0.04, row * (CELL + TEXT) + TEXT
        side = CELL - 0.08
        box = (left, left + side, top + side, top)
        gray = {"cmap": "gray_r", "interpolation": "nearest", "vmin": 0, "vmax": 255}
        image = one["_image"].squeeze(-1) if one["_image"].shape[-1] == 1 else one["_image"]
        axes.imshow(image, extent=box, **gray)
        frame = Rectangle((left, top), side, side, fill=False)
        frame.set(edgecolor=style.FAINT if one["right"] else WRONG)
        frame.set(linewidth=0.5 if one["right"] else 1.4)
        axes.add_patch(frame)
        text = f"{one['label']}\n\N{RIGHTWARDS ARROW} {one['prediction']}"
        axes.text(
            left + side / 2,
            top - 0.05,
            text + ("" if one["right"] else " \N{BALLOT X}"),
            size=6,
            color=RIGHT if one["right"] else WRONG,
            ha="center",
            va="baseline",  # not bottom: names with descenders would stand higher
            linespacing=1.0,
        )
    # Each image has set the limits to its own.
    axes.set(xlim=(0, SIDE * CELL), ylim=(SIDE * (CELL + TEXT), 0))
