"""Texts in a CSV, TSV or Parquet file: one column of texts, one of labels."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from paragone.base.errors import UserError, first_sentence
from paragone.config.datasets import SPLITS, of_split
from paragone.data.forms import TEXTS, WHOLE, Raw, Stream

ROWS = 1000  # of a Parquet file at a time


def read(source: dict, scratch: Path, kept: Path) -> Raw:
    """See `paragone.data.forms`."""
    options, path = source["parameters"], source["path"]
    named = SPLITS if isinstance(path, dict) else (WHOLE,)
    text, label = options.get("text", "text"), options.get("label", "label")
    files = {name: Path(of_split(path, name)) for name in named}
    counts = {name: _count(file, label) for name, file in files.items()}
    names = tuple(sorted({value for found in counts.values() for value in found}, key=_by_number))
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
    """Labels that are numbers are ordered as numbers, before others."""
    return (float(name), name) if name.removeprefix("-").isdecimal() else (np.inf, name)


def _count(file: Path, label: str) -> dict[str, int]:
    """How many rows each label has."""
    counts: dict[str, int] = {}
    for (labels,) in _columns(file, [label]):
        for value in labels:
            counts[value] = counts.get(value, 0) + 1
    return counts


def _stream(file: Path, text: str, label: str, names: tuple[str, ...], examples: int) -> Stream:
    codes = {name: code for code, name in enumerate(names)}

    def chunks() -> Iterator[tuple[list[str], np.ndarray]]:
        for texts, labels in _columns(file, [text, label]):
            yield texts, np.array([codes[value] for value in labels])

    return Stream(examples, chunks)


def _columns(file: Path, names: list[str]) -> Iterator[list[list[str]]]:
    """Parts of these columns as strings; `UserError` that names the file for what is not there or empty."""
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
        there = parquet.ParquetFile(file)
        _demand(file, names, there.schema_arrow.names)
        for batch in there.iter_batches(batch_size=ROWS, columns=names):
            yield batch.select(names)
        return
    parse = csv.ParseOptions(
        delimiter="\t" if file.suffix == ".tsv" else ",", newlines_in_values=True
    )
    # Strings whatever they look like: "007" is no 7. An empty field is a missing one.
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
    )
    with csv.open_csv(file, parse_options=parse, convert_options=convert) as reader:
        _demand(file, names, reader.schema.names)
        for batch in reader:
            yield batch.select(names)


def _demand(file: Path, names: list[str], there: list[str]) -> None:
    for name in names:
        if name not in there:
            raise UserError(f"{file}: there is no column {name!r}; there are {', '.join(there)}")
