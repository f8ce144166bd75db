"""The numbers of a paper: the rows of numbers.csv, and what paper.yaml says of their systems."""

import csv
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import asdict, replace

from paragone.base.errors import UserError, meant
from paragone.base.typed_json import Count
from paragone.config.datasets import MEASURED
from paragone.config.decode import decoded
from paragone.config.key_types import Closed, Text
from paragone.config.schema import WorkloadBlock
from paragone.tasks import METRICS

FILE, NUMBERS, SPREAD = "paper.yaml", "numbers.csv", "spread.csv"
LOWER, UPPER, ABOUT = "lower", "upper", "about"  # kinds of stated bounds
_BOUNDS = {"": "", LOWER: "over ", UPPER: "under ", ABOUT: "about "}
_OPPOSITE = {LOWER: UPPER, UPPER: LOWER}
_BEST = "best"  # in the place of an epoch
_PERCENT = ("%", "percent")
_FRACTIONS = ("accuracy", "_f1", "_r2")  # ends of metrics that may be printed in percent
_SECONDS = {"s": 1.0, "ms": 1e-3}  # of the units of published times
_NUMBER = re.compile(r"-?\d+(?:\.(\d+))?")
# What is measured of a run beside the metrics of its task: `analysis.cells` has how.
OF_RUNS = ("training_time", "step_time", "epoch_time", "throughput", "parameters")
_ERROR_RATE = re.compile(r"(top[-_ ]?[15][-_ ]?|misclassification[-_ ]?)?(err|error)([-_ ]?rate)?")
_WHOLE = ("epoch", "runs", "decimals", "global_batch", "per_replica_batch")


