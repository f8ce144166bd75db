"""Texts or numbers in the columns of a CSV, TSV or Parquet file, with a column of labels, or targets."""

import bz2
import codecs
import csv
import gzip
import io
import json
import lzma
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from paragone.base.errors import UserError, first_sentence
from paragone.config.datasets import SPLITS, of_split
from paragone.data.contents import BYTES, kind_of
from paragone.data.forms import ARRAYS, TEXTS, WHOLE, Raw, Stream, by_number, indicators

ROWS = 1000  # that are read at a time
csv.field_size_limit(2**31 - 1)  # a text may be a book
# By what packed files begin with: browsers unpack some and leave their names.
_PACKED: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
_PACKED_NAMES = (".gz", ".bz2", ".xz")
_SEPARATOR = re.compile('"?sep=(.)"?[\r\n]*')  # the first line, in files for Excel
# What begins a file, its encoding. UTF-32 before UTF-16, whose mark it begins with.
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_UNDECODED = re.compile("[\udc80-\udcff]")
Part = list[tuple[str, ...]]


def read(source: dict, scratch: Path, kept: Path) -> Raw:
    """Read texts with their labels, ordered as numbers where they are numbers; or columns of numbers."""
    options, path = source["parameters"], source["path"]
    named = SPLITS if isinstance(path, dict) else (WHOLE,)
    text, label = options.get("text", "text"), options.get("label", "label")
    files = {name: Path(of_split(path, name)) for name in named}
    treated: Counter[str] = Counter()
    if "columns" in options:
        return _of_numbers(files, options, treated)
    counts: dict[str, Counter[str]] = {name: Counter() for name in named}
    for name, file in files.items():
        for part in _columns(file, [text, label], options, treated):
            counts[name].update(value for _, value in part)
            texts = [each.strip() for each, _ in part]
            treated["texts of several lines"] += sum("\n" in each or "\r" in each for each in texts)
            marked = (len(each) > 1 and each[0] == each[-1] == '"' for each in texts)
            treated["texts between quotation marks, which are kept as part of them"] += sum(marked)
    names = tuple(sorted({value for count in counts.values() for value in count}, key=by_number))
    codes = {name: code for code, name in enumerate(names)}

    def stream(name: str) -> Stream:
        def chunks() -> Iterator[tuple[list[str], np.ndarray]]:
            for part in _columns(files[name], [text, label], options, Counter()):
                yield [each for each, _ in part], np.array([codes[value] for _, value in part])

        title = f"column {text!r} of {files[name]}"
        return Stream(sum(counts[name].values()), chunks, title)

    return Raw(
        kind=TEXTS,
        streams={name: stream(name) for name in named},
        class_names=names,
        made_by=f"pyarrow {pa.__version__}",
        labels_from=f"column {label!r} of {', '.join(map(str, files.values()))}",
        treated=treated,
    )


def _of_numbers(files: dict[str, Path], options: dict, treated: Counter[str]) -> Raw:
    """Read columns of numbers with labels, targets or indicators, at once: a table is small."""
    inputs, named = options["columns"], options.get("indicators", [])
    targets = options.get("targets", named)
    wanted = [*inputs, *(targets or [options.get("label", "label")])]
    columns: dict[str, list[tuple[str, ...]]] = {}
    for name, file in files.items():
        parts = _columns(file, wanted, options, treated)
        columns[name] = list(zip(*chain.from_iterable(parts), strict=True)) or [()] * len(wanted)
    classes = sorted({v for each in columns.values() for v in each[-1]}, key=by_number)
    codes = {name: code for code, name in enumerate(named if targets else classes)}

    def stream(name: str) -> Stream:
        numbers = [
            _numbers(files[name], column, values)
            for column, values in zip([*inputs, *targets], columns[name], strict=False)
        ]
        table = np.stack(numbers, axis=1)
        labels = table[:, len(inputs) :]
        if named:
            indicators(labels, f"{', '.join(named)} of {files[name]}")
        elif not targets:
            labels = np.array([codes[value] for value in columns[name][-1]])
        found = table[:, : len(inputs)], labels
        return Stream(
            len(table), lambda: iter([found]), f"columns {', '.join(inputs)} of {files[name]}"
        )

    return Raw(
        kind=ARRAYS,
        streams={name: stream(name) for name in files},
        class_names=tuple(codes),
        made_by=f"pyarrow {pa.__version__}",
        label_shape=(len(targets),) if targets else (),
        shape=(len(inputs),),
        dtype=np.float32,
        labels_from=f"{', '.join(wanted[len(inputs) :])} of {', '.join(map(str, files.values()))}",
        treated=treated,
    )


def _numbers(file: Path, column: str, values: tuple[str, ...]) -> np.ndarray:
    """The values of a column as float32. Raises `UserError` that names the row of one that is no number."""
    found = np.full(len(values), np.nan, np.float32)
    for row, value in enumerate(values):
        with suppress(ValueError), np.errstate(over="ignore"):
            found[row] = float(value)
        if not np.isfinite(found[row]):
            raise UserError(
                f"{file}: row {row + 1} has {value!r} in column {column!r}, which is no number, or none that "
                "is finite as float32; correct it, or leave the column out"
            )
    return found


