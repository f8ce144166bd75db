"""Draw the efficiency that the cost model predicts beyond this machine, up to pods."""

import argparse
import json
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator, StrMethodFormatter

from paragone.analysis import tidy
from paragone.analysis.scaling.beyond import Machine, predict
from paragone.analysis.scaling.measured import fixed_batch, scaling_kind
from paragone.analysis.scaling.model import Calibrated, read_models
from paragone.base.errors import UserError, entry_point
from paragone.config.all_reduce_plan import STRONG
from paragone.reporting.drawing import style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.options import figure_parser, pairs

HEIGHT = 1.55  # inches a row of panels


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Draw the figure and write what it shows."""
    parser = figure_parser(__doc__, several=True)
    parser.add_argument("--models", type=Path, required=True, help="what fit_scaling.py wrote")
    parser.add_argument("--machines", type=read_machines, required=True, help="JSON")
    parser.add_argument("--most", type=int, required=True, help="replicas to predict up to")
    options = parser.parse_args(arguments)
    runs = [tidy.read(path) for path in options.runs]
    models = [one for one in read_models(options.models) if one.model]
    shown = predictions(runs, models, options.machines, options.most, pairs(options.labels))
    whole = pd.concat(runs, ignore_index=True)
    style.save(draw(shown, whole, models, pairs(options.palette), options.title), options.output)
    tidy.write(shown, options.sidecar)


def read_machines(text: str) -> list[Machine]:
    """The machines that the command line names as JSON."""
    try:
        return [Machine.from_config(entry) for entry in json.loads(text)]
    except (ValueError, KeyError, TypeError) as error:
        raise argparse.ArgumentTypeError(f"not a list of machines ({error!r})") from None


def predictions(
    experiments: list[pd.DataFrame],
    models: list[Calibrated],
    machines: list[Machine],
    most: int,
    labels: dict[str, str],
) -> pd.DataFrame:
    """One row a number of replicas, for every experiment, machine and model of its workload."""
    found = []
    for runs in experiments:
        how = scaling_kind(runs)
        batch, first = fixed_batch(runs), runs.iloc[0]
        for one in models:
            if one.workload != first["workload"] or one.backend not in set(runs["backend"]):
                continue
            for machine in machines:
                about = {
                    "experiment": first["experiment"],
                    "scaling": how,
                    "batch": batch,
                    "machine": machine.label,
                    "series": labels.get(one.backend, one.backend),
                    "backend": one.backend,
                    "runs": one.runs,
                }
                found.append(predict(one, machine, how, batch, most).assign(**about))
    if not found:
        raise UserError(
            "no model to predict from: no scaling run has a speed and a measured all-reduce; "
            "see the table of the models for the reason"
        )
    return pd.concat(found, ignore_index=True)


def draw(
    shown: pd.DataFrame,
    runs: pd.DataFrame,
    models: list[Calibrated],
    palette: dict[str, str],
    title: str,
) -> Figure:
    """The figure: a row a way of scaling, a column an assumed machine, a line a backend."""
    rows = list(dict.fromkeys(shown["experiment"]))
    columns = list(dict.fromkeys(shown["machine"]))
    series = shown[["series", "backend"]].drop_duplicates()
    looks = {
        label: {"color": style.color(palette, name), "marker": style.marker(palette, name)}
        for label, name in series.itertuples(index=False)
    }
    handles = [Line2D([], [], label=label, **look) for label, look in looks.items()]
    handles.append(Line2D([], [], linestyle=":", color=style.MUTED, label="ideal"))
    height = HEIGHT * len(rows) + 0.2
    frame = Frame(style.DOUBLE, height, title, runs, _remarks(models, series), handles)
    grid = frame.figure.subplots(len(rows), len(columns), squeeze=False, sharex=True, sharey=True)
    for row, experiment in enumerate(rows):
        for column, machine in enumerate(columns):
            axes = grid[row, column]
            here = shown[(shown["experiment"] == experiment) & (shown["machine"] == machine)]
            axes.axhline(1, linestyle=":", color=style.MUTED)
            for label, look in looks.items():
                part = here[here["series"] == label]
                axes.plot(part["replicas"], part["efficiency"], markersize=2.6, **look)
            _dress(axes, here, machine if row == 0 else "")
    return frame.figure


def _dress(axes: Axes, here: pd.DataFrame, heading: str) -> None:
    axes.set_title(heading, loc="left")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(0, 1.08)
    axes.grid(axis="y")
    how, batch = here[["scaling", "batch"]].iloc[0]
    fixed = f"global batch {batch:,}" if how == STRONG else f"batch {batch:,} a replica"
    if axes.get_subplotspec().is_first_col():
        axes.set_ylabel(f"efficiency, {how} scaling\n{fixed}")
    if axes.get_subplotspec().is_last_row():
        axes.set_xlabel("replicas")


def _remarks(models: list[Calibrated], series: pd.DataFrame) -> list[str]:
    names = dict(zip(series["backend"], series["series"], strict=True))
    return [
        "PREDICTED, nothing here was measured: compute as calibrated on this machine, divided by the "
        "speed named above; a device and a link a replica, with the assumed latency and bandwidth; "
        "nothing overlaps, nobody waits for another.",
        *(
            f"On this machine the model of {names[one.backend]}: {one.error_words}."
            for one in models
            if one.backend in names
        ),
    ]


if __name__ == "__main__":
    main()
