"""The share of its device's peak that a run achieves; the peak is that of measured matrix products."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from paragone.base.errors import UserError

Peaks = Sequence[dict[str, Any]]  # rows of peaks.json, see product_tables.peaks_document
_DEVICE = ["machine", "device", "threads", "precision"]


def read_peaks(path: Path) -> Peaks:
    """The peaks of one peaks.json. Raises `UserError`."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["peaks"]
        for row in found:
            _ = [row[key] for key in (*_DEVICE, "flops_per_second")]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: no table of peaks ({error!r}); make it again") from None
    return found


def with_share(runs: pd.DataFrame, peaks: Peaks) -> pd.DataFrame:
    """`runs` with peak_flop_per_second and steady_peak_share; missing where no such peak is known.

    The peak is the highest of any backend on one such device of this machine, with as many threads, in
    this precision; times the replicas, except on CPUs, whose logical devices share the cores.
    """
    if not peaks:
        return runs
    fastest = pd.DataFrame(peaks).groupby(_DEVICE, dropna=False)["flops_per_second"].max()
    keys = pd.MultiIndex.from_frame(runs[_DEVICE].astype(object))
    each = pd.Series(fastest.reindex(keys).to_numpy(), runs.index, "Float64").astype("float64")
    devices = runs["replicas"].where(runs["device"] != "cpu", 1).astype("float64")
    peak = each * devices
    share = runs["steady_flop_per_second"] / peak
    return runs.assign(peak_flop_per_second=peak, steady_peak_share=share)
