"""Published rows and made records, as the comparison reads them."""

import make_records
import msgspec
from make_records import LABELS, make_record
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


def tabulated(made, passed=True):
    keys = {(one["spec"]["workload"]["name"], one["spec"]["backend"]["name"]) for one in made}
    return make_records.tabulated(made, dict.fromkeys(keys, passed))


def judge(row, evidence, made, passed=True):
    runs, epochs = tabulated(made, passed)
    (sweep,) = sweeps_of(runs, LABELS)
    return verdicts.compare(row, evidence, sweep.runs, epochs)