class Row(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"quantity": "metric"}
):
    """One published number, a row of numbers.csv, and what the source says of it.

    `quantity`: a metric, of one `split` where it is an outcome. `value` is as printed in its `unit`, with so
    many `decimals`, as is the standard deviation `spread` of the `runs` whose mean it is. `bound` is `LOWER`,
    `UPPER` or `ABOUT` where the source says so. The number holds after `epoch`, which is the end of the run
    where it is `final`. The batch of a step is stated over all replicas or per replica, or not at all.
    `condition` and `note` are prose for readers. No columns are `best`, of the epochs up to this one, and
    `flaws`, for which the number counts in no verdict. A row that is no number raises `ValueError`.
    """

    experiment: str = ""
    system: Text
    workload: str = ""
    quantity: Text
    split: Literal["", "train", "validation", "test"] = ""
    epoch: Count | None = None
    final: Literal["", "yes"] = ""
    global_batch: Count | None = None
    per_replica_batch: Count | None = None
    value: str
    spread: str = ""
    runs: Annotated[int, Meta(ge=2)] | None = None
    bound: Literal["", "lower", "upper", "about"] = ""
    decimals: Annotated[int, Meta(ge=0, le=30)] = 0
    unit: str = ""
    condition: str = ""
    note: str = ""
    best: bool = False
    flaws: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (value := _NUMBER.fullmatch(self.value)):
            raise ValueError(f"value {self.value!r} is no number such as 0.8848")
        if len(value[1] or "") > self.decimals:
            raise ValueError(f"value {self.value} has more than {self.decimals} decimals")
        is_number = _NUMBER.fullmatch(self.spread) and float(self.spread) >= 0
        if self.spread and not (is_number and self.runs):
            raise ValueError(
                f"spread {self.spread!r} is no standard deviation, as 0.0012, of so many `runs`, 2 or more"
            )
        if self.metric == "parameters" and self.unit not in ("", "count"):
            raise ValueError(
                f"unit {self.unit!r} of parameters; write how many, and the unit count"
            )
        is_share = self.metric.endswith(("accuracy", "_f1"))
        if is_share and (self.unit or self.is_error) and self.unit not in ("fraction", *_PERCENT):
            raise ValueError(f"unit {self.unit!r} of {self.quantity} is neither % nor fraction")
        if is_share and not 0 <= self.number <= 1:
            raise ValueError(
                f"value of {self.quantity}, {self.value}, is no share, 0 to 1, or 0 to 100 of unit %; "
                "correct value or unit"
            )
        if self.metric.endswith("_time") and self.unit not in _SECONDS:
            raise ValueError(
                f"unit {self.unit!r} of a time is none of {', '.join(_SECONDS)}; write the time in one"
            )

    @property
    def is_error(self) -> bool:
        """Return whether it is printed as an error rate, which is 1 - accuracy."""
        return bool(self.split and _ERROR_RATE.fullmatch(self.quantity.lower()))

    @property
    def metric(self) -> str:
        """The quantity with its split, as `test_accuracy`, which an error rate is turned into."""
        name = self.quantity
        if self.is_error:
            name = "top5_accuracy" if "5" in name else "accuracy"
        return f"{self.split}_{name}" if self.split else name

    @property
    def _places(self) -> int:
        """By how many places the point is moved: a fraction may be printed in percent."""
        return 2 if self.unit in _PERCENT and self.metric.endswith(_FRACTIONS) else 0

    @property
    def rounding(self) -> float:
        """What the published outcome is that near to `number`: half a unit of the last printed digit.

        It is a whole unit where the source says "about"; of such a count the zeros at its end are no digits.
        """
        if self.bound != ABOUT:
            return 0.5 * 10.0 ** -(self.decimals + self._places)
        digits = self.value.rstrip("0") if self.quantity == "parameters" else self.value
        return 10.0 ** (len(self.value) - len(digits) - self.decimals - self._places)

    @property
    def number(self) -> float:
        """The value as a number: of an error rate the accuracy, of percent the fraction."""
        value = Decimal(self.value).scaleb(-self._places)
        return float(1 - value if self.is_error else value)

    @property
    def deviation(self) -> tuple[float, float]:
        """The standard deviation, in the unit of `number`, and half a unit of its last printed digit."""
        if not self.spread:
            return math.nan, math.nan
        digits = len(self.spread.partition(".")[2]) + self._places
        return float(Decimal(self.spread).scaleb(-self._places)), 0.5 * 10.0**-digits

    @property
    def limit(self) -> str:
        """The bound that is stated of `number`: `LOWER`, `UPPER` or none."""
        stated = self.bound if self.bound in _OPPOSITE else ""
        return _OPPOSITE[stated] if stated and self.is_error else stated

    @property
    def seconds(self) -> float:
        """A published time in seconds; raises `KeyError` for a value that is no time."""
        return self.number * _SECONDS[self.unit]

    @property
    def is_outcome(self) -> bool:
        """Return whether it is a loss, an accuracy or another metric of a task, on one split."""
        return self.metric.startswith(tuple(f"{split}_" for split in MEASURED))

    @property
    def printed(self) -> str:
        """Value and unit, as the source states them."""
        value = f"{_BOUNDS[self.bound]}{float(self.value):.{self.decimals}f}"
        spread = f" ± {self.spread}" if self.spread else ""
        unit = "" if self.unit in ("", "fraction", "count") else f" {self.unit}"
        places = self.decimals + self._places
        is_converted = self._places or self.is_error
        as_measured = f"{_BOUNDS[self.limit]}{self.number:.{places}f}" if is_converted else ""
        runs = f"mean of {self.runs} runs" if self.runs else ""
        remarks = "; ".join(filter(None, [as_measured, runs]))
        remarks = f" ({remarks})" if remarks else ""
        return f"{value}{spread}{unit}{' error' * self.is_error}{remarks}"


class System(Closed, kw_only=True):
    """The conditions of a system, as far as the source states them

    model: settings of the model that a run must have, as text
    replicas: copies of the model
    global_batch: examples of a step over all replicas, unless a number has a batch of its own
    steps_per_epoch: steps of an epoch
    epoch_examples: training examples of an epoch
    training_time: what a published training time covers
    input_shape: of an example, such as 224 x 224 x 3
    second_workload: another workload, which explains numbers that differ from those of the
        first
    hardware: what it ran on, as the source says
    version: framework and version, such as Keras 2.1.5
    date: when it ran or was published, such as 2018-03
    device: of a product of matrices (m, k) @ (k, n)
    precision: precision of the operands of a product
    m: rows of its first matrix
    k: columns of its first matrix
    n: columns of its second matrix
    """

    model: dict[str, str] = field(default_factory=dict)
    replicas: Count | None = None
    global_batch: Count | None = None
    steps_per_epoch: Count | None = None
    epoch_examples: Count | None = None
    training_time: Literal["", "whole run", "fit call"] = ""
    input_shape: str = ""
    second_workload: str = ""
    hardware: str = ""
    version: str = ""
    date: str = ""
    device: Literal["", "cpu", "gpu", "tpu"] = ""
    precision: str = ""
    m: Count | None = None
    k: Count | None = None
    n: Count | None = None


