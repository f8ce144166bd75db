"""A 5 x 5 grid of test images with label and prediction, one prediction per backend where they disagree."""

from pathlib import Path
from typing import Any

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
RIGHT, WRONG = style.INK, style.ALARM
COLUMNS = ["run", "seed", "series", "backend", "position", "label", "prediction"]
COLUMNS += ["probability", "right"]
GRID = (
    "First 25 test images, each once: label, then \N{RIGHTWARDS ARROW} prediction; one line where all "
    "backends agree, else a line per prediction with the marks of those that made it. Wrong: red frame "
    "(dashed: not all) and \N{BALLOT X}. One run per backend: the completed one with the lowest seed."
)


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per image of the completed run with the lowest seed of each series.

    `position` counts row by row; `_image` is (height, width, channels), uint8.

    Raises `UserError` if a file holds no images.
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
    series = points.drop_duplicates("series") if len(points) else points
    styles = {
        first["series"]: style.series_style(inputs.palette, first["backend"])
        for first in series.to_dict("records")
    }
    cells = [cell for _, cell in points.groupby("position", sort=True)]
    lines = max((cell["prediction"].nunique() for cell in cells), default=1)
    text = TEXT + LINE * (lines - 1)
    height = SIDE * (CELL + text) if cells else 0.4
    handles = [
        legend_mark(
            f"{name}, seed {part['seed'].iloc[0]}: {part['right'].sum()} of {len(part)} right",
            **look,
        )
        for name, look in styles.items()
        for part in [points[points["series"] == name]]
    ]
    long = any(len(handle.get_label()) > 52 for handle in handles)
    width = style.DOUBLE if lines > 1 or long else style.SINGLE
    frame = style.Frame(width, height, inputs.title, inputs.runs, [GRID], handles)
    axes = frame.subplots()
    axes.set_axis_off()
    if not cells:
        axes.text(0, 0.5, "no run was completed", color=style.ALARM)
        return frame
    column = width / SIDE - 0.02
    for cell in cells:
        _draw_cell(axes, cell, styles, column, text)
    # Drawing an image sets the limits of the axes to those of the image.
    axes.set(xlim=(0, SIDE * column), ylim=(SIDE * (CELL + text), 0))
    return frame


def _draw_cell(
    axes: Axes, cell: pd.DataFrame, styles: dict[str, dict[str, Any]], column: float, text: float
) -> None:
    """Draw an image, its label, and a line per prediction; coordinates are inches from the upper left."""
    first = cell.iloc[0]
    row, place = divmod(int(first["position"]), SIDE)
    left, top = place * column + 0.04, row * (CELL + text) + text
    side = CELL - 0.08
    box = (left, left + side, top + side, top)
    gray = {"cmap": "gray_r", "interpolation": "nearest", "vmin": 0, "vmax": 255}
    image = first["_image"].squeeze(-1) if first["_image"].shape[-1] == 1 else first["_image"]
    axes.imshow(image, extent=box, **gray)
    wrong = not cell["right"].all()
    frame = Rectangle((left, top), side, side, fill=False)
    frame.set(edgecolor=WRONG if wrong else style.FAINT, linewidth=1.4 if wrong else 0.5)
    frame.set(linestyle="--" if wrong and cell["right"].any() else "-")
    axes.add_patch(frame)
    texts = [f"{row.series}: {row.prediction} ({row.probability:.2f})" for row in cell.itertuples()]
    title = "\n".join([f"{first['label']}:", *texts])
    axes.figure.explained.append((axes, [left + side / 2], [top + side / 2], [title]))
    groups = list(cell.groupby("prediction", sort=False))
    room = column - 0.06
    # Not by their bottom: descenders would stand higher.
    font: dict[str, Any] = {"size": 6, "va": "baseline", "ha": "left"}
    label = style.shortened(first["label"], room, font["size"])
    axes.text(left, top - 0.05 - LINE * len(groups), label, color=RIGHT, **font)
    for at, (prediction, part) in enumerate(groups):
        y = top - 0.05 - LINE * (len(groups) - 1 - at)
        right = bool(part["right"].all())
        mark = "" if right else " \N{BALLOT X}"
        offset = 0.0
        if len(groups) > 1:
            for name in part["series"]:
                dot = {**styles[name], "linestyle": "none", "markersize": 2.8}
                axes.plot([left + 0.03 + offset], [y - 0.03], clip_on=False, **dot)
                offset += 0.07
        color = RIGHT if right else WRONG
        name = style.shortened(prediction, room - offset - 0.2, font["size"])
        axes.text(left + offset, y, f"\N{RIGHTWARDS ARROW} {name}{mark}", color=color, **font)
