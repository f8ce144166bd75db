"""The numbers of a paper: the rows of numbers.csv, and what paper.yaml says of their systems."""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, field
from msgspec.structs import asdict

from paragone.base.errors import UserError
from paragone.config.read import read
from paragone.config.schema import Closed, Count, Text

FILE, NUMBERS, SPREAD = "paper.yaml", "numbers.csv", "spread.csv"
LOWER, UPPER = "lower", "upper"  # kinds of stated bounds
SPLITS = ("train", "test")
Found = TypeVar("Found")
_BOUNDS = {"": "", LOWER: "over ", UPPER: "under "}
_SECONDS = {"s": 1.0, "ms": 1e-3}  # of the units of published times
_NUMBER = re.compile(r"-?\d+(?:\.(\d+))?")
_WHOLE = ("epoch", "decimals", "global_batch", "per_replica_batch")
_NEEDED = ("experiment", "system", "metric", "value")
_COLUMNS = ["experiment", "system", "workload", "metric", "split", "epoch", "final", "global_batch"]
_COLUMNS += ["per_replica_batch", "value", "bound", "decimals", "unit", "condition", "note"]


@dataclass(frozen=True)
class Row:
    """One published number, a row of numbers.csv, and what the source says of it.

    `metric`: with its split, as `test_accuracy`. `value` is as printed, with so many `decimals`; None
    where nothing is known of them. `bound` is `LOWER` or `UPPER` where the source states a bound, else
    empty. The number holds after `epoch`, which is the end of the run where `final`. The batch of a step is
    stated over all replicas or per replica, or not at all. `condition` and `note` are prose for readers.
    """

    metric: str
    condition: str
    system: str
    value: str
    unit: str = ""
    note: str = ""
    workload: str = ""
    bound: Literal["", "lower", "upper"] = ""
    decimals: Annotated[int, Meta(ge=0, le=30)] | None = None
    epoch: Count | None = None
    final: bool = False
    global_batch: Count | None = None
    per_replica_batch: Count | None = None

    @property
    def rounding(self) -> float:
        """Half a unit of the last printed digit: the published outcome is that near to `number`."""
        decimals = len(self.value.partition(".")[2]) if self.decimals is None else self.decimals
        return 0.5 * 10.0**-decimals

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
        return self.metric.startswith(tuple(f"{split}_" for split in SPLITS))

    @property
    def digits(self) -> str:
        """The value with the digits that the source prints."""
        return self.value if self.decimals is None else f"{self.number:.{self.decimals}f}"

    @property
    def printed(self) -> str:
        """Value and unit, as the source states them."""
        unit = "" if self.unit in ("fraction", "count") else f" {self.unit}"
        return f"{_BOUNDS[self.bound]}{self.digits}{unit}"


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


@dataclass(frozen=True)
class Published:
    """The numbers of one experiment of a paper: rows in file order, protocols by system, and the known flaws
    of the source."""

    rows: list[Row]
    protocols: dict[str, Protocol]
    flaws: list[str]


def read_numbers(folder: Path, blocks: dict[str, Any] | None = None) -> dict[str, Published]:
    """The numbers of each experiment of a paper, whose file has these `blocks`, read if they are not given.

    Raises `UserError` that names file, line and key.
    """
    path = folder / NUMBERS
    blocks = read(folder / FILE) if blocks is None else blocks
    try:
        numbers = msgspec.convert(blocks.get("numbers"), dict[str, Numbers])
    except ValueError as error:
        raise UserError(f"{folder / FILE}: numbers: {error}") from None
    published = {name: Published([], {}, block.flaws) for name, block in numbers.items()}
    for line, cells in _lines(path):
        where = f"{path}, line {line}"
        if (name := cells.pop("experiment", "")) not in published:
            raise UserError(
                f"{where}: experiment {name!r} is not among `numbers` of {FILE}; add it there"
            )
        row = _row(cells, where, blocks.get("workloads", {}))
        published[name].rows.append(row)
        if systems := numbers[name].systems:
            _add_protocol(published[name].protocols, systems, row, where)
    for name, entry in published.items():
        for system, protocol in entry.protocols.items():
            if (second := protocol.second_workload) and second not in blocks.get("workloads", {}):
                raise UserError(
                    f"{folder / FILE}: numbers.{name}.systems.{system}.second_workload: {second!r} is none "
                    f"of {', '.join(blocks.get('workloads', {}))}"
                )
        _check(f"{folder / FILE}: numbers.{name}", entry, numbers[name])
    return published


