"""A 5 x 5 grid of test images with label and prediction, one prediction per backend where they disagree."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from paragone.analysis.grouping import Series
from paragone.base.errors import UserError
from paragone.reporting import style
from paragone.reporting.inputs import Inputs
from paragone.reporting.marks import legend_mark

SIDE = 5
# Inches: one image with its margins; the two lines above it, and each further one.
CELL, TEXT, LINE = 0.66, 0.25, 0.1
COLUMNS = ["run", "seed", "series", "backend", "position", "label", "prediction"]
COLUMNS += ["probability", "right"]
GRID = (
    "First 25 test images, each once: label, then \N{RIGHTWARDS ARROW} prediction; one line where all "
    "backends agree, else a line per backend in its color. Wrong: red frame (dashed: not all) and "
    "\N{BALLOT X}. One run per backend: the completed one with the lowest seed."
)


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per image of the completed run with the lowest seed of each series.

    `position` counts row by row; `_image` is (height, width, channels), uint8.
    """
    paths = {path.parent.name: path for path in inputs.paths("predictions")}
    parts = []
    for series in inputs.series:
        runs = series.measured[series.measured["run"].isin(list(paths))].sort_values("seed")
        for _, run in runs.head(1).iterrows():
            parts.append(_grid(series, run, paths[run["run"]]))
    nothing = pd.DataFrame(columns=[*COLUMNS, "_image"])
    return pd.concat(parts, ignore_index=True) if parts else nothing


def _grid(series: Series, run: pd.Series, path: Path) -> pd.DataFrame:
    arrays = read(path)
    images = arrays.pop("images")
    names = {kind: arrays["class_names"][arrays[f"{kind}s"]] for kind in ("label", "prediction")}
    return pd.DataFrame(
        {
            "run": run["run"],
            "seed": int(run["seed"]),
            "series": series.label,
            "backend": series.backend,
            "position": range(len(images)),
            **{kind: text.astype(object) for kind, text in names.items()},
            "probability": arrays["probabilities"].astype(float),
            "right": arrays["labels"] == arrays["predictions"],
            "_image": list(images),
        }
    )


def read(path: Path) -> dict[str, np.ndarray]:
    """Read the first 25 predictions of a run and its class names. Raises `UserError` without images."""
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
    """Draw each image once, with the prediction of each backend where they disagree."""
    parts = dict(list(points.groupby("series", sort=False)))
    colors = {
        name: style.color(inputs.palette, part["backend"].iloc[0]) for name, part in parts.items()
    }
    cells = [cell for _, cell in points.groupby("position", sort=True)]
    disagree = any(len(set(cell["prediction"])) > 1 for cell in cells)
    text = TEXT + LINE * (len(parts) - 1 if disagree else 0)
    height = SIDE * (CELL + text) if cells else 0.4
    handles = [
        legend_mark(
            f"{name}, seed {part['seed'].iloc[0]}: {part['right'].sum()} of {len(part)} right",
            color=colors[name],
        )
        for name, part in parts.items()
    ]
    width = style.DOUBLE if disagree else style.SINGLE
    frame = style.Frame(width, height, inputs.title, inputs.runs, [GRID], handles)
    axes = frame.subplots()
    axes.set_axis_off()
    if not cells:
        axes.text(0, 0.5, "no run was completed", color=style.ALARM)
        return frame
    column = width / SIDE - 0.02
    for cell in cells:
        _draw_cell(axes, cell, colors, column, text)
    # Drawing an image sets the limits of the axes to those of the image.
    axes.set(xlim=(0, SIDE * column), ylim=(SIDE * (CELL + text), 0))
    return frame


def _draw_cell(
    axes: Axes, cell: pd.DataFrame, colors: dict[str, str], column: float, text: float
) -> None:
    """Draw an image, its label, and a line per prediction; coordinates are inches from the upper left."""
    first = cell.iloc[0]
    row, place = divmod(int(first["position"]), SIDE)
    left, top = place * column + 0.04, row * (CELL + text) + text
    side = CELL - 0.08
    gray = {"cmap": "gray_r", "interpolation": "nearest", "vmin": 0, "vmax": 255}
    image = first["_image"].squeeze(-1) if first["_image"].shape[-1] == 1 else first["_image"]
    axes.imshow(image, extent=(left, left + side, top + side, top), **gray)
    edge = {"edgecolor": style.FAINT, "linewidth": 0.5}
    if not cell["right"].all():
        edge = {"edgecolor": style.ALARM, "linewidth": 1.4}
        edge["linestyle"] = "--" if cell["right"].any() else "-"
    axes.add_patch(Rectangle((left, top), side, side, fill=False, **edge))
    texts = [f"{row.series}: {row.prediction} ({row.probability:.2f})" for row in cell.itertuples()]
    title = "\n".join([f"{first['label']}:", *texts])
    axes.figure.explained.append((axes, [left + side / 2], [top + side / 2], [title]))
    agree = len(set(cell["prediction"])) == 1
    lines = [(style.shortened(first["label"], column - 0.06, 6), style.INK)]
    for seen in cell[:1].itertuples() if agree else cell.itertuples():
        name = style.shortened(seen.prediction, column - 0.26, 6)
        mark_color = style.INK if seen.right else style.ALARM
        text_color = mark_color if agree else colors[seen.series]
        mark = "" if seen.right else " \N{BALLOT X}"
        lines.append((f"\N{RIGHTWARDS ARROW} {name}{mark}", text_color))
    for at, (line, line_color) in enumerate(reversed(lines)):
        # Not by their bottom: descenders would stand higher.
        axes.text(left, top - 0.05 - LINE * at, line, color=line_color, size=6, va="baseline")
