"""The calibrated models of a machine: made from tables, written to models.json, read from it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from paragone.analysis.all_reduce_tables import medians
from paragone.analysis.grouping import shares_cores
from paragone.analysis.scaling.cost import Fit, StepModel, fit_all_reduce, fit_compute
from paragone.analysis.statistics import summarize_by
from paragone.base.atomic_files import write_json
from paragone.base.errors import UserError
from paragone.records.run_record import from_json

BYTES = {"bfloat16": 4, "float32": 4, "float64": 8}  # per parameter, hence per gradient
SERIES = ["workload", "backend", "machine"]
CELL = ["experiment", "replicas", "global_batch", "per_replica_batch"]


@dataclass(frozen=True)
class Calibrated:
    """The model of one workload on one backend and machine, or `reason` why there is none.

    `errors`: leave-one-out errors of the model: number of cells, median and largest relative error, as
    fractions; None where the other cells do not determine the model. `runs`: names of the fitted runs.
    """

    workload: str
    backend: str
    machine: str
    model: StepModel | None
    reason: str | None
    errors: dict[str, Any] | None
    runs: str

    @property
    def error_words(self) -> str:
        """The error of the model, in words."""
        if not self.errors:
            return "error unknown: too few cells to leave one out"
        median, worst = (100 * self.errors[key] for key in ("median", "largest"))
        return f"leave-one-out error {median:.0f} % (median), {worst:.0f} % (largest)"


def calibrate(
    runs: pd.DataFrame, all_reduces: pd.DataFrame
) -> tuple[list[Calibrated], pd.DataFrame, pd.DataFrame]:
    """Models, and their points: steps (one row per cell) and all-reduces (one row per case), each with
    the measured value and the prediction of the fit to all other points.

    `runs`: of all scaling experiments, one row per run and experiment. A run over several machines is
    excluded: its links were not measured.
    """
    cases = medians(all_reduces)
    cases = cases.assign(predicted=float("nan"), fitted=float("nan"))
    found, steps = [], []
    for key, part in _measured(runs).groupby(SERIES, sort=True):
        about = dict(zip(SERIES, key, strict=True))
        here = cases[
            (cases["backend"] == about["backend"]) & (cases["machine"] == about["machine"])
        ]
        cells, names = _cells(part).assign(**about), " ".join(sorted(set(part["run"])))
        if here["replicas"].nunique() < 2:
            reason = "no all-reduce was measured on this machine with as many cores"
            found.append(Calibrated(**about, model=None, reason=reason, errors=None, runs=names))
            steps.append(cells)
            continue
        shared = shares_cores(part)
        size = int(part["parameters"].iloc[0]) * BYTES[part["precision"].iloc[0]]
        link, link_fit = fit_all_reduce(here, shared=shared)
        cases.loc[here.index, "predicted"] = link_fit.left_out
        cases.loc[here.index, "fitted"] = [
            link_fit.coefficients[0] + link.seconds(n, b, shared=shared)
            for n, b in zip(here["replicas"], here["bytes"], strict=True)
        ]
        step = ["replicas", "per_replica_batch"]
        unique = cells.drop_duplicates(step)
        compute, fit = fit_compute(unique, link, size, shared=shared)
        model = StepModel(compute, link, size, shared)
        errors = _errors(unique["seconds"], fit)
        found.append(Calibrated(**about, model=model, reason=None, errors=errors, runs=names))
        predicted = unique[step].assign(predicted=fit.left_out)
        steps.append(cells.merge(predicted, on=step))
    columns = [*SERIES, *CELL, "seconds", "n", "runs", "predicted"]
    whole = pd.concat(steps, ignore_index=True) if steps else pd.DataFrame()
    whole = _with_errors(whole.reindex(columns=columns), "seconds")
    return found, whole, _with_errors(cases, "median")


def _measured(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs that have a speed and whose replicas are on one machine."""
    one_machine = ~runs["machine"].str.contains("; ", regex=False, na=False)
    timed = runs["steady_examples_per_second"].notna() & (runs["status"] == "completed")
    return runs[one_machine & timed]


def _cells(runs: pd.DataFrame) -> pd.DataFrame:
    """Per cell: median seconds per step, number `n` and names of its runs."""
    each = runs["global_batch"].astype(float) / runs["steady_examples_per_second"]
    cells = summarize_by(runs.assign(step=each), CELL, "step").rename(columns={"median": "seconds"})
    names = [" ".join(sorted(part)) for _, part in runs.groupby(CELL, sort=True)["run"]]
    return cells[[*CELL, "seconds", "n"]].assign(runs=names)


def _errors(measured: pd.Series, fit: Fit) -> dict[str, Any] | None:
    relative = pd.Series(fit.left_out / measured.to_numpy() - 1).abs().dropna()
    if relative.empty:
        return None
    worst = {"median": float(relative.median()), "largest": float(relative.max())}
    return {"cells": len(relative), **worst}


def _with_errors(points: pd.DataFrame, measured: str) -> pd.DataFrame:
    return points.assign(relative_error=points["predicted"] / points[measured] - 1)


def write_models(models: list[Calibrated], path: Path) -> None:
    """Write the models as JSON."""
    write_json({"schema": 1, "models": [asdict(one) for one in models]}, path)


def read_models(path: Path) -> list[Calibrated]:
    """The models of `write_models`. Raises `UserError` that names the file if it is broken."""
    try:
        return [
            from_json(Calibrated, one)
            for one in json.loads(path.read_text(encoding="utf-8"))["models"]
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: not a file of models ({error!r}); make it again") from None
