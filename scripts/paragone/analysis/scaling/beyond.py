"""Predictions of the calibrated models beyond this machine: replicas with devices and links of their own."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from paragone.analysis.scaling.cost import AllReduce
from paragone.analysis.scaling.model import Calibrated
from paragone.config.measurement_plans import STRONG


@dataclass(frozen=True)
class Machine:
    """Assumed, not measured: a device like this one per replica; links of `latency` seconds per message
    and `bandwidth` bytes per second."""

    label: str
    latency: float
    bandwidth: float

    @classmethod
    def from_config(cls, entry: dict[str, Any]) -> "Machine":
        """Of an entry of `scaling.machines`; YAML reads 1e9 as text: numbers are parsed here."""
        return cls(entry["label"], *(float(entry[k]) for k in ("latency", "bandwidth")))

    @property
    def link(self) -> AllReduce:
        """The link as the cost model has it."""
        return AllReduce(self.latency, 1 / self.bandwidth)


def predict(one: Calibrated, machine: Machine, how: str, batch: int, most: int) -> pd.DataFrame:
    """One row per power of two up to `most` replicas: step_seconds, speed_up, efficiency and the share
    of the all-reduce in a step. `batch`: global in strong, per replica in weak scaling; a replica has
    at least one example."""
    if one.model is None:
        raise ValueError(f"no model of {one.workload} on {one.backend}: {one.reason}")
    model = one.model.on_own_devices(machine.link)
    rows = []
    for replicas in (2**power for power in range(most.bit_length())):
        each = batch / replicas if how == STRONG else float(batch)
        if replicas > most or each < 1:
            break
        seconds = model.seconds(replicas, each)
        reduce = model.all_reduce.seconds(replicas, model.size, shared=False)
        rate = replicas * each / seconds
        about = {"replicas": replicas, "global_batch": replicas * each, "step_seconds": seconds}
        rows.append({**about, "rate": rate, "all_reduce_share": reduce / seconds})
    table = pd.DataFrame(rows)
    table["speed_up"] = table["rate"] / table["rate"].iloc[0]
    table["efficiency"] = table["speed_up"] / table["replicas"]
    return table.drop(columns="rate")
