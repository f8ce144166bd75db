"""Which runs belong together: repeats of one cell on one machine and one edition of the data.

Figures and comparisons have one row, curve or column per series, so records of different machines,
or of real and synthetic data, are never pooled. What runs of a series lack is said in words.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile

import pandas as pd

from paragone.config.questions import CELL
from paragone.config.run_spec import AS_INSTALLED

# Labels leave these values out.
_USUAL = {"precision": "float32", "tuning": AS_INSTALLED}
RUN, CONTEST = "run", "contest"  # what has one speed
BY_BATCH = ("workload", "replicas")  # kept apart by figures over batch sizes
SETTING = ["data_source", "data_edition", "machine"]
STATUSES = {  # as texts, as far as they are others
    "diverged": "diverged",
    "out_of_memory": "out of memory",
    "crashed": "crashed",
    "unavailable": "not available here",
    "unsupported": "not supported there",
    "refused": "failed parity: not trained",
    "invalid": "breaks a rule",
}

_NO_SPEED = {
    "failed": "failed parity: no speed compared",
    "not checked": "parity not checked: no speed compared",
}
# Where the backend has failed the gate, which makes a run invalid; `failed` may also be that of first steps.
_FAILED = "failed parity: not compared"


def shares_cores(runs: pd.DataFrame) -> bool:
    """Return whether the replicas of these runs share the cores of one machine."""
    one_machine = not (runs["machines"] > 1).any()
    return bool(one_machine and (runs["device"] == "cpu").all())


@dataclass(frozen=True)
class Series:
    """Runs that belong together. `label` is unique within the figure or table.

    `name`: the label without the variant of the workload, where figures show variants side by side.
    `windows`: those of its variant in contests, as in the table of rounds; empty where it was in none.
    """

    label: str
    name: str
    backend: str
    workload: str
    number: int  # 0 for the first of a backend and workload; others need another marker or line
    runs: pd.DataFrame
    windows: pd.DataFrame = field(default_factory=pd.DataFrame)

    @cached_property
    def measured(self) -> pd.DataFrame:
        """The completed runs, the only ones that enter a median."""
        return self.runs[self.runs["status"] == "completed"]

    @property
    def replicas(self) -> int:
        """Replicas of the first run, which all repeats of a cell share."""
        return int(self.runs["replicas"].iloc[0])

    @property
    def global_batch(self) -> int:
        """Global batch of the first run, which all repeats of a cell share."""
        return int(self.runs["global_batch"].iloc[0])

    @property
    def size(self) -> tuple[int, int]:
        """Replicas and global batch, see `questions.SIZE`."""
        return self.replicas, self.global_batch

    @property
    def unit(self) -> str:
        """What has one speed: `CONTEST`, or `RUN` where the variant was in no contest."""
        return RUN if self.windows.empty else CONTEST

    @cached_property
    def speeds(self) -> pd.Series:
        """Steady examples/s: medians over the rounds of each contest, by its number; or the speeds of the
        epochs of the completed runs, by seed."""
        if self.unit == RUN:
            return self.measured.set_index("seed")["steady_examples_per_second"].dropna()
        timed = self.windows.dropna(subset="examples_per_second")
        return timed.groupby(CONTEST)["examples_per_second"].median()

    def by_name(self, values: pd.Series) -> pd.Series:
        """Return values by seed by the names of the runs instead; those by contest by record and number."""
        if values.index.name != CONTEST:
            return values.rename(self.measured.set_index("seed")["run"])
        record = self.windows["run"].iloc[0]
        return values.rename({number: f"{record}/{number}" for number in values.index})


def series_of(
    runs: pd.DataFrame,
    labels: dict[str, str],
    rounds: pd.DataFrame | None = None,
    keys: Sequence[str] = (*CELL, *SETTING),
) -> list[Series]:
    """Return the series of an experiment's runs, in the order of `labels`, then of backend name.

    `rounds`: the table that has their windows in contests. Runs of a series are equal in `keys`, so that they
    differ only by seed. A label is that of the backend, followed by whatever distinguishes its series, and by
    the replicas if they differ within the experiment. A run that stopped before it read its data is counted
    with the edition of the others if they share one.
    """
    runs = _filled(runs)
    windows = None if rounds is None else _filled(rounds)
    order = [*labels, *sorted(set(runs["backend"]) - set(labels))]
    groups = [part for _, part in runs.groupby([*keys], sort=True, dropna=False)]
    groups.sort(key=lambda part: order.index(part["backend"].iloc[0]))  # stable
    able = [key for key in keys if key not in ("backend", *_USUAL)]
    counts = runs.groupby("backend", dropna=False)[able].nunique(dropna=False).max()
    shown = [key for key in able if counts[key] > 1]
    if "replicas" in keys and "replicas" not in shown and len(set(runs["replicas"])) > 1:
        shown.insert(0, "replicas")
    variants = _variants(runs["workload"])
    numbers: dict[tuple[str, str], int] = {}
    result = []
    for part in groups:
        first = part.iloc[0]
        cell = first["backend"], first["workload"]
        number = numbers.setdefault(cell, 0)
        numbers[cell] += 1
        variant = variants[first["workload"]] if "workload" in shown else ""
        details = [_detail(key, first) for key in shown if key != "workload"]
        details += [first[key] for key in _USUAL if key in keys and not is_usual(first, [key])]
        name = labels.get(first["backend"], first["backend"])
        label = _with(name, [variant, *details] if variant else details)
        tables = [part.reset_index(drop=True)]
        if windows is not None:
            mask = windows[[*keys]].astype(str).eq(first[[*keys]].astype(str)).all(axis=1)
            tables.append(windows[mask].reset_index(drop=True))
        result.append(Series(label, _with(name, details), *cell, number, *tables))
    return result


def by_machine(runs: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the name and the runs of each machine, which are never compared with those of another.

    A run whose machine is not known belongs to the only machine, if there is one.
    """
    names = runs["machine_name"].dropna()
    if len(set(runs["machine"].dropna())) <= 1:
        yield (names.iloc[0] if len(names) else ""), runs
        return
    for _, part in runs.groupby("machine", sort=True):
        yield part["machine_name"].iloc[0], part


