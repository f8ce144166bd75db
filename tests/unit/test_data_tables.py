"""Tables and streams as people have them: read, or refused with file, place and remedy."""

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from data_programs import CSV, LFS, TEXTS, examples_of, made, notices, table, treated, wrong
from pyarrow import parquet
from workspace import refusing

from paragone.data.words import split

pytestmark = pytest.mark.usefixtures("here")


REFUSED_TABLES = [
    (TEXTS + '"never closed,x\n', "mine.csv: line 12", "`quoting: false`"),
    (TEXTS + ",x\n", "row 11", "'text'"),
    ('text,label\na,x\nb," "\n', "row 2", "'label'"),
    (TEXTS + "one, two,x\n", "row 11 has 3 fields", "`quoting`"),
    ("text,kind\na,x\n", "no column 'label'", "text, kind"),
    ("text,label,text\na,x,b\n", "2 columns 'text'"),
    ("text, Label\na,x\n", "as it is there, ' Label'"),
    (b"PK\3\4", "Excel"),
    (b"\x28\xb5\x2f\xfd", "unpack it"),
    (LFS, "git lfs pull"),
    (b"<!doctype html>", "web page"),
    ("@relation iris\n@data\n1,2\n", "an ARFF file"),
    ('{"text": "a", "label": 1}\n{"text": ', "no JSON after row 1"),
    ('{"text": ["a", "b"], "label": [0, 1]}', "row 1 is no object with one value", "lines=True"),
    ('[["a", 1], ["b", 2]]', "there is no column 'text'"),
]


def test_tables_that_are_refused():
    for content, *words in REFUSED_TABLES:
        wrong(table(content), *words)


def test_number_columns():
    rows = "".join(f"{n},{n * n},{'xy'[n % 2]},{n / 4}\n" for n in range(10))
    prices = f"n,square,letter,price\n{rows}"
    rows = "".join(f"{n},{n * n},{n % 2},{int(n > 3)}\n" for n in range(10))
    flags = f"n,square,odd,large\n{rows}"

    def of(content: str, **labels: object) -> dict:
        given = table(content, columns=["square", "n"], **labels)
        return {key: value for key, value in given.items() if key != "length"}

    assert made(of(prices, label="letter"))[0].class_names == ("x", "y")
    days = made(of(prices + "20240521,1,x,2\n", targets=["price"]))[1]
    assert "20240521.0 becomes 20240520.0 in column 'n'" in notices(days)
    dataset, _ = made(of(prices, targets=["price"]))
    assert np.array_equal(dataset.test_labels[:, 0], dataset.test_inputs[:, 1] / 4)
    assert np.array_equal(dataset.test_inputs[:, 0], dataset.test_inputs[:, 1] ** 2)
    dataset, _ = made(of(flags, indicators=["odd", "large"]))
    assert dataset.class_names == ("odd", "large")
    assert np.array_equal(dataset.test_labels[:, 1], dataset.test_inputs[:, 1] > 3)
    wrong(of(flags, indicators=["n", "large"]), "n, large of", "other values")
    for cell in ("eleven", "inf", "1e300", "12%", "2024-05-20", "2024_05"):
        row = of(f"{prices}{cell},1,x,2\n", targets=["price"])
        wrong(row, f"row 11 has '{cell}' in column 'n'")


def test_marks():
    rows = ["text\tlabel", '"so it begins\ta', *(f"plain {n}\tb" for n in range(8)), '"ends\ta']
    _, manifest = made(table("\n".join(rows) + "\n", "mine.tsv"))
    assert examples_of(manifest) == 10
    quoted = "text,label\n" + '"a, b",x\n"a ""b""",y\n' * 5
    assert made(table(quoted, words=9))[0].vocabulary == 3 + 2
    wrong(table('"text"\t"label"\n"a"\t"x"\n', "b.tsv"), "`quoting: true`")


def test_delimiters():
    text = TEXTS.replace(",", ";")
    wrong(table(text), '`delimiter: ";"`')
    wrong(table(text.replace(";", "\t")), r'`delimiter: "\t"`')
    for first, options in (("", {"delimiter": ";"}), ("sep=;\r\n", {}), ('"sep=;"\n', {})):
        assert len(made(table(first + text, **options))[0].train_labels) == 5


