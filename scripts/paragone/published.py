"""What each published row corresponds to among the measured quantities, and the verdict on it."""

import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from paragone.errors import UserError
from paragone.statistics import Summary, summarize

MATCH, TREND, NOT_COMPARABLE = "match", "trend only", "not comparable"


@dataclass(frozen=True)
class Protocol:
    """The published conditions that a run must share; None leaves one open.

    Another per-replica batch is no obstacle, but it is said: batch norm sees it.
    """

    global_batch: int
    steps_per_epoch: int | None = None
    per_replica_batch: int | None = None


PROTOCOLS = {
    "xla_fashion_cnn": Protocol(global_batch=1024, per_replica_batch=128),
    "tpu_fashion_conv": Protocol(global_batch=1000, steps_per_epoch=60),
}


@dataclass(frozen=True)
class Metric:
    """Where a published metric is found: a column of the epochs table, or of the runs table.

    `hardware`: it measures the machine as much as the method. `meaning`: what the column holds,
    said beside the value where that differs from the published quantity.
    """

    column: str
    of_run: bool = False
    hardware: bool = False
    digits: int = 4
    meaning: str = ""


METRICS = {
    "training_time": Metric(
        "end_to_end_seconds", True, True, 1, "measured from process start to the end of the run"
    ),
    "step_time": Metric(
        "step_milliseconds",
        hardware=True,
        digits=1,
        meaning="measured without compilation and evaluation",
    ),
    **{
        name: Metric(name)
        for name in ("train_loss", "train_accuracy", "test_loss", "test_accuracy")
    },
}


@dataclass(frozen=True)
class Row:
    """One published number. `epoch`: after how many; `final`: at the end of the run."""

    metric: str
    condition: str
    system: str
    value: str  # as printed
    unit: str
    note: str
    tolerance: float  # half a unit of the last digit that the source prints for this metric
    epoch: int | None
    final: bool

    @property
    def lower_bound(self) -> bool:
        """Whether the source says "over" this value."""
        return re.search(r'stated as ("over|a lower bound)', self.note) is not None

    @property
    def printed(self) -> str:
        """Value and unit, as the source states them."""
        unit = "" if self.unit == "fraction" else f" {self.unit}"
        return f"{'over ' if self.lower_bound else ''}{self.value}{unit}"


def read_rows(path: Path, experiment: str) -> list[Row]:
    """The published rows of one experiment, in file order. Raises UserError when there is none."""
    try:
        table = pd.read_csv(path, dtype="string", keep_default_na=False)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read as CSV ({error})") from None
    table = table[table["experiment"] == experiment]
    if table.empty:
        raise UserError(
            f"{path}: no row of experiment {experiment!r}; correct `published` in the config"
        )
    # The sources print a metric with a fixed number of decimals; the CSV file drops final zeros.
    decimals = table["value"].str.extract(r"\.(\d+)", expand=False).fillna("").str.len()
    decimals = decimals.groupby(table["metric"]).transform("max")
    return [
        Row(
            *(row[name] for name in ("metric", "condition", "system", "value", "unit", "note")),
            tolerance=0.5 * 10.0 ** -int(decimals[index]),
            **_epoch_of(row["condition"]),
        )
        for index, row in table.iterrows()
    ]


def read_flaws(path: Path, experiment: str) -> list[str]:
    """What is known to be wrong or open in the sources of one experiment, one sentence each."""
    table = pd.read_csv(path, dtype="string", keep_default_na=False)
    return table.loc[table["experiment"] == experiment, "flaw"].tolist()


@dataclass(frozen=True)
class Finding:
    """One published row against one series."""

    measured: str
    verdict: str
    why: str