def sweeps_of(
    runs: pd.DataFrame, labels: dict[str, str], *apart: str, rounds: pd.DataFrame | None = None
) -> list[Series]:
    """Return all cells of a backend on one machine and edition as one series: a column of a comparison.

    Its runs differ in batch, and in replicas and workload unless these are kept `apart`: select a cell
    before computing a median. `workload` is that of the first run.
    """
    sweeps = series_of(runs, labels, rounds, [*apart, "backend", *SETTING])
    cells = series_of(runs, labels, rounds)
    return cells if len(cells) == len(sweeps) else sweeps  # a sweep of one cell is named after it


def _filled(rows: pd.DataFrame) -> pd.DataFrame:
    """Fill in edition and machine of rows that name none, if all others share one."""
    for columns in (["dataset", "data_source", "data_edition"], ["machine", "machine_name"]):
        values = rows[columns].drop_duplicates().dropna()
        if len(values) == 1:
            rows = rows.fillna(values.iloc[0].to_dict())
    return rows


def _variants(workloads: pd.Series) -> dict[str, str]:
    """Return the part of each workload's name that follows the words with which all of them begin."""
    names = {name: name.split("-") for name in sorted(set(workloads))}
    places = zip(*names.values(), strict=False)
    shared = len(list(takewhile(lambda place: len(set(place)) == 1, places)))
    return {name: " ".join(parts[shared:]) for name, parts in names.items()}


def _with(name: str, details: list[str]) -> str:
    return f"{name} ({', '.join(details)})" if details else name


def is_usual(run: pd.Series, keys: Iterable[str] = tuple(_USUAL)) -> bool:
    """Return whether a run is in float32 and as installed, which labels leave out."""
    return all(run[key] == _USUAL[key] for key in keys)


def _detail(key: str, run: pd.Series) -> str:
    value = run[key]
    if pd.isna(value):
        return "no data read"
    match key:
        case "replicas":
            return f"{value} replica" if value == 1 else f"{value} replicas"
        case "global_batch":
            return f"batch {value:,}"
        case "data_source":
            return "SYNTHETIC DATA" if value == "synthetic" else f"{value} data"
        case "data_edition":
            return f"edition {value}"
        case _:
            return f"on {run['machine_name']}"


def _ended(status: str, parity: str) -> str | None:
    """Return why a run has no value at all; None if it was completed."""
    return _FAILED if (status, parity) == ("invalid", "failed") else STATUSES.get(status)


def holds_synthetic(runs: pd.DataFrame) -> bool:
    """Return whether any of the runs used the synthetic stand-in."""
    return bool((runs["data_source"] == "synthetic").any())


def no_speed(runs: pd.DataFrame) -> list[str]:
    """Return why runs of one series have no steady speed; empty if all have one."""
    reasons: Counter[str] = Counter()
    lacking = (runs["status"] != "completed") | runs["steady_examples_per_second"].isna()
    for status, parity in runs.loc[lacking, ["status", "parity"]].itertuples(index=False):
        reasons[_ended(status, parity) or _NO_SPEED.get(parity, "no second epoch")] += 1
    return _counted(reasons, len(runs))


def not_timed(series: Series) -> list[str]:
    """Return why some contest or run of a series has no steady speed; empty if all have one."""
    if series.unit == RUN:
        return no_speed(series.runs)
    contests = series.windows.groupby(["run", "contest"]).agg(
        status=("status", "first"),
        parity=("parity", "first"),
        busy=("busy", "any"),
        speeds=("examples_per_second", "count"),
    )
    reasons = Counter(
        STATUSES.get(row.status)
        or _NO_SPEED.get(row.parity, "the machine was busy" if row.busy else "no quiet window")
        for row in contests[contests["speeds"] == 0].itertuples()
    )
    return _counted(reasons, len(contests), "contests")


def not_completed(runs: pd.DataFrame) -> list[str]:
    """Return the statuses of runs of one series that were not completed; empty if all were."""
    lacking = runs.loc[runs["status"] != "completed", ["status", "parity"]]
    reasons = Counter(_ended(*row) or row.status for row in lacking.itertuples(index=False))
    return _counted(reasons, len(runs))


def _counted(reasons: Mapping[str, int], total: int, units: str = "runs") -> list[str]:
    if total == 1:
        return list(reasons)
    everything = "both" if total == 2 else f"all {total}"
    shares = {count: f"{count} of {total}" for count in range(total)} | {total: everything}
    return [f"{text} ({shares[count]} {units})" for text, count in sorted(reasons.items())]
