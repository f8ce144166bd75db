"""Texts in a CSV, TSV or Parquet file: one column of texts, one of labels."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from paragone.base.errors import UserError, first_sentence
from paragone.config.datasets import SPLITS, of_split
from paragone.data.forms import TEXTS, WHOLE, Raw, Stream

ROWS = 1000  # of a Parquet file that are read at a time


def read(source: dict, scratch: Path, kept: Path) -> Raw:
    """Read texts with their labels, ordered as numbers where they are numbers."""
    options, path = source["parameters"], source["path"]
    named = SPLITS if isinstance(path, dict) else (WHOLE,)
    text, label = options.get("text", "text"), options.get("label", "label")
    files = {name: Path(of_split(path, name)) for name in named}
    counts = {name: _count(file, label) for name, file in files.items()}
    names = tuple(sorted({value for count in counts.values() for value in count}, key=_by_number))
    return Raw(
        kind=TEXTS,
        streams={
            name: _stream(file, text, label, names, sum(counts[name].values()))
            for name, file in files.items()
        },
        class_names=names,
        made_by=f"pyarrow {pa.__version__}",
    )


def _by_number(name: str) -> tuple[float, str]:
    """The key that sorts numbers as numbers, before other labels."""
    return (float(name), name) if name.removeprefix("-").isdecimal() else (np.inf, name)


def _count(file: Path, label: str) -> Counter[str]:
    """The number of rows of each label."""
    counts: Counter[str] = Counter()
    for (labels,) in _columns(file, [label]):
        counts.update(labels)
    return counts


def _stream(file: Path, text: str, label: str, names: tuple[str, ...], examples: int) -> Stream:
    codes = {name: code for code, name in enumerate(names)}

    def chunks() -> Iterator[tuple[list[str], np.ndarray]]:
        for texts, labels in _columns(file, [text, label]):
            yield texts, np.array([codes[value] for value in labels])

    return Stream(examples, chunks)


def _columns(file: Path, names: list[str]) -> Iterator[list[list[str]]]:
    """Yield parts of these columns as strings. Raises `UserError` for missing columns and empty fields."""
    row = 0
    try:
        for batch in _batches(file, names):
            columns = [column.cast(pa.string()) for column in batch.columns]
            for name, column in zip(names, columns, strict=True):
                if column.null_count:
                    missing = row + column.is_null().index(True).as_py() + 1
                    raise UserError(f"{file}: row {missing} has no {name!r}; remove or fill it")
            row += len(batch)
            if len(batch):
                yield [column.to_pylist() for column in columns]
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{file}: cannot be read: {first_sentence(error)}") from None


def _batches(file: Path, names: list[str]) -> Iterator[Any]:
    if file.suffix == ".parquet":
        table = parquet.ParquetFile(file)
        _require(file, names, table.schema_arrow.names)
        for batch in table.iter_batches(batch_size=ROWS, columns=names):
            yield batch.select(names)
        return
    parse = csv.ParseOptions(
        delimiter="\t" if file.suffix == ".tsv" else ",", newlines_in_values=True
    )
    # Every column is read as strings, so that "007" stays what it is. An empty field is a missing value.
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
    )
    with csv.open_csv(file, parse_options=parse, convert_options=convert) as reader:
        _require(file, names, reader.schema.names)
        for batch in reader:
            yield batch.select(names)


def _require(file: Path, names: list[str], present: list[str]) -> None:
    for name in names:
        if name not in present:
            raise UserError(f"{file}: there is no column {name!r}; there are {', '.join(present)}")
