"""Texts or numbers in the columns of a CSV, TSV, Parquet or JSON file, with labels, or targets."""

import bz2
import codecs
import csv
import gzip
import io
import json
import lzma
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from paragone.base.errors import UserError, first_sentence
from paragone.data import forms

ROWS = 1000  # that are read at a time
csv.field_size_limit(2**31 - 1)  # a text may be a book
# By what packed files begin with: browsers unpack some and leave their names.
_PACKED: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
_SEPARATOR = re.compile('"?sep=(.)"?[\r\n]*')  # the first line, in files for Excel
# What begins a file, its encoding. UTF-32 before UTF-16, whose mark it begins with.
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_OBJECTS = re.compile(r'\s*(\[\s*$|\[?\s*\{\s*($|["}]))')  # begins JSON, and no header
_UNDECODED = re.compile("[\udc80-\udcff]")
_Number = type("_Number", (str,), {})  # of JSON, as it is written there
_CONSTANTS = {None: "", True: "true", False: "false"}  # of JSON
Row = tuple[str, ...]


def read(source: dict, scratch: Path, store: Path) -> forms.Raw:
    """Read texts with their labels, ordered as numbers where they are numbers; or columns of numbers."""
    options = source["parameters"]
    return (_numbers if "columns" in options else _texts)(forms.paths(source), options)


def _texts(files: dict[str, Path], options: dict) -> forms.Raw:
    """Read texts in two passes: the classes, then chunks of the texts."""
    text, label = options.get("text", "text"), options.get("label", "label")
    treated: Counter[str] = Counter()
    counts: dict[str, Counter[str]] = {split: Counter() for split in files}
    for split, file in files.items():
        for content, value in _rows(file, [text, label], options, treated):
            counts[split][value] += 1
            content = content.strip()
            treated["texts of several lines"] += "\n" in content or "\r" in content
            marked = len(content) > 1 and content[0] == content[-1] == '"'
            treated["texts between quotation marks, which are kept as part of them"] += marked
    names = tuple(sorted({*chain.from_iterable(counts.values())}, key=forms.by_number))
    codes = {name: code for code, name in enumerate(names)}

    def chunks(file: Path) -> Iterator[tuple[list[str], np.ndarray]]:
        rows = _rows(file, [text, label], options, Counter())
        while part := list(islice(rows, ROWS)):
            yield [content for content, _ in part], np.array([codes[value] for _, value in part])

    return forms.Raw(
        kind=forms.TEXTS,
        streams={
            split: forms.ExampleStream(
                counts[split].total(), partial(chunks, file), f"column {text!r} of {file}"
            )
            for split, file in files.items()
        },
        class_names=names,
        made_by=f"pyarrow {pa.__version__}",
        labels_from=f"column {label!r} of {', '.join(map(str, files.values()))}",
        treated=treated,
    )


def _numbers(files: dict[str, Path], options: dict) -> forms.Raw:
    """Read columns of numbers with labels, targets or indicators, at once: a table is small."""
    inputs, flags = options["columns"], options.get("indicators", [])
    targets = options.get("targets", flags)
    learned = targets or [options.get("label", "label")]
    treated: Counter[str] = Counter()
    columns: dict[str, list[Row]] = {}
    for split, file in files.items():
        rows = _rows(file, [*inputs, *learned], options, treated)
        columns[split] = list(zip(*rows, strict=True)) or [()] * len([*inputs, *learned])
    values = {value for table in columns.values() for value in table[-1]}
    classes = flags if targets else sorted(values, key=forms.by_number)
    codes = {name: code for code, name in enumerate(classes)}

    def stream(split: str) -> forms.ExampleStream:
        file, table = files[split], columns[split]
        converted = zip([*inputs, *targets], table, strict=False)
        numbers = np.stack([_column(file, name, values) for name, values in converted], axis=1)
        labels = numbers[:, len(inputs) :]
        if flags:
            forms.indicators(labels, f"{', '.join(flags)} of {file}")
        elif not targets:
            labels = np.array([codes[value] for value in table[-1]])
        chunk = numbers[:, : len(inputs)], labels
        return forms.ExampleStream(
            len(labels), lambda: iter([chunk]), f"columns {', '.join(inputs)} of {file}"
        )

    return forms.Raw(
        kind=forms.ARRAYS,
        streams={split: stream(split) for split in files},
        class_names=tuple(codes),
        made_by=f"pyarrow {pa.__version__}",
        label_shape=(len(targets),) if targets else (),
        shape=(len(inputs),),
        dtype=np.float32,
        columns={"inputs": inputs, "labels": targets},
        labels_from=f"{', '.join(learned)} of {', '.join(map(str, files.values()))}",
        treated=treated,
    )


def _column(file: Path, name: str, values: Row) -> np.ndarray:
    """Return a column of numbers. Raises `UserError` that names the row of a value that is no number."""
    numbers = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        with suppress(ValueError):
            numbers[row] = float(value.replace("_", " "))  # Python alone reads 2024_05 as a number
        if not abs(numbers[row]) <= np.finfo(np.float32).max:
            raise UserError(
                f"{file}: row {row + 1} has {value!r} in column {name!r}, no number, or none of float32; "
                "correct it, 12% to 0.12 or a date to a number of days, or leave the column out"
            )
    return numbers


def _rows(file: Path, names: list[str], options: dict, treated: Counter[str]) -> Iterator[Row]:
    """Yield the values of these columns in each row, as strings.

    Raises `UserError` that names the row, from 1 on after the header, for a field that is empty or missing,
    and for a folder.
    """
    if file.is_dir():
        raise UserError(f"{file}: is a folder; name one file, to which its parts are joined")
    try:
        with file.open("rb") as content:
            columnar = file.suffix == ".parquet" or content.read(4) == b"PAR1"
        rows = (_parquet if columnar else _delimited)(file, names, options, treated)
        for number, row in enumerate(rows, 1):
            for name, value in zip(names, row, strict=True):
                if not value.strip():
                    raise UserError(f"{file}: row {number} has no {name!r}; remove or fill it")
            yield row
    except (pa.ArrowException, OSError, EOFError, lzma.LZMAError) as error:
        raise UserError(f"{file}: cannot be read: {first_sentence(error)}") from None


