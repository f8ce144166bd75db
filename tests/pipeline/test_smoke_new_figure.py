"""A new figure is a row, a module and a caption; titles and labels may hold braces."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from workspace import Checkout

TITLE = "Own {figure} of {results}, {0}"
MODULE = '''"""Final test accuracy of each run."""

import pandas as pd
from matplotlib.figure import Figure

from paragone.reporting.inputs import Inputs


def points(inputs: Inputs) -> pd.DataFrame:
    """One row per run."""
    return inputs.runs[["run", "backend", "final_test_accuracy"]]


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """One bar per run."""
    figure = Figure()
    axes = figure.subplots()
    axes.barh(points["backend"], points["final_test_accuracy"])
    axes.set_title(inputs.title)
    return figure
'''
FILES = {
    "scripts/paragone/reporting/figures/own.py": MODULE,
    "rules/report/plot_own.rst": "Final test accuracy.\n",
}
EXPERIMENT = "tpu_fashion_conv"


@pytest.fixture
def extended(smoke) -> Iterator[Checkout]:
    """The finished checkout with one figure more, and as it was afterwards."""
    made = smoke.checkout

    def in_experiment(text: str) -> str:
        """One figure and another title, in the block of one experiment."""
        head, name, rest = text.partition(f"  {EXPERIMENT}:\n")
        _, _, rest = rest.partition("\n")
        rest = rest.replace("predictions]", "predictions, own]", 1)
        return f'{head}{name}    title: "{TITLE}"\n{rest}'

    with ExitStack() as edits:
        row = '    "own": Row("own figure", ("runs",)),\n'
        add = made.edited(
            "rules/figures.smk", lambda text: text.replace("FIGURES = {\n", "FIGURES = {\n" + row)
        )
        edits.enter_context(add)
        edits.enter_context(made.edited("config.yaml", in_experiment))
        for name, content in FILES.items():
            (made / name).write_text(content)
            edits.callback((made / name).unlink)
        yield made


def test_a_row_a_module_and_a_caption_are_a_figure(smoke, results, extended):
    jobs = smoke.jobs()
    assert jobs["plot_own"] == 1
    assert "train" not in jobs
    folder = results / "figures" / EXPERIMENT
    target = str((folder / "own.svg").relative_to(extended.folder))
    done = extended.snakemake(target, "--cores", "2", *smoke.options)
    try:
        assert done.returncode == 0, done.stdout
        assert "Drawing own figure" in done.stdout
        assert TITLE in (folder / "own.svg").read_text()  # in a comment beside its outlines
        assert (folder / "own.csv").read_text().startswith("run,backend,final_test_accuracy\n")
    finally:
        for path in folder.glob("own.*"):
            path.unlink()