def test_encodings_and_lines():
    text = TEXTS.replace("word", "mot d\u2019été")
    found = []
    for code in ("utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"):
        options = {"encoding": code} if code == "cp1252" else {}
        found.append(made(table(text.encode(code), **options))[0].train_inputs)
    assert all(np.array_equal(found[0], other) for other in found[1:])
    wrong(table(text.encode("cp1252")), "line 2 is not text in utf-8", "`encoding: cp1252`")
    wrong(table(text.encode("utf-16-be")), "is not text in utf-8")
    for end in ("\r", "\r\n"):
        _, manifest = made(table((TEXTS + '\n"two\nlines",x\n').replace("\n", end)))
        assert treated(manifest) == {"empty lines, not": 1, "texts of several": 1}


def test_plain_text():
    long = "w " * 300_000
    _, manifest = made(table(f"text,label\nNA,null\nnull,007\n007,null\n{long},007\n"))
    assert manifest["class_names"] == ["007", "null"]
    assert treated(manifest) == {"texts longer than": 1}


def test_packed():
    plain, whole = made(table(TEXTS))[0].train_inputs, gzip.compress(TEXTS.encode())
    for content, name in ((whole, "m.csv.gz"), (whole, "packed.csv"), (TEXTS, "unpacked.csv.gz")):
        assert np.array_equal(plain, made(table(content, name))[0].train_inputs)
    wrong(table(whole[:-9], "n.csv.gz"), "cannot be read")


def test_of_parquet():
    columns = {"text": [f"word {n}" for n in range(10)], "label": [n % 2 == 0 for n in range(10)]}
    parquet.write_table(pa.table(columns), "mine.parquet")
    block = CSV | {"path": "mine.parquet"}
    assert made(block)[1]["class_names"] == ["false", "true"]
    columns["text"][6] = None
    parquet.write_table(pa.table(columns), "mine.parquet")
    wrong(block, "row 7 has no 'text'")
    columns["text"] = [[f"word {n}"] for n in range(10)]
    parquet.write_table(pa.table(columns), "mine.parquet")
    wrong(block, "'text' holds list<")
    Path("parts").mkdir()
    Path("mine.parquet").rename("parts/part-0.parquet")
    wrong(block | {"path": "parts"}, "parts: is a folder; name one file")


def test_of_json():
    """JSON Lines and lists of objects give what CSV gives; numbers stay as they are written."""
    rows = [{"label": "xy"[n % 2], "more": [n], "text": f"a word {n}"} for n in range(10)]
    lines, plain = "\n".join(map(json.dumps, rows)), made(table(TEXTS))[0]
    for content, name in {
        lines: "m.jsonl",
        gzip.compress(lines.encode()): "m.jsonl.gz",
        lines.encode("utf-16"): "m.csv",
        json.dumps(rows): "m.json",
        json.dumps(rows, indent=1): "m.txt",
    }.items():
        dataset, _ = made(table(content, name))
        assert np.array_equal(dataset.train_inputs, plain.train_inputs)
        assert np.array_equal(dataset.train_labels, plain.train_labels)
    for row, label in enumerate((1, 1.0, "1", True, 2, 1, 1.0, "1", True, 2)):
        rows[row]["label"] = label
    _, manifest = made(table("\n".join(map(json.dumps, rows))))
    assert manifest["class_names"] == ["1", "1.0", "2", "true"]
    assert "'1.0' (1): classes whose names" in notices(manifest)
    assert treated(manifest) == {"values of column": 2}
    rows[4]["text"] = None
    wrong(table(json.dumps(rows)), "row 5 has no 'text'")


def test_scripts():
    hindi, persian = "\u0928\u092e\u0938\u094d\u0924\u0947", "\u0645\u06cc\u200c\u0631\u0648\u0645"
    for whole in (hindi, "cafe\u0301", "can't", "3.14", persian):
        assert len(split(whole)) == 1, whole
    assert split("Cafe\u0301 x") == split("caf\u00e9 X")
    assert len(split("\u6211\u5f88\u597d")) == 3
    assert split("-- \U0001f600 !") == []


REVIEWS = """kind,text
good,"A fine, fine day"
bad,"It's a
rainy day"
good,fine
bad,rain
"""


def test_table_of_texts():
    """Words are counted over the training split alone; texts are padded at their beginning."""
    Path("train.csv").write_text(REVIEWS)
    Path("test.csv").write_text(REVIEWS.replace("fine", "novel"))
    path = {"train": "train.csv", "test": "test.csv"}
    dataset, _ = made({"form": "table", "path": path, "label": "kind", "length": 8, "words": 4})
    # 1 starts a text, 2 is none of the four words, then: fine 3 times, a and day twice, it's once.
    assert dataset.vocabulary == 7
    assert dataset.class_names == ("bad", "good")
    assert dataset.train_labels.tolist() == [1, 0, 1, 0]
    assert dataset.train_inputs[0].tolist() == [0, 0, 0, 1, 4, 3, 3, 5]
    assert dataset.train_inputs[1].tolist() == [0, 0, 0, 1, 6, 4, 2, 5]
    assert dataset.test_inputs[0].tolist() == [0, 0, 0, 1, 4, 2, 2, 5]