def compare(row: Row, experiment: str, runs: pd.DataFrame, epochs: pd.DataFrame) -> Finding:
    """Judge `row` against the completed `runs` of one series and their `epochs`.

    match: an outcome (loss, accuracy) under the same protocol whose interval, or rounding of the
    published value, holds the published value. trend only: the same protocol, another value.
    not comparable: anything that depends on the hardware, another protocol or other data.
    """
    metric, protocol = METRICS.get(row.metric), PROTOCOLS.get(experiment)
    if metric is None or protocol is None or row.epoch is None:
        return Finding("-", NOT_COMPARABLE, "no measured quantity stands for this metric")
    if runs.empty:
        return Finding("-", NOT_COMPARABLE, "no run was completed")
    reached = int(runs["epochs"].min())
    if reached < row.epoch and not row.final:
        return Finding("-", NOT_COMPARABLE, f"not measured: the runs had {reached} epochs")
    epoch = min(reached, row.epoch)
    summary = summarize(_values(metric, epoch, runs, epochs))
    if summary.n == 0:
        why = "no finite value" if not metric.hardware else "parity is not proven: no speed"
        return Finding("-", NOT_COMPARABLE, why)
    text = _text(summary, metric.digits)
    obstacles = _obstacles(metric, protocol, runs, epochs)
    if reached < row.epoch:
        text += f" at epoch {reached}"
        obstacles.insert(0, f"only {reached} of the published {row.epoch} epochs were run")
    if obstacles:
        return Finding(text, NOT_COMPARABLE, "; ".join(obstacles))
    verdict, why = _judge(row, summary)
    per_replica = runs["per_replica_batch"].iloc[0]
    if protocol.per_replica_batch not in (None, per_replica):
        why += f" (batch {per_replica} a replica, published {protocol.per_replica_batch})"
    return Finding(text, verdict, why)


def differences(protocol: Protocol, runs: pd.DataFrame, epochs: pd.DataFrame) -> list[str]:
    """In what the data and the protocol of one series' runs differ from the published ones."""
    found = []
    if (runs["data_source"] == "synthetic").any():
        found.append("SYNTHETIC DATA")
    for batch in sorted(set(runs["global_batch"]) - {protocol.global_batch}):
        found.append(f"global batch {batch}, published {protocol.global_batch}")
    steps = set(epochs.loc[epochs["run"].isin(runs["run"]), "steps"])
    if protocol.steps_per_epoch is not None:
        for count in sorted(steps - {protocol.steps_per_epoch}):
            found.append(f"{count} steps an epoch, published {protocol.steps_per_epoch}")
    return found


def overall(findings: dict[str, Finding]) -> tuple[str, str]:
    """The verdict over all series, and why: a match only when every series matches.

    Series that cannot be compared do not outvote those that can.
    """
    judged = [one.verdict for one in findings.values() if one.verdict != NOT_COMPARABLE]
    verdict = NOT_COMPARABLE if not judged else MATCH if set(judged) == {MATCH} else TREND
    reasons: dict[str, list[str]] = {}
    for label, finding in findings.items():
        reasons.setdefault(finding.why, []).append(label)
    if len(reasons) == 1:
        return verdict, next(iter(reasons))
    return verdict, "; ".join(f"{', '.join(labels)}: {why}" for why, labels in reasons.items())


def _epoch_of(condition: str) -> dict:
    within = re.search(r"(?<!after )epoch (\d+)$", condition)
    after = re.search(r"after epoch (\d+)$|(\d+) epochs$", condition)
    found = within or after
    epoch = int(next(filter(None, found.groups()))) if found else None
    return {"epoch": epoch, "final": after is not None}


def _values(metric: Metric, epoch: int, runs: pd.DataFrame, epochs: pd.DataFrame) -> pd.Series:
    if metric.of_run:
        return runs[metric.column]
    rows = epochs[epochs["run"].isin(runs["run"]) & (epochs["epoch"] == epoch)]
    if metric.column == "step_milliseconds":
        return 1000 * rows["train_seconds"] / rows["steps"].astype("float64")
    return rows[metric.column]


def _obstacles(
    metric: Metric, protocol: Protocol, runs: pd.DataFrame, epochs: pd.DataFrame
) -> list[str]:
    hardware = [f"other hardware; {metric.meaning}"] if metric.hardware else []
    return differences(protocol, runs, epochs) + hardware


def _judge(row: Row, summary: Summary) -> tuple[str, str]:
    published, difference = float(row.value), summary.median - float(row.value)
    if row.lower_bound:
        if difference > 0:
            return MATCH, f"over the stated bound by {difference:.4f}"
        return TREND, f"under the stated bound by {-difference:.4f}"
    if summary.has_interval and summary.low <= published <= summary.high:
        return MATCH, "the interval holds the published value"
    if abs(difference) <= row.tolerance:
        return MATCH, "equal within the rounding of the published value"
    return TREND, f"differs by {difference:+.4f}"


def _text(summary: Summary, digits: int) -> str:
    interval = (
        f" [{summary.low:,.{digits}f}, {summary.high:,.{digits}f}]" if summary.has_interval else ""
    )
    return f"{summary.median:,.{digits}f}{interval} (n = {summary.n})"
