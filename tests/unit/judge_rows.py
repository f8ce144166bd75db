"""Published rows and made records, as the comparison reads them; the table of differences, made by hand."""

import math

import msgspec
import pandas as pd
from make_records import LABELS, make_record, tabulated
from workspace import CONFIG, PAPERS

from paragone.analysis import prediction, verdicts
from paragone.analysis.grouping import sweeps_of
from paragone.analysis.verdicts import Evidence
from paragone.config.schema import Margin

REUTERS = "reuters_strategies"
MARGINS = msgspec.convert(CONFIG["margins"], dict[str, Margin])


def of(experiment, spreads=None):
    """The published rows of an experiment, and what judges them."""
    found = PAPERS[experiment].published[experiment]
    return found.rows, Evidence(found.protocols, MARGINS, spreads or {})


def row_of(experiment, metric, epoch=None):
    rows = [row for row in of(experiment)[0] if row.metric == metric]
    return next(row for row in rows if epoch is None or row.epoch == epoch)


def with_accuracy(values, **options):
    """Runs by seed that end in these test accuracies."""
    epochs = options.pop("epochs", 5)
    return [
        make_record(seed=k, epochs=epochs, accuracies=[0.5] * (epochs - 1) + [value], **options)
        for k, value in enumerate(values)
    ]


def spreads_of(made):
    """The committed spread, had it been of these runs."""
    rows = prediction.spread_of(*tabulated(made))
    return {name: prediction.Spread(part) for name, part in rows.groupby("workload")}


def judge(row, evidence, made, passed=True):
    runs, epochs = tabulated(made, passed)
    (sweep,) = sweeps_of(runs, LABELS)
    return verdicts.compare(row, evidence, sweep.runs, epochs)


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
