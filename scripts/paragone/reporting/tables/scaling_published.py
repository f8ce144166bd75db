"""Published speed-ups beside the best case of the cost model."""

import pandas as pd

from paragone.analysis.scaling.external import Check, rows_of, table_of
from paragone.base.errors import UserError
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import WIDE, Block, Table

BEST = (
    "Model: the best case. Compute of one replica as published, divided evenly, no fixed cost per step; "
    "one ring all-reduce of all gradients in float32 over the assumed link, without overlap. "
    "The sources do not name the links between their devices."
)


def table(inputs: Inputs) -> Table:
    """One row per published ratio and assumed link. Setting `checks`: as `scaling.checks` in the config.

    Raises `UserError` if the setting is no list of checks.
    """
    try:
        checks = [Check.from_config(entry) for entry in inputs.settings["checks"]]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"--settings: `checks` is not a list of checks ({error!r})") from None
    rows, flaws = [], []
    for check in checks:
        source = inputs.published_beside(check.experiment)
        rows += rows_of(check, source.ratios, source.protocols)
        flaws += source.flaws
    found = table_of(rows)
    block = Block(_cells(found), f"{WIDE * 2}l{WIDE}rl{WIDE}")
    return Table(found, f"{inputs.title}: published speed-ups", [BEST, *flaws], [block])


def _cells(found: pd.DataFrame) -> pd.DataFrame:
    shown = found.drop(columns=["experiment", "published"]).rename(columns={"printed": "published"})
    best = found["predicted"].map(lambda value: "-" if pd.isna(value) else f"{value:.2f}")
    return shown.assign(predicted=best).rename(columns={"predicted": "at best"})
