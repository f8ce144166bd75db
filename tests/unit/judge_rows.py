"""Published rows beside made records, as the comparison sees them."""

from pathlib import Path

from make_records import LABELS, typed

from paragone.analysis import published, tidy, verdicts
from paragone.analysis.grouping import sweeps_of

FOLDER = Path(__file__).parents[2] / "published"
REUTERS = "reuters_strategies"


def of(experiment):
    rows = published.read_rows(FOLDER / "published.csv", experiment)
    protocols = published.read_protocols(FOLDER / "protocols.csv", experiment)
    return rows, protocols, published.read_ratios(FOLDER / "ratios.csv", experiment, rows)


def tabulated(made, passed=True):
    keys = {(one["spec"]["workload"]["name"], one["spec"]["backend"]["name"]) for one in made}
    return tidy.tables(typed(made), "one", dict.fromkeys(keys, passed))


def judge(row, protocols, made, passed=True):
    runs, epochs = tabulated(made, passed)
    (sweep,) = sweeps_of(runs, LABELS)
    return verdicts.compare(row, protocols[row.system], sweep.runs, epochs)


def of_backend(made, name):
    return [one for one in made if one["spec"]["backend"]["name"] == name]