def _parquet(file: Path, names: list[str], options: dict, treated: Counter[str]) -> Iterator[Row]:
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
        yield from zip(*(column.to_pylist() for column in texts), strict=True)


def _delimited(file: Path, names: list[str], options: dict, treated: Counter[str]) -> Iterator[Row]:
    """Yield rows of a CSV or TSV file, which may be packed. Only the columns `names` are looked at."""
    with file.open("rb") as content:
        begin = content.read(forms.BYTES)
    unpack = next((unpack for mark, unpack in _PACKED.items() if begin.startswith(mark)), open)
    with unpack(file, "rb") as content:
        lines = _lines(file, content, options.get("encoding", "utf-8"))
        first = next(lines, "")
        if {".json", ".jsonl", ".ndjson"} & {*file.suffixes} or _OBJECTS.match(first):
            yield from _objects(file, first, lines, names, treated)
            return
        declared = _SEPARATOR.fullmatch(first)
        usual = "\t" if {".tsv", ".tab"} & {*file.suffixes} else ","
        delimiter = str(options.get("delimiter", declared[1] if declared else usual))
        quoting = options.get("quoting", delimiter != "\t")
        rows = _parsed(file, chain([first], lines), delimiter, quoting)
        if declared:
            next(rows)
        header = next(rows, [])
        _require(file, names, header, delimiter)
        places = [header.index(name) for name in names]
        number = 0
        for row in rows:
            if not row:
                treated["empty lines, not read"] += 1
                continue
            number += 1
            if len(row) != len(header):
                raise UserError(
                    f"{file}: row {number} has {len(row)} fields, and the header has {len(header)}; correct "
                    "the row, or the keys `delimiter` and `quoting` of the data set"
                )
            yield tuple(row[place] for place in places)


def _objects(
    file: Path, first: str, lines: Iterator[str], names: list[str], treated: Counter[str]
) -> Iterator[Row]:
    """Yield rows of JSON: an object in each line, or a list of objects."""
    decode = json.JSONDecoder(parse_int=_Number, parse_float=_Number, parse_constant=_Number).decode
    number, kinds = 0, Counter[tuple[str, type]]()
    try:
        try:
            head = decode(first)
        except ValueError:
            head = decode(first + "".join(lines))
        rest = map(decode, filter(str.strip, lines))
        for number, row in enumerate(head if isinstance(head, list) else chain([head], rest), 1):
            fields = [row.get(name) for name in names] if isinstance(row, dict) else [[]]
            if any(isinstance(value, list | dict) for value in fields):
                raise UserError(
                    f"{file}: row {number} is no object with one value in each column; write them in lines, "
                    'with pandas by to_json(path, orient="records", lines=True)'
                )
            if number == 1:
                _require(file, names, [*row])
            kinds.update(zip(names, map(type, fields), strict=True))
            # Beside strings there are true, false and null.
            yield tuple(str(_CONSTANTS.get(value, value)) for value in fields)
    except json.JSONDecodeError as error:
        raise UserError(f"{file}: no JSON after row {number} ({error}); correct it") from None
    for name in names:
        mixed = min(kinds[name, str], kinds[name, _Number])
        treated[f"values of column {name!r} are numbers among strings, or the reverse"] += mixed


def _lines(file: Path, content: IO[bytes], encoding: str) -> Iterator[str]:
    """Yield the lines of a file as text, with their ends. Raises `UserError` for bytes that are no text."""
    begin = content.read(forms.BYTES)
    content.seek(0)
    if kind := forms.kind_of(begin):
        raise UserError(f"{file}: is {kind}")
    encoding = next((code for mark, code in _MARKS.items() if begin.startswith(mark)), encoding)
    remedy = "say which one it has, `encoding: cp1252` or `encoding: utf-16` say"
    text = io.TextIOWrapper(content, encoding, errors="surrogateescape", newline="")
    try:
        for number, line in enumerate(text, 1):
            if "\0" in line or _UNDECODED.search(line):
                raise UserError(f"{file}: line {number} is not text in {encoding}; {remedy}")
            yield line
    except UnicodeError:
        raise UserError(f"{file}: is not text in {encoding}; {remedy}") from None


def _parsed(file: Path, lines: Iterable[str], delimiter: str, quoting: bool) -> Iterator[list[str]]:
    """Yield the fields of rows. Raises `UserError` for a quotation mark that is not as in CSV files."""
    # Strict: a quotation mark that nothing closes, or after which a field goes on, is an error.
    marks: Any = csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE
    reader = csv.reader(lines, delimiter=delimiter, quoting=marks, strict=True)
    try:
        yield from reader
    except csv.Error as error:
        remedy = (
            "; a mark in a field is written twice; where marks are characters of the text, say "
            "`quoting: false`"
        )
        raise UserError(
            f"{file}: line {reader.line_num}: {error}{remedy if quoting else ''}"
        ) from None


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
            similar = [column for column in present if column.strip().casefold() == name.casefold()]
            remedy = f"; write it as it is there, {similar[0]!r}" if similar else remedy
            raise UserError(
                f"{file}: there is no column {name!r}; there are {', '.join(present)}{remedy}"
            )
        if present.count(name) > 1:
            raise UserError(
                f"{file}: has {present.count(name)} columns {name!r}; rename one of them"
            )
