"""Calibrate the cost model from measured steps and all-reduces, and state how far off it is."""

import argparse
from pathlib import Path

import pandas as pd

from paragone.analysis import run_states, tidy
from paragone.analysis.grouping import shares_cores
from paragone.analysis.scaling.measured import SHARED
from paragone.analysis.scaling.model import Calibrated, calibrate, write_models
from paragone.base.atomic_files import write_text
from paragone.base.errors import entry_point
from paragone.reporting import footnotes
from paragone.reporting.markup import WIDE, write_documents
from paragone.reporting.options import pairs

MODEL = (
    "Model: step = host + k (replica + example x batch) + 2 (n-1) latency + 2 (n-1)/n k bytes / bandwidth; "
    "k = n on shared cores, else 1; nothing overlaps."
)
LEFT_OUT = "Predicted: by the model fitted to all other cells of the backend, with the measured all-reduce."


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Write the models as JSON, the all-reduces, and the table of steps in three formats."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="of each experiment")
    parser.add_argument("--allreduce", type=Path, required=True, help="allreduce.parquet")
    parser.add_argument("--labels", nargs="*", default=[], metavar="backend=Label")
    parser.add_argument("--title", required=True)
    parser.add_argument("--models", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--cases", type=Path, required=True, help="all-reduces, CSV to write")
    for suffix in ("csv", "markdown", "latex"):
        parser.add_argument(f"--{suffix}", type=Path, required=True, help="steps, to write")
    options = parser.parse_args(arguments)
    runs = pd.concat([tidy.read(path) for path in options.runs], ignore_index=True)
    models, steps, cases = calibrate(runs, tidy.read(options.allreduce))
    labels = pairs(options.labels)
    remarks = [
        *(
            f"{labels.get(one.backend, one.backend)}, {one.workload}: {_parts(one)}"
            for one in models
        ),
        MODEL,
        LEFT_OUT,
        *([SHARED] if shares_cores(runs) else []),
        footnotes.data(runs),
        footnotes.machine(runs),
        *footnotes.isolation(runs),
        footnotes.repeats([int(n) for n in steps["n"].dropna()]),
    ]
    if run_states.holds_synthetic(runs):
        remarks.insert(0, footnotes.SYNTHETIC + ".")
    write_text(write_models(models), options.models)
    tidy.write(cases, options.cases)
    tidy.write(steps, options.csv)
    shown = _printed(steps, labels)
    title = f"{options.title}: predicted and measured"
    layout = f"{WIDE * 3}rrrrrr"
    write_documents(shown, title, layout, remarks, options.markdown, options.latex)


def _printed(steps: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
    milliseconds = {
        name: steps[column].map(
            lambda seconds: "-" if pd.isna(seconds) else f"{1e3 * seconds:,.1f}"
        )
        for name, column in (("measured (ms)", "seconds"), ("predicted (ms)", "predicted"))
    }
    return pd.DataFrame(
        {
            "backend": steps["backend"].map(lambda name: labels.get(name, name)),
            "workload": steps["workload"],
            "experiment": steps["experiment"],
            "replicas": steps["replicas"].astype(str),
            "batch": steps["global_batch"].map("{:,}".format),
            "n": steps["n"].astype(str),
            **milliseconds,
            "error": steps["relative_error"].map(
                lambda error: "-" if pd.isna(error) else f"{100 * error:+.1f} %"
            ),
        }
    )


def _parts(one: Calibrated) -> str:
    """What the model says a step is made of, and how far off it is."""
    if one.model is None:
        return f"no model: {one.reason}."
    compute, link = one.model.compute, one.model.all_reduce
    speed = 1 / link.seconds_per_byte / 1e9 if link.seconds_per_byte else float("inf")
    return (
        f"host {1e3 * compute.host:.2f} ms a step, {1e3 * compute.replica:.2f} ms a replica, "
        f"{1e6 * compute.example:.1f} us an example; all-reduce of {one.model.size:,} bytes: latency "
        f"{1e6 * link.latency:.0f} us, bandwidth {speed:.2f} GB/s; {one.error_words}."
    )


if __name__ == "__main__":
    main()