class Protocol(System, kw_only=True):
    """A system's conditions with the workload of its numbers and its epochs, empty if they are of none."""

    workload: str = ""
    epochs: Count | None = None

    @property
    def program(self) -> "Protocol":
        """What was trained, wherever and whenever: published runs of one program are a sample."""
        return replace(self, hardware="", version="", date="")

    def batch_of(self, row: Row) -> int | None:
        """Examples per step over all replicas of a published row; None where it is not stated."""
        if row.per_replica_batch is not None:
            return row.per_replica_batch * (self.replicas or 1)
        return row.global_batch if row.global_batch is not None else self.global_batch


class Flaw(Closed, kw_only=True):
    """An error of some rows, which are shown and count in no verdict

    text: what is wrong
    metric: of these rows, such as train_loss
    epochs: of these rows
    system: of these rows
    """

    text: Text
    metric: str = ""
    epochs: list[Count] = field(default_factory=list)
    system: str = ""

    def __post_init__(self) -> None:
        if not (self.metric or self.epochs or self.system):
            raise ValueError("names no rows; add metric, epochs or system, or write the text alone")

    def added(self, row: Row) -> Row:
        """The row, with this flaw if it is one of those named."""
        names = "", row.metric, row.quantity, f"{row.split}_{row.quantity}"
        matches = self.metric in names and self.system in ("", row.system)
        if matches and (not self.epochs or row.epoch in self.epochs):
            return replace(row, flaws=(*row.flaws, self.text))
        return row


class Numbers(Closed):
    """What the numbers of an experiment, as numbers.csv names it, are compared by

    systems: which system used which protocol
    flaws: known errors and gaps of the source, which comparison tables repeat: texts, or mappings
        that name rows
    """

    systems: dict[str, System] = field(default_factory=dict)
    flaws: list[Text | Flaw] = field(default_factory=list)


class Published(Struct, frozen=True):
    """The numbers of one experiment of a paper: rows in file order, protocols by system, and the known flaws
    of the source."""

    rows: list[Row]
    protocols: dict[str, Protocol]
    flaws: list[str]


def read_numbers(
    folder: Path, numbers: dict[str, Numbers], workloads: dict[str, WorkloadBlock]
) -> dict[str, Published]:
    """The numbers of each experiment of a paper, whose file has these blocks.

    Raises `UserError` that names file, line and key.
    """
    published = {name: Published([], {}, []) for name in numbers}
    places: dict[tuple[Any, ...], str] = {}
    for where, cells in _lines(folder / NUMBERS):
        row = _row(cells, where, workloads)
        if row.experiment not in published:
            raise UserError(
                f"{where}: experiment {row.experiment!r} is not among `numbers` of {FILE}; add it there"
            )
        entry, systems = published[row.experiment], numbers[row.experiment].systems
        entry.rows.append(row)
        if not systems:
            continue
        if row.system not in systems:
            raise UserError(
                f"{where}: system {row.system!r} is not among `systems` of {FILE}; add it there"
            )
        epochs = workloads[row.workload].epochs if row.workload else None
        protocol = Protocol(**asdict(systems[row.system]), workload=row.workload, epochs=epochs)
        if entry.protocols.setdefault(row.system, protocol) != protocol:
            raise UserError(
                f"{where}: {row.system!r} has another workload in a row above; give the system another name"
            )
        number = row.experiment, row.system, row.metric, row.best, protocol.batch_of(row)
        afters = [f" after epoch {row.epoch}" if row.epoch else ""]
        afters += [" at the end of its run"] if row.final else []
        for after in afters if row.workload else []:
            if (first := places.setdefault((*number, after), where)) != where:
                raise UserError(
                    f"{where}: {row.metric} of {row.system!r}{after} is also on{first.rpartition(',')[2]}; "
                    "leave one of them out, or name two runs as two systems"
                )
    for name, entry in published.items():
        where = f"{folder / FILE}: numbers.{name}"
        if not entry.rows:
            raise UserError(f"{where}: {NUMBERS} has no row of this experiment; add one")
        for system, block in numbers[name].systems.items():
            if system not in entry.protocols:
                raise UserError(f"{where}.systems: {NUMBERS} has no row of {system!r}; correct it")
            if (second := block.second_workload) and second not in workloads:
                raise UserError(
                    f"{where}.systems.{system}.second_workload: {second!r} is none of {', '.join(workloads)}"
                )
        for at, flaw in enumerate(numbers[name].flaws):
            entry.flaws.append(flaw.text if isinstance(flaw, Flaw) else flaw)
            rows = [flaw.added(row) if isinstance(flaw, Flaw) else row for row in entry.rows]
            if isinstance(flaw, Flaw) and rows == entry.rows:
                raise UserError(f"{where}.flaws.{at}: {NUMBERS} has no such row; correct it")
            entry.rows[:] = rows
    return published


