"""Strong and weak scaling of compiled steps over the devices that they were compiled for."""

from collections.abc import Iterator

import pandas as pd

from paragone.config.measurement_plans import STRONG, WEAK

__all__ = ["STRONG", "WEAK", "scaling"]

LEAST = 3  # numbers of devices that make a series
SERIES = ["workload", "backend", "precision", "device"]


def scaling(compilations: pd.DataFrame) -> pd.DataFrame:
    """The compiled training steps with one batch, or one batch per device, over several numbers of devices.

    With the columns scaling, fixed (examples: of all devices or of each), and what the bounds allow of the
    efficiency, throughput over that of one device times their number: bound_efficiency where arithmetic,
    memory and links overlap whole, apart_efficiency where nothing does. A series without one device has none.
    """
    rows = compilations[(compilations["status"] == "compiled") & (compilations["step"] == "train")]
    parts = list(_series(rows.assign(each=rows["global_batch"] / rows["devices"])))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _series(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    for way, key in ((STRONG, "global_batch"), (WEAK, "each")):
        for _, part in rows.groupby([*SERIES, key], sort=False):
            if part["devices"].nunique() >= LEAST:
                yield _with_efficiency(part).assign(scaling=way, fixed=part[key])


def _with_efficiency(part: pd.DataFrame) -> pd.DataFrame:
    found = {}
    for end in ("bound", "apart"):
        each = part["global_batch"] / part[f"{end}_seconds"] / part["devices"]
        alone = each[part["devices"] == 1]
        found[f"{end}_efficiency"] = each / alone.iloc[0] if len(alone) else float("nan")
    return part.assign(**found)