def numbers_of(published: Mapping[str, Found], experiment: str, where: str) -> Found:
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


def _check(where: str, published: Published, numbers: Numbers) -> None:
    """Raise `UserError` for what no row of numbers.csv has."""
    if not published.rows:
        raise UserError(f"{where}: {NUMBERS} has no row of this experiment; add one")
    for system in numbers.systems:
        if system not in published.protocols:
            raise UserError(f"{where}.systems: {NUMBERS} has no row of {system!r}; correct it")


def _lines(path: Path) -> list[tuple[int, dict[str, str]]]:
    """The rows of a CSV file as what is not empty in them, each with the number of its line."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            columns = reader.fieldnames or []
            for name in columns:
                if name not in _COLUMNS:
                    raise UserError(f"{path}: column {name!r} is none of {', '.join(_COLUMNS)}")
            for name in _NEEDED:
                if name not in columns:
                    raise UserError(f"{path}: has no column {name!r}; add it")
            lines = []
            for cells in reader:
                if None in cells or None in cells.values():
                    raise UserError(
                        f"{path}, line {reader.line_num}: has not {len(columns)} cells, as the first line has"
                    )
                lines.append((reader.line_num, {key: cell for key, cell in cells.items() if cell}))
            return lines
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read as CSV in UTF-8 ({error})") from None


def _row(cells: dict[str, str], where: str, workloads: dict[str, Any]) -> Row:
    """A row from the cells of a line that are not empty; a final number is of the workload's last epoch."""
    for name in _NEEDED[1:]:
        if name not in cells:
            raise UserError(f"{where}: has no {name}; add it")
    if not (value := _NUMBER.fullmatch(cells["value"])):
        raise UserError(f"{where}: value {cells['value']!r} is no number such as 0.8848")
    if (workload := cells.get("workload", "")) and workload not in workloads:
        raise UserError(
            f"{where}: workload {workload!r} is none of {FILE}, which has {', '.join(workloads)}"
        )
    if (split := cells.pop("split", "")) and split not in SPLITS:
        raise UserError(f"{where}: split {split!r} is none of {', '.join(SPLITS)}")
    if (final := cells.pop("final", "")) not in ("", "yes"):
        raise UserError(f"{where}: final {final!r} is not yes; leave it empty, or write yes")
    for name in _WHOLE:
        if not cells.get(name, "0").isdecimal():
            raise UserError(f"{where}: {name} {cells[name]!r} is no whole number")
    printed = len(value[1] or "")
    keys: dict[str, Any] = {"condition": "", "decimals": printed, "final": bool(final), **cells}
    keys["metric"] = f"{split}_{cells['metric']}" if split else cells["metric"]
    if final and workload:
        keys.setdefault("epoch", workloads[workload]["epochs"])
    try:
        row = msgspec.convert(keys, Row, strict=False)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from None
    if row.decimals is not None and row.decimals < printed:
        raise UserError(f"{where}: value {row.value} has more than {row.decimals} decimals")
    if row.metric.endswith(("accuracy", "_f1")) and not 0 <= row.number <= 1:
        raise UserError(f"{where}: {row.metric} {row.value} is no fraction; write 0.884 for 88.4 %")
    if row.metric.endswith("_time") and row.unit not in _SECONDS:
        raise UserError(
            f"{where}: unit {row.unit!r} of a time is none of {', '.join(_SECONDS)}; write the time in one"
        )
    return row