def _columns(file: Path, names: list[str], options: dict, treated: Counter[str]) -> Iterator[Part]:
    """Yield parts of the rows, the values of these columns as strings.

    Raises `UserError` that names the row, from 1 on after the header, for a field that is empty or missing,
    and for a folder.
    """
    first = 1
    if file.is_dir():
        raise UserError(f"{file}: is a folder; name one file, to which its parts are joined")
    try:
        with file.open("rb") as content:
            columnar = file.suffix == ".parquet" or content.read(4) == b"PAR1"
        reading = _parquet if columnar else _delimited
        for part in reading(file, names, options, treated):
            for row, values in enumerate(part, first):
                for name, value in zip(names, values, strict=True):
                    if not value.strip():
                        raise UserError(f"{file}: row {row} has no {name!r}; remove or fill it")
            first += len(part)
            yield part
    except (pa.ArrowException, OSError, EOFError, lzma.LZMAError) as error:
        raise UserError(f"{file}: cannot be read: {first_sentence(error)}") from None


def _parquet(file: Path, names: list[str], options: dict, treated: Counter[str]) -> Iterator[Part]:
    table = parquet.ParquetFile(file)
    _require(file, names, table.schema_arrow.names)
    for name in names:
        kind = table.schema_arrow.field(name).type
        if pa.types.is_nested(kind):
            raise UserError(f"{file}: column {name!r} holds {kind}; store a string in each row")
    for batch in table.iter_batches(batch_size=ROWS, columns=names):
        columns = [batch.column(name) for name in names]
        texts = (
            pc.if_else(pc.is_null(column, nan_is_null=True), "", column.cast(pa.string()))
            for column in columns
        )
        yield list(zip(*(each.to_pylist() for each in texts), strict=True))


def _delimited(
    file: Path, names: list[str], options: dict, treated: Counter[str]
) -> Iterator[Part]:
    """Rows of a CSV or TSV file, which may be packed. Every field is a string; only `names` are looked at."""
    with file.open("rb") as content:
        begin = content.read(BYTES)
    packed = next((packed for first, packed in _PACKED.items() if begin.startswith(first)), None)
    tabs = (file.with_suffix("") if file.suffix in _PACKED_NAMES else file).suffix
    with (packed or open)(file, "rb") as content:
        lines = _lines(file, content, options.get("encoding", "utf-8"))
        first = next(lines, "")
        declared = _SEPARATOR.fullmatch(first)
        usual = declared[1] if declared else "\t" if tabs in (".tsv", ".tab") else ","
        delimiter = str(options.get("delimiter", usual))
        quoting = options.get("quoting", delimiter != "\t")
        # Strict: a quotation mark that nothing closes, or after which a field goes on, is an error.
        reader = csv.reader(
            chain([first], lines),
            delimiter=delimiter,
            quoting=csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE,
            strict=True,
        )
        if declared:
            next(reader)
        header = next(_rows(file, reader, quoting), [])
        _require(file, names, header, delimiter)
        at = [header.index(name) for name in names]
        rows = _chosen(file, _rows(file, reader, quoting), len(header), at, treated)
        while part := list(islice(rows, ROWS)):
            yield part


def _lines(file: Path, content: IO[bytes], encoding: str) -> Iterator[str]:
    """The lines of a file as text, with their ends. Raises `UserError` for what is no text in it."""
    begin = content.read(BYTES)
    content.seek(0)
    if kind := kind_of(begin):
        raise UserError(f"{file}: is {kind}")
    encoding = next((known for mark, known in _MARKS.items() if begin.startswith(mark)), encoding)
    remedy = "say which one it has, `encoding: cp1252` or `encoding: utf-16` say"
    text = io.TextIOWrapper(content, encoding, errors="surrogateescape", newline="")
    try:
        for number, line in enumerate(text, 1):
            if "\0" in line or _UNDECODED.search(line):
                raise UserError(f"{file}: line {number} is not text in {encoding}; {remedy}")
            yield line
    except UnicodeError:
        raise UserError(f"{file}: is not text in {encoding}; {remedy}") from None


def _rows(file: Path, reader: Any, quoting: bool) -> Iterator[list[str]]:
    """The rows of a reader. Raises `UserError` for a quotation mark that is not as in CSV files."""
    try:
        yield from reader
    except csv.Error as error:
        remedy = (
            "; a mark in a field is written twice; where marks are characters of the text, say "
            "`quoting: false`"
        )
        remedy = remedy if quoting else ""
        raise UserError(f"{file}: line {reader.line_num}: {error}{remedy}") from None


def _chosen(
    file: Path, rows: Iterator[list[str]], fields: int, at: list[int], treated: Counter[str]
) -> Iterator[tuple[str, ...]]:
    """The fields at the places `at` of each row. Raises `UserError` for a row of more or fewer fields."""
    number = 0
    for row in rows:
        if not row:
            treated["empty lines, not read"] += 1
            continue
        number += 1
        if len(row) != fields:
            raise UserError(
                f"{file}: row {number} has {len(row)} fields, and the header has {fields}; correct the row, "
                "or the keys `delimiter` and `quoting` of the data set"
            )
        yield tuple(row[place] for place in at)


def _require(file: Path, names: list[str], present: list[str], delimiter: str = ",") -> None:
    if not present:
        raise UserError(f"{file}: cannot be read: it is empty; a table has a header and rows")
    for name in names:
        if name not in present:
            other = next((mark for mark in ";\t|," if mark != delimiter and mark in present[0]), "")
            remedy = (
                f"; say `delimiter: {json.dumps(other)}`" if len(present) == 1 and other else ""
            )
            remedy = "; say `quoting: true`" if f'"{name}"' in present else remedy
            same = [each for each in present if each.strip().casefold() == name.casefold()]
            remedy = f"; write it as it is there, {same[0]!r}" if same else remedy
            raise UserError(
                f"{file}: there is no column {name!r}; there are {', '.join(present)}{remedy}"
            )
        if present.count(name) > 1:
            raise UserError(
                f"{file}: has {present.count(name)} columns {name!r}; rename one of them"
            )
