"""The efficiency that the cost model predicts beyond this machine, over links that are assumed."""

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, StrMethodFormatter

from paragone.analysis.scaling.beyond import Machine, predict
from paragone.analysis.scaling.measured import fixed_batch, scaling_kind
from paragone.analysis.scaling.model import Calibrated, read_models
from paragone.base.errors import UserError
from paragone.config.measurement_plans import STRONG
from paragone.reporting.drawing import legend, style
from paragone.reporting.drawing.frame import Frame
from paragone.reporting.drawing.marks import draw_lines
from paragone.reporting.inputs import Inputs
from paragone.reporting.twin import MODEL, Panel, Twin, long

HEIGHT = 1.55  # inches per row of panels
PREDICTED = (
    "PREDICTED, nothing here was measured: compute as calibrated on this machine; a device like it and a "
    "link per replica, with the assumed latency and bandwidth; nothing overlaps, nobody waits for another."
)
COLUMNS = ["replicas", "global_batch", "step_seconds", "all_reduce_share", "speed_up", "efficiency"]
COLUMNS += ["experiment", "scaling", "batch", "machine", "series", "backend", "runs"]


def points(inputs: Inputs) -> pd.DataFrame:
    """One row per number of replicas, for every experiment, machine and model of its workload; none
    without a model. Raises `UserError` if the settings hold no machines.
    """
    try:
        machines = [Machine.from_config(entry) for entry in inputs.settings["machines"]]
        most = int(inputs.settings["most"])
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"--settings: machines and most are missing or wrong ({error!r})") from None
    found, calibrated = [], _models(inputs)
    for experiment, runs in inputs.runs.groupby("experiment", sort=False):
        how, batch = scaling_kind(runs), fixed_batch(runs)
        here = runs["workload"].iloc[0], set(runs["backend"])
        models = [m for m in calibrated if m.workload == here[0] and m.backend in here[1]]
        for one in models:
            for machine in machines:
                about = {
                    "experiment": experiment,
                    "scaling": how,
                    "batch": batch,
                    "machine": machine.label,
                    "series": inputs.labels.get(one.backend, one.backend),
                    "backend": one.backend,
                    "runs": one.runs,
                }
                found.append(predict(one, machine, how, batch, most).assign(**about))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=COLUMNS)


def _models(inputs: Inputs) -> list[Calibrated]:
    return [one for one in read_models(inputs.paths("models")[0]) if one.model]


def _reasons(inputs: Inputs) -> list[str]:
    """Why there is no model, by backend."""
    found = [
        f"{inputs.labels.get(one.backend, one.backend)}: {one.reason}."
        for one in read_models(inputs.paths("models")[0])
        if one.reason
    ]
    return list(dict.fromkeys(found)) or ["No scaling run on one machine has a speed."]


def twin(points: pd.DataFrame) -> Twin:
    """A panel per way of scaling and assumed machine."""
    panels = points["scaling"] + " scaling, " + points["machine"]
    rows = long(points.assign(panel=panels, kind=MODEL), x="replicas", value="efficiency")
    return Twin(
        rows,
        {
            name: Panel("replicas", "PREDICTED efficiency", log_x=True, heading=name)
            for name in dict.fromkeys(rows["panel"])
        },
    )


def draw(points: pd.DataFrame, inputs: Inputs) -> Figure:
    """The figure: one row per way of scaling, one column per assumed machine, one line per backend."""
    if points.empty:
        frame = Frame(style.DOUBLE, 0.3, inputs.title, inputs.runs, _reasons(inputs))
        axes = frame.figure.subplots()
        axes.set_axis_off()
        axes.text(0, 0.5, "no model to predict from", color=style.ALARM)
        return frame.figure
    names = dict(points[["backend", "series"]].drop_duplicates().itertuples(index=False))
    looks = style.looks(names.values(), names, inputs.palette)
    grid = sns.FacetGrid(points, row="experiment", col="machine", despine=False).set_titles("")
    for (experiment, machine), axes in grid.axes_dict.items():
        here = points[(points["experiment"] == experiment) & (points["machine"] == machine)]
        axes.axhline(1, linestyle=":", color=style.MUTED)
        size = {"markersize": 3.6, "markeredgewidth": 0}
        draw_lines(axes, here, "replicas", "efficiency", looks, **size)
        _dress(axes, here)
    plt.close(grid.figure)  # seaborn leaves it open
    remarks = [PREDICTED] + [
        f"On this machine the model of {names[one.backend]}: {one.error_words}."
        for one in _models(inputs)
        if one.backend in names
    ]
    handles = [*legend.series(looks), legend.line("ideal", linestyle=":")]
    height = HEIGHT * len(grid.row_names) + 0.2
    about = {"figure": grid.figure, "handles": handles}
    return Frame(style.DOUBLE, height, inputs.title, inputs.runs, remarks, **about).figure


def _dress(axes: Axes, here: pd.DataFrame) -> None:
    first, place = here.iloc[0], axes.get_subplotspec()
    fixed = "global batch {:,}" if first["scaling"] == STRONG else "batch {:,} per replica"
    words = f"efficiency, {first['scaling']} scaling\n{fixed.format(first['batch'])}"
    axes.set_title(first["machine"] if place.is_first_row() else "", loc="left")
    axes.set_ylabel(words if place.is_first_col() else "")
    axes.set_xlabel("replicas" if place.is_last_row() else "")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(0, 1.08)
    axes.grid(axis="y")