def numbers_of(published: Mapping[str, Any], experiment: str, where: str) -> Any:
    """What is known under the name of an experiment. Raises `UserError` naming the key, `where`."""
    if experiment not in published:
        raise UserError(
            f"{where}: no paper has numbers of {experiment!r}; there are those of {', '.join(published)}; "
            "name the folder of another paper in `papers`"
        )
    return published[experiment]


def _lines(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The rows of a CSV file as what is not empty in them, each with its place: file and line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            lines = []
            for cells in reader:
                where = f"{path}, line {reader.line_num}"
                if None in cells or None in cells.values():
                    width = len(reader.fieldnames or [])
                    raise UserError(f"{where}: has not {width} cells, as the first line has")
                lines.append((where, {key: cell for key, cell in cells.items() if cell}))
            return lines
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read as CSV in UTF-8 ({error})") from None


def _row(cells: dict[str, Any], where: str, workloads: dict[str, WorkloadBlock]) -> Row:
    """A row from the cells of a line that are not empty.

    A final number is of the workload's last epoch, as is the best of its epochs.
    """
    best = cells.get("epoch") == _BEST
    if best:
        cells = {key: cells[key] for key in cells if key != "epoch"} | {"final": "yes"}
    for name in _WHOLE:
        if not cells.get(name, "0").isdecimal():
            raise UserError(f"{where}: {name} {cells[name]!r} is no whole number")
    printed = len(cells.get("value", "").partition(".")[2])
    whole = {name: int(cells[name]) for name in _WHOLE if name in cells}
    row: Row = decoded({"decimals": printed, **cells, **whole}, Row, where)
    if row.workload and row.workload not in workloads:
        raise UserError(
            f"{where}: workload {row.workload!r} is none of {FILE}, which has {', '.join(workloads)}"
        )
    if best and not (row.workload and row.split):
        raise UserError(f"{where}: epoch {_BEST} is of a workload's metric on a split; write both")
    _check_metric(row, where, workloads)
    if row.final and row.workload and row.epoch is None:
        row = replace(row, epoch=workloads[row.workload].epochs)
    if row.workload and (row.epoch or 0) > (epochs := workloads[row.workload].epochs):
        raise UserError(
            f"{where}: epoch {row.epoch} of {row.system!r} is beyond the {epochs} epochs of workload "
            f"{row.workload}; correct it, or `epochs` of the workload in {FILE}"
        )
    return replace(row, best=best)


def _check_metric(row: Row, where: str, workloads: dict[str, WorkloadBlock]) -> None:
    """Raise `UserError` for a number of a workload, or of a split, that nothing measures.

    Other numbers are facts that the source states: they are shown, and never compared.
    """
    task = workloads[row.workload].task if row.workload else None
    metrics = task.metric_names if task else tuple(METRICS)
    if row.split == "validation" and row.workload and not workloads[row.workload].validation:
        raise UserError(
            f"{where}: split validation, and workload {row.workload} holds no training examples out; give it "
            "`validation`, {last: 0.1} say"
        )
    measured = {f"{split}_{name}" for split in MEASURED for name in metrics}
    measured |= {*OF_RUNS, *(f"target_{name}" for name in metrics)}
    in_nats = row.quantity == "loss" and task and task.name != "regression"
    if in_nats and not (row.unit or "nats").startswith("nats"):  # as "nats per token"
        raise UserError(
            f"{where}: unit {row.unit!r} of a loss; convert it to nats, or leave the row out"
        )
    if row.metric in measured or not (row.workload or row.split):
        return
    metric = row.quantity.lower()
    if not row.split and (metric in metrics or _ERROR_RATE.fullmatch(metric)):
        raise UserError(f"{where}: metric {metric!r} has no split; write train, validation or test")
    if task and task.name == "classification" and row.metric.endswith("top5_accuracy"):
        raise UserError(
            f"{where}: workload {row.workload} does not measure top-5 accuracy; give it `task: {{name: "
            "classification, top5: true}`, or leave the row out"
        )
    raise UserError(
        f"{where}: metric {row.quantity!r} is none of {', '.join(metrics)}, of a split, and "
        f"{', '.join(OF_RUNS)}, of none; leave the row out"
        f"{meant(row.quantity, METRICS)}"
    )
