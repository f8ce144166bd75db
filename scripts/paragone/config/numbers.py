"""The numbers of a paper: the rows of numbers.csv, and what paper.yaml says of their systems."""

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import asdict, replace

from paragone.base.errors import UserError
from paragone.config.datasets import MEASURED
from paragone.config.decode import decoded
from paragone.config.schema import Closed, Count, Text, WorkloadBlock
from paragone.tasks import METRICS

FILE, NUMBERS, SPREAD = "paper.yaml", "numbers.csv", "spread.csv"
LOWER, UPPER = "lower", "upper"  # kinds of stated bounds
_BOUNDS = {"": "", LOWER: "over ", UPPER: "under "}
_SECONDS = {"s": 1.0, "ms": 1e-3}  # of the units of published times
_NUMBER = re.compile(r"-?\d+(?:\.(\d+))?")
# What is measured of a run beside the metrics of its task: `analysis.cells` has how.
OF_RUNS = ("training_time", "step_time", "epoch_time", "throughput", "parameters")
_ERROR_RATE = re.compile(r"(top[-_ ]?1[-_ ]?|misclassification[-_ ]?)?(err|error)([-_ ]?rate)?")
_WHOLE = ("epoch", "decimals", "global_batch", "per_replica_batch")


class Row(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"quantity": "metric"}
):
    """One published number, a row of numbers.csv, and what the source says of it.

    `quantity`: a metric, of one `split` where it is an outcome. `value` is as printed, with so many
    `decimals`. `bound` is `LOWER` or `UPPER` where the source states a bound. The number holds after `epoch`,
    which is the end of the run where it is `final`. The batch of a step is stated over all replicas or per
    replica, or not at all. `condition` and `note` are prose for readers. A row that is no number raises
    `ValueError`.
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
    bound: Literal["", "lower", "upper"] = ""
    decimals: Annotated[int, Meta(ge=0, le=30)] = 0
    unit: str = ""
    condition: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if not (value := _NUMBER.fullmatch(self.value)):
            raise ValueError(f"value {self.value!r} is no number such as 0.8848")
        if len(value[1] or "") > self.decimals:
            raise ValueError(f"value {self.value} has more than {self.decimals} decimals")
        if self.metric.endswith(("accuracy", "_f1")) and not 0 <= self.number <= 1:
            raise ValueError(
                f"value of {self.metric}, {self.value}, is no fraction; write 0.884 for 88.4 %"
            )
        if self.metric.endswith("_time") and self.unit not in _SECONDS:
            raise ValueError(
                f"unit {self.unit!r} of a time is none of {', '.join(_SECONDS)}; write the time in one"
            )

    @property
    def metric(self) -> str:
        """The quantity with its split, as `test_accuracy`."""
        return f"{self.split}_{self.quantity}" if self.split else self.quantity

    @property
    def rounding(self) -> float:
        """Half a unit of the last printed digit: the published outcome is that near to `number`."""
        return 0.5 * 10.0**-self.decimals

    @property
    def number(self) -> float:
        """The value as a number."""
        return float(self.value)

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
        unit = "" if self.unit in ("fraction", "count") else f" {self.unit}"
        return f"{_BOUNDS[self.bound]}{self.number:.{self.decimals}f}{unit}"


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
    device: Literal["", "cpu", "gpu", "tpu"] = ""
    precision: str = ""
    m: Count | None = None
    k: Count | None = None
    n: Count | None = None


class Protocol(System, kw_only=True):
    """A system's conditions with the workload that its numbers are of, empty if they are of none."""

    workload: str = ""

    def batch_of(self, row: Row) -> int | None:
        """Examples per step over all replicas of a published row; None where it is not stated."""
        if row.per_replica_batch is not None:
            return row.per_replica_batch * (self.replicas or 1)
        return row.global_batch if row.global_batch is not None else self.global_batch


class Numbers(Closed):
    """What the numbers of an experiment, as numbers.csv names it, are compared by

    systems: which system used which protocol
    flaws: known errors and gaps of the source; comparison tables repeat them
    """

    systems: dict[str, System] = field(default_factory=dict)
    flaws: list[Text] = field(default_factory=list)


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
    published = {name: Published([], {}, block.flaws) for name, block in numbers.items()}
    for where, cells in _lines(folder / NUMBERS):
        row = _row(cells, where, workloads)
        if row.experiment not in published:
            raise UserError(
                f"{where}: experiment {row.experiment!r} is not among `numbers` of {FILE}; add it there"
            )
        entry, systems = published[row.experiment], numbers[row.experiment].systems
        entry.rows.append(row)
        if systems:
            _add_protocol(entry.protocols, systems, row, where)
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
    return published


def numbers_of(published: Mapping[str, Any], experiment: str, where: str) -> Any:
    """What is known under the name of an experiment. Raises `UserError` naming the key, `where`."""
    if experiment not in published:
        raise UserError(
            f"{where}: no paper has numbers of {experiment!r}; there are those of {', '.join(published)}; "
            "name the folder of another paper in `papers`"
        )
    return published[experiment]


def _add_protocol(
    protocols: dict[str, Protocol], systems: dict[str, System], row: Row, where: str
) -> None:
    if row.system not in systems:
        raise UserError(
            f"{where}: system {row.system!r} is not among `systems` of {FILE}; add it there"
        )
    protocol = Protocol(**asdict(systems[row.system]), workload=row.workload)
    if protocols.setdefault(row.system, protocol) != protocol:
        raise UserError(
            f"{where}: {row.system!r} has another workload in a row above; give the system another name"
        )


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
    """A row from the cells of a line that are not empty; a final number is of the workload's last epoch."""
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
    _check_metric(row, where, workloads)
    if row.final and row.workload and row.epoch is None:
        row = replace(row, epoch=workloads[row.workload].epochs)
    return row


def _check_metric(row: Row, where: str, workloads: dict[str, WorkloadBlock]) -> None:
    """Raise `UserError` for a number of a workload, or of a split, that nothing measures.

    Other numbers are facts that the source states: they are shown, and never compared.
    """
    metrics = workloads[row.workload].task.kind.metrics if row.workload else tuple(METRICS)
    if row.split == "validation" and row.workload and not workloads[row.workload].validation:
        raise UserError(
            f"{where}: split validation, and workload {row.workload} holds no training examples out; give it "
            "`validation`, {last: 0.1} say"
        )
    measured = {f"{split}_{name}" for split in MEASURED for name in metrics}
    measured |= {*OF_RUNS, *(f"target_{name}" for name in metrics)}
    if row.metric in measured or not (row.workload or row.split):
        return
    metric = row.quantity.lower()
    if metric in metrics:
        raise UserError(f"{where}: metric {metric!r} has no split; write train, validation or test")
    remedy = "leave the row out"
    if "accuracy" in metrics and _ERROR_RATE.fullmatch(metric):
        digits = 2 if row.unit in ("%", "percent") or row.number > 1 else 0
        remedy = f"write accuracy {1 - row.number / 10**digits:.{row.decimals + digits}f}"
    raise UserError(
        f"{where}: metric {row.quantity!r} is none of {', '.join(metrics)}, of a split, and "
        f"{', '.join(OF_RUNS)}, of none; {remedy}"
    )
