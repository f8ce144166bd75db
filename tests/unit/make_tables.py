"""The table of differences, made by hand."""

import math

import pandas as pd

SHARED = {"workload": "fashion-conv", "global_batch": 1000, "tuning": "as-installed"}
SHARED |= {"machine": "here", "unit": "pair", "n": 7, "needed": 10.0}
SHARED |= {"unit_seconds": math.nan, "first_lacks": "", "second_lacks": "", "runs": ""}


def pairs(*rows: tuple, metric: str = "speed", **columns: object) -> pd.DataFrame:
    """Rows of the table of differences: first, second, relation, effect, the winner if there is one."""
    table = pd.DataFrame(
        {
            "first": first,
            "second": second,
            "relation": relation,
            "winner": "".join(winner),
            "effect": effect,
            "low": effect - 0.01,
            "high": effect + 0.01,
        }
        for first, second, relation, effect, *winner in rows
    )
    family = "primary" if metric == "speed" else "exploratory"
    of_metric = {"metric": metric, "family": family, "ratio": metric != "test accuracy"}
    return table.assign(**SHARED | of_metric | columns)