TEXT = "To be, or not to be: that\nis the question.\n" * 5
BLOCK = {"form": "stream", "path": "play.txt", "held_out": 0.1, "length": 8}


def test_windows_of_characters_and_what_follows_them():
    Path("play.txt").write_text(TEXT)
    dataset, manifest = made(BLOCK)
    characters = sorted({*TEXT})
    tokens = np.array([characters.index(each) for each in TEXT])
    cut = int(len(TEXT) * 0.9)
    assert dataset.vocabulary == len(dataset.class_names) == len(characters)
    assert dataset.class_names[:3] == ("'\\n'", "' '", ",")
    for inputs, labels, part in (
        (dataset.train_inputs, dataset.train_labels, tokens[:cut]),
        (dataset.test_inputs, dataset.test_labels, tokens[cut:]),
    ):
        assert inputs.shape == labels.shape == (len(part) - 8, 8)
        assert np.array_equal(inputs[[0, -1]], [part[:8], part[-9:-1]])
        assert np.array_equal(labels[[0, -1]], [part[1:9], part[-8:]])
    assert manifest["summary"]["examples"]["train"] == np.bincount(tokens[:cut]).tolist()


def test_other_tokens():
    Path("play.txt").write_text(TEXT)
    words, _ = made(BLOCK | {"unit": "words", "length": 4}, name="words")
    assert words.class_names == ("be", "is", "not", "or", "question", "that", "the", "to")
    first = [words.class_names[token] for token in words.train_inputs[0, :4]]
    assert first == ["to", "be", "or", "not"]
    as_bytes, _ = made(BLOCK | {"unit": "bytes"}, name="as_bytes")
    assert as_bytes.class_names[as_bytes.train_inputs[0, 0]] == f"{ord('T'):#04x}"
    numbers = np.random.default_rng(0).integers(0, 300, 200)
    np.save("own.npy", numbers)
    numbers.astype(np.uint16).tofile("own.bin")
    for number, file in enumerate(("own.npy", "own.bin")):
        own, _ = made(BLOCK | {"unit": "tokens", "path": file}, name=f"own{number}")
        assert own.vocabulary == numbers.max() + 1
        assert np.array_equal(own.train_inputs[0], numbers[:8])


def test_streams_that_cannot_be_read():
    Path("play.txt").write_bytes("schön".encode("cp1252"))
    wrong(BLOCK, "byte 3 is not UTF-8", "unit: bytes")
    Path("page.txt").write_text("<!DOCTYPE html>")
    wrong(BLOCK | {"path": "page.txt"}, "a web page")
    Path("one.txt").write_text("aaaa")
    wrong(BLOCK | {"path": "one.txt"}, "4 tokens of 1")
    np.save("own.npy", np.zeros((2, 3), int))
    block = BLOCK | {"path": "own.npy", "unit": "tokens"}
    wrong(block, "integers from 0 on along one axis")
    np.savez("own.npz", np.zeros(99, int))
    wrong(block | {"path": "own.npz"}, "tokens are a .npy file")
    Path("short.txt").write_text(TEXT)
    with refusing("datasets.mine.length: the test split has 22 tokens"):
        made(BLOCK | {"path": "short.txt", "length": 22})


def test_tokens_of_other_sizes():
    """Tokens of 32 or 64 bits, other headers and packed files are refused; llm.c's header is read."""
    block, many = BLOCK | {"path": "own.bin", "unit": "tokens"}, np.arange(3000) * 7919 % 60_000
    for tokens, kind in ((many % 99, "u4"), (2 * many, "<i4"), (2 * many, ">u4"), (2 * many, "i8")):
        tokens.astype(kind).tofile("own.bin")
        wrong(block, "tokens of 32 bits")
    for magic, kind in ((7, "u2"), (20240520, "u2"), (20240801, "u4")):
        header = np.array([magic, 1, 3000] + 253 * [0], np.int32)
        Path("own.bin").write_bytes(header.tobytes() + many.astype(kind).tobytes())
        if magic == 7:
            wrong(block, "a file with a header")
        else:
            assert examples_of(made(block)[1]) == 3000
    Path("own.bin").write_bytes(gzip.compress(many.tobytes()))
    wrong(block, "packed by gzip")
