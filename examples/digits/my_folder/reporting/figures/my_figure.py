"""Test accuracy at the end, run by run."""

import pandas as pd
from matplotlib.figure import Figure

from paragone.reporting.inputs import Inputs


def points(inputs: Inputs) -> pd.DataFrame:
    """Return one row per run."""
    return inputs.runs[["run", "backend", "seed", "final_test_accuracy"]]


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """Draw a dot per run, a row per backend."""
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    axes.plot(points["final_test_accuracy"], points["backend"], "o")
    axes.set_xlabel("test accuracy")
    return figure
