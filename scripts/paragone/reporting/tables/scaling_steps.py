"""Steps of the scaling experiments: measured, and predicted by the calibrated cost models."""

import pandas as pd

from paragone.analysis.grouping import shares_cores
from paragone.analysis.scaling.measured import SHARED
from paragone.analysis.scaling.model import Calibrated, read_models
from paragone.reporting import footnotes
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import WIDE, Block, Table

MODEL = (
    "Model: step = host + k (replica + example x batch) + 2 (n-1) latency + 2 (n-1)/n k bytes / bandwidth; "
    "k = n on shared cores, else 1; nothing overlaps."
)
LEFT_OUT = "Predicted: by the model fitted to all other cells of the backend, with the measured all-reduce."


def table(inputs: Inputs) -> Table:
    """One row per cell; the remarks state the parts of each model and its error."""
    runs, steps, labels = inputs.runs, inputs.steps, inputs.labels
    models = [one for path in inputs.paths("models") for one in read_models(path)]
    shared = [SHARED] if shares_cores(runs) else []
    remarks = [
        *footnotes.about(runs, *(_parts(one, labels) for one in models), MODEL, LEFT_OUT, *shared),
        footnotes.repeats(steps["n"].dropna()),
    ]
    block = Block(_cells(steps, labels), f"{WIDE * 3}rrrrrr")
    return Table(steps, f"{inputs.title}: predicted and measured", remarks, [block])


def _cells(steps: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "backend": steps["backend"].map(lambda name: labels.get(name, name)),
            "workload": steps["workload"],
            "experiment": steps["experiment"],
            "replicas": steps["replicas"].astype(str),
            "batch": steps["global_batch"].map("{:,}".format),
            "n": steps["n"].astype(str),
            "measured (ms)": _texts(1e3 * steps["seconds"], "{:,.1f}"),
            "predicted (ms)": _texts(1e3 * steps["predicted"], "{:,.1f}"),
            "error": _texts(100 * steps["relative_error"], "{:+.1f} %"),
        }
    )


def _texts(values: pd.Series, form: str) -> pd.Series:
    return values.map(lambda value: "-" if pd.isna(value) else form.format(value))


def _parts(one: Calibrated, labels: dict[str, str]) -> str:
    """The parts of one model's step, and its error."""
    about = f"{labels.get(one.backend, one.backend)}, {one.workload}:"
    if one.model is None:
        return f"{about} no model: {one.reason}."
    compute, link = one.model.compute, one.model.all_reduce
    speed = 1 / link.seconds_per_byte / 1e9 if link.seconds_per_byte else float("inf")
    return (
        f"{about} host {1e3 * compute.host:.2f} ms per step, {1e3 * compute.replica:.2f} ms per replica, "
        f"{1e6 * compute.example:.1f} us per example; all-reduce of {one.model.size:,} bytes: latency "
        f"{1e6 * link.latency:.0f} us, bandwidth {speed:.2f} GB/s; {one.error_words}."
    )
