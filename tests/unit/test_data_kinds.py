"""What people's files really contain: each row of the tables in docs/data.md has a test of its own here."""

import gzip
import os
import re
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from data_programs import DIGITS, LABELS, RANDOM, fetch, made, pictures, serialize, wrong
from PIL import Image
from pyarrow import parquet
from workspace import ROOT, make_spec, refused

from paragone.base.errors import UserError
from paragone.config.datasets import state_of_files
from paragone.data import Dataset, forms, serializer
from paragone.data.drawing import drawable
from paragone.data.forms import ARRAYS, WHOLE, WORDS, Raw, Stream
from paragone.data.words import split
from paragone.models import check_shape
from paragone.records.data_summary import Summary
from paragone.training.observe import fitted

NOISE = Image.fromarray(RANDOM.integers(0, 256, (12, 20, 3)).astype(np.uint8))
PNG = {"form": "folder", "path": "set", "size": 8, "held_out": 0.2}
CSV = {"form": "table", "path": "mine.csv", "held_out": 0.5, "length": 8}
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
NPZ = {"form": "arrays", "path": "mine.npz", "held_out": 0.2}
ROWS = "".join(f"a word {n},{'xy'[n % 2]}\n" for n in range(10))


def folder(image: Image.Image | bytes, name: str = "odd.png", **options: object) -> Path:
    """Two classes, one of which has an image that is not plain."""
    pictures(Path("set"), {"a": (0, 0, 0), "b": (255, 255, 255)})
    path = Path("set/b", name)
    if isinstance(image, bytes):
        path.write_bytes(image)
    else:
        image.save(path, **options)
    return path


def treated(manifest: dict) -> dict[str, int]:
    """Of the summary, what was converted or left out: the first two words, and how often."""
    return {" ".join(key.split()[:3]): n for key, n in manifest["summary"]["treated"].items()}


def forget() -> None:
    """Other content under a known name is no error."""
    Path("datasets.lock.json").unlink(missing_ok=True)


def table(content: str | bytes, name: str = "mine.csv", **options: object) -> tuple:
    forget()
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return made(CSV | {"path": name} | options, name.replace(".", "_"))


def no_table(content: str | bytes, *words: str, name: str = "mine.csv", **options: object) -> None:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    forget()
    wrong(CSV | {"path": name} | options, *words, name="refused")


def arrays(inputs: np.ndarray = DIGITS, labels: np.ndarray = LABELS, **options: object) -> tuple:
    forget()
    np.savez("mine.npz", inputs=inputs, labels=labels)
    return made(NPZ | options)


def no_arrays(inputs: np.ndarray, labels: np.ndarray, *words: str, **options: object) -> None:
    forget()
    np.savez("mine.npz", inputs=inputs, labels=labels)
    wrong(NPZ | options, *words, name="refused")


def notices(manifest: dict) -> str:
    return "; ".join(manifest["summary"]["notices"])


def number_columns() -> None:
    rows = "".join(f"{n},{n * n},{'xy'[n % 2]},{n / 4}\n" for n in range(10))
    plain = {"columns": ["square", "n"], "length": None}
    given = {key: value for key, value in (CSV | plain).items() if value is not None}
    Path("mine.csv").write_text(f"n,square,letter,price\n{rows}")
    dataset, _ = made(given | {"label": "letter"}, "letters")
    assert (dataset.class_names, dataset.train_inputs.shape) == (("x", "y"), (5, 2))
    dataset, _ = made(given | {"targets": ["price"]}, "prices")
    assert np.array_equal(dataset.test_labels[:, 0], dataset.test_inputs[:, 1] / 4)
    assert np.array_equal(dataset.test_inputs[:, 0], dataset.test_inputs[:, 1] ** 2)
    forget()
    flags = "".join(f"{n},{n * n},{n % 2},{int(n > 3)}\n" for n in range(10))
    Path("mine.csv").write_text(f"n,square,odd,large\n{flags}")
    dataset, _ = made(given | {"indicators": ["odd", "large"]}, "flags")
    assert (dataset.class_names, dataset.train_labels.dtype) == (("odd", "large"), np.int32)
    assert np.array_equal(dataset.test_labels[:, 1], dataset.test_inputs[:, 1] > 3)
    wrong(given | {"indicators": ["n", "large"]}, "n, large of", "other values", name="refused")
    for cell, words in (("eleven", "row 11 has 'eleven' in column 'n'"), ("inf", "not finite")):
        Path("mine.csv").write_text(f"n,square,letter,price\n{rows}{cell},1,x,2\n")
        forget()
        wrong(given | {"targets": ["price"]}, words, name="refused")


def formats() -> None:
    pictures(Path("set"), {"a": (0, 0, 0), "b": (255, 255, 255)})
    for kind in ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM"):
        Image.new("RGB", (9, 9), (200, 30, 90)).save(f"set/b/{kind}.dat", kind)
    dataset, manifest = made(PNG)
    assert sum(map(sum, manifest["summary"]["examples"].values())) == 27
    odd = [
        image for image in (*dataset.train_inputs, *dataset.test_inputs) if 1 < image[4, 4, 0] < 250
    ]
    assert len(odd) == 7
    assert np.abs(np.array(odd)[:, 4, 4].astype(int) - (200, 30, 90)).max() < 12


def modes() -> None:
    pictures(Path("set"), {"a": (0, 0, 0), "b": (255, 255, 255)})
    for mode, kind in (("1", "PNG"), ("L", "PNG"), ("P", "PNG"), ("CMYK", "JPEG"), ("1", "TIFF")):
        NOISE.convert(mode).save(f"set/b/{mode}.{kind}", kind)
    Image.new("LAB", (9, 9)).save("set/b/lab.tif")
    _, manifest = made(PNG)
    assert treated(manifest) == {"images in CMYK,": 1}
    assert made(PNG | {"channels": 1}, "gray")[0].train_inputs.shape[1:] == (8, 8, 1)


def transparency() -> None:
    folder(Image.new("RGBA", (9, 9), (0, 0, 0, 0)))
    Image.new("LA", (9, 9), (0, 255)).save("set/a/opaque.png")
    dataset, manifest = made(PNG)
    assert treated(manifest) == {"images transparent, drawn": 1}
    assert {*np.unique(dataset.train_inputs)} == {0, 255}


def orientation() -> None:
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    half = Image.new("L", (8, 8), 0)
    half.paste(255, (0, 0, 8, 4))
    folder(half, "odd.jpg", exif=exif, quality=100)
    dataset, manifest = made(PNG | {"held_out": 0.05})
    assert treated(manifest) == {"images turned upright,": 1}
    uneven = [image for image in dataset.train_inputs if image[1, 4, 0] != image[6, 4, 0]]
    assert all(image[1, 4, 0] < 50 < image[6, 4, 0] for image in uneven)


def frames() -> None:
    white = Image.new("RGB", (9, 9), (255, 255, 255))
    folder(white, "odd.gif", save_all=True, append_images=[NOISE.resize((9, 9))])
    white.save("set/b/pages.tif", save_all=True, append_images=[white])
    dataset, manifest = made(PNG)
    assert treated(manifest) == {"images of several": 2}
    assert {*np.unique(dataset.train_inputs)} == {0, 255}


def deep_gray() -> None:
    values = np.arange(64, dtype=np.uint16).reshape(8, 8) * 40
    path = folder(Image.fromarray(values))
    wrong(PNG, f"{path}", "0 to 2520", "`range: [0, 4095]`")
    dataset, manifest = made(PNG | {"range": [0, 2520], "held_out": 0.05}, "scaled")
    assert treated(manifest) == {"images of more": 1}
    assert max(np.unique(image).size for image in dataset.train_inputs) == 64
    Image.fromarray((values / 2520).astype(np.float32)).save("set/b/float.tif")
    made(PNG | {"range": [0, 1]}, "floats")


def deep_color() -> None:
    import tensorflow as tf

    color = RANDOM.integers(0, 4096, (8, 8, 3)).astype(np.uint16)
    wrong(
        PNG | {"path": str(folder(tf.io.encode_png(color).numpy()).parents[1])}, "color of 16 bits"
    )


def no_images() -> None:
    NOISE.save("whole.jpg")
    for content, words in {
        b"": "is empty",
        b"\0\0\0\x18ftypheic": "of another kind",
        b"\0\0\0\x18ftypavif": "of another kind",
        b"<?xml version='1.0'?><svg/>": "of another kind",
        b"%PDF-1.7": "of another kind",
        LFS: "git lfs pull",
        b"<!DOCTYPE html>": "web page",
        Path("whole.jpg").read_bytes()[:400]: "cut off or damaged",
        Path("whole.jpg").read_bytes()[:-50] + bytes(900): "its end is missing",
    }.items():
        path = Path("set/b/odd.png") if Path("set").exists() else folder(content)
        path.write_bytes(content)
        forget()
        wrong(PNG, "set/b/odd.png: ", words)


def many_pixels() -> None:
    folder(Image.new("1", (9000, 9000)))
    wrong(PNG, "set/b/odd.png", "9000 x 9000 pixels")


def left_behind() -> None:
    folder(b"\0", "Thumbs.db")
    for name in ("__MACOSX", ".ipynb_checkpoints"):
        pictures(Path("set", name), {"a": (9, 9, 9)}, 2)
    for name in ("._0.png", "Icon\r", "0.png:Zone.Identifier"):
        Path("set/b", name).write_bytes(b"fork")
    Path("set/readme.txt").write_text("about")
    _, manifest = made(PNG)
    assert manifest["class_names"] == ["a", "b"]
    assert treated(manifest) == {"files beside the": 1, "left by a": 2}


def class_names() -> None:
    """Composed, as most systems write them, and decomposed, as macOS does."""
    for part, form in (("train", "NFC"), ("test", "NFD")):
        names = [unicodedata.normalize(form, name) for name in ("b\u00e9b\u00e9", "10", "9")]
        pictures(Path(part), dict.fromkeys(names, (9, 9, 9)))
    path = {"train": "train", "test": "test"}
    _, manifest = made({"form": "folder", "path": path, "size": 8})
    assert manifest["class_names"] == ["9", "10", "b\u00e9b\u00e9"]
    os.rename("train/9", b"train/caf\xe9")
    wrong(PNG | {"path": "train"}, r"b'train/caf\xe9'", "rename", name="latin")


def empty_class() -> None:
    folder(NOISE)
    Path("set/c").mkdir()
    wrong(PNG, "set/c: has no image")
    pictures(Path("above/set"), {"a": (0, 0, 0), "b": (0, 0, 0)})
    wrong(PNG | {"path": "above"}, "`path: above/set`", name="above")


def split_folders() -> None:
    for name in ("Train", "val", "test"):
        pictures(Path("set", name), {"a": (0, 0, 0), "b": (0, 0, 0)})
    wrong(PNG, "`path: {train: set/Train, test: set/test}`")


def links() -> None:
    pictures(Path("store"), {"a": (0, 0, 0), "b": (255, 255, 255), "more": (9, 9, 9)})
    Path("set").mkdir()
    for name in ("a", "b"):
        Path("set", name).symlink_to(f"../store/{name}")
    Path("store/b/more").symlink_to("../more")
    Path("store/b/loop").symlink_to(".")
    state = state_of_files(PNG)
    _, manifest = made(PNG)
    assert (
        sum(map(sum, manifest["summary"]["examples"].values())) == 30
    )  # through the loop: b is above
    Image.new("RGB", (5, 5)).save("store/more/3.png")
    assert state_of_files(PNG) != state
    refused(fetch("mine", Path("results"), Path("data"), block=PNG), "b of data set mine changed")
    Path("set2").mkdir()
    pictures(Path("set2"), {"a": (0, 0, 0), "b": (0, 0, 0)})
    Path("set2/b/nothing.png").symlink_to("gone.png")
    wrong(PNG | {"path": "set2"}, "nothing.png", name="nothing")


def nested() -> None:
    for name in ("one", "two"):
        pictures(Path("set", name), {"front": (0, 0, 0), "back": (9, 9, 9)})
    assert made(PNG)[1]["summary"]["examples"] == {"train": [18, 14], "test": [2, 6]}


def marks() -> None:
    rows = ["text\tlabel", '"so it begins\ta', *(f"plain {n}\tb" for n in range(8)), '"ends\ta']
    _, manifest = table("\n".join(rows) + "\n", "mine.tsv")
    assert sum(map(sum, manifest["summary"]["examples"].values())) == 10
    quoted = "text,label\n" + '"a, b",x\n"a ""b""",y\n' * 5
    assert table(quoted, words=9)[0].vocabulary == 3 + 2
    no_table('"text"\t"label"\n"a"\t"x"\n', "`quoting: true`", name="b.tsv")


def open_marks() -> None:
    for row in ('"never closed,x\n', '"closed" too early,x\n'):
        no_table("text,label\n" + ROWS + row, "mine.csv: line 12", "`quoting: false`")


def delimiters() -> None:
    text = ("text,label\n" + ROWS).replace(",", ";")
    no_table(text, '`delimiter: ";"`')
    no_table(text.replace(";", "\t"), r'`delimiter: "\t"`')
    assert len(table(text, delimiter=";")[0].train_labels) == 5
    for first in ("sep=;\r\n", '"sep=;"\n'):
        assert len(table(first + text, f"excel{len(first)}.csv")[0].train_labels) == 5


def encodings() -> None:
    text = ("text,label\n" + ROWS).replace("word", "mot d\u2019été")
    found = [
        table(text.encode(code), f"{code.replace('-', '_')}.csv", **more)[0].train_inputs
        for code, more in (
            ("utf-8", {}),
            ("utf-8-sig", {}),
            ("utf-16", {}),
            ("utf-32", {}),
            ("cp1252", {"encoding": "cp1252"}),
        )
    ]
    assert all(np.array_equal(found[0], other) for other in found[1:])
    no_table(text.encode("cp1252"), "line 2 is not text in utf-8", "`encoding: cp1252`")
    no_table(text.encode("utf-16-be"), "is not text in utf-8")


def lines() -> None:
    for end in ("\n", "\r", "\r\n"):
        rows = ("text,label\n" + ROWS + '\n"two\nlines",x\n').replace("\n", end)
        _, manifest = table(rows, f"e{len(end)}{ord(end[0])}.csv")
        assert treated(manifest) == {"empty lines, not": 1, "texts of several": 1}


def other_columns() -> None:
    rows = "".join(f"{'word ' * 30}{n},{'xy'[n % 2]},{n},\n" for n in range(9000))
    dataset, _ = table(f"text,label,age,age\n{rows}last,x,N/A,\udcff\n".encode(errors="replace"))
    assert len(dataset.train_labels) == 4500


def plain_text() -> None:
    long = "w " * 300_000
    _, manifest = table(f"text,label\nNA,null\nnull,007\n007,null\n{long},007\n")
    assert manifest["class_names"] == ["007", "null"]
    assert treated(manifest) == {"texts longer than": 1}


def empty_fields() -> None:
    no_table("text,label\n" + ROWS + ",x\n", "row 11", "'text'")
    no_table('text,label\na,x\nb," "\n', "row 2", "'label'")


def ragged() -> None:
    no_table("text,label\n" + ROWS + "one, two,x\n", "row 11 has 3 fields", "`quoting`")


def columns() -> None:
    no_table("text,kind\na,x\n", "no column 'label'", "text, kind")
    no_table("text,label,text\na,x,b\n", "2 columns 'text'")
    no_table("text, Label\na,x\n", "as it is there, ' Label'")


def packed() -> None:
    text = "text,label\n" + ROWS
    plain = table(text)[0].train_inputs
    assert np.array_equal(plain, table(gzip.compress(text.encode()), "m.csv.gz")[0].train_inputs)
    assert np.array_equal(plain, table(gzip.compress(text.encode()), "packed.csv")[0].train_inputs)
    assert np.array_equal(plain, table(text, "unpacked.csv.gz")[0].train_inputs)
    no_table(gzip.compress(text.encode())[:-9], "cannot be read", name="n.csv.gz")
    for begin, words in (
        (b"PK\3\4", "Excel"),
        (b"\x28\xb5\x2f\xfd", "unpack it"),
        (LFS, "git lfs pull"),
        (b"<!doctype html>", "web page"),
    ):
        no_table(begin, words)


def of_parquet() -> None:
    columns = {"text": [f"word {n}" for n in range(10)], "label": [n % 2 == 0 for n in range(10)]}
    parquet.write_table(pa.table(columns), "mine.parquet")
    block = CSV | {"path": "mine.parquet"}
    assert made(block)[1]["class_names"] == ["false", "true"]
    columns["text"][6] = None
    parquet.write_table(pa.table(columns), "mine.parquet")
    wrong(block, "row 7 has no 'text'", name="other")
    columns["text"] = [[f"word {n}"] for n in range(10)]
    parquet.write_table(pa.table(columns), "mine.parquet")
    forget()
    wrong(block, "'text' holds list<", name="lists")


def scripts() -> None:
    for whole in (
        "\u0928\u092e\u0938\u094d\u0924\u0947",
        "cafe\u0301",
        "can't",
        "3.14",
        "\u0645\u06cc\u200c\u0631\u0648\u0645",
    ):
        assert len(split(whole)) == 1, whole
    assert split("Cafe\u0301 x") == split("caf\u00e9 X")
    assert len(split("\u6211\u5f88\u597d")) == 3
    assert split("-- \U0001f600 !") == []


def one_label() -> None:
    no_table("text,label\na,good\nb,good\n", "column 'label' of mine.csv", "two or more")


def numbers() -> None:
    for kind, stored in (
        (np.uint8, "uint8"),
        (bool, "float32"),
        (">i2", "float32"),
        (np.float16, "float32"),
    ):
        dataset, _ = arrays((DIGITS % 2).astype(kind))
        assert dataset.train_inputs.dtype == stored


def not_finite() -> None:
    for value, kind in ((np.nan, np.float32), (np.inf, np.float16), (-1e300, np.float64)):
        inputs = DIGITS.astype(kind)
        inputs[37, 1, 2] = value
        no_arrays(inputs, LABELS, "inputs of mine.npz: row 37", "not finite")


def no_numbers() -> None:
    for inputs, words in (
        (DIGITS.astype(object), "not unpickled"),
        (DIGITS.astype(complex), "complex128"),
        (np.asfortranarray(DIGITS), "stored by column"),
        (DIGITS[:, :0], "(50, 0, 8)"),
    ):
        no_arrays(inputs, LABELS, words)


def no_archives() -> None:
    np.savez("whole.npz", inputs=DIGITS, labels=LABELS)
    np.save("one.npy", DIGITS)
    for content, words in (
        (Path("whole.npz").read_bytes()[:900], "cut off or damaged"),
        (Path("one.npy").read_bytes(), "one array (.npy)"),
        (LFS, "git lfs pull"),
        (b"a note", "neither an .npz file"),
    ):
        Path("mine.npz").write_bytes(content)
        forget()
        wrong(NPZ, "mine.npz: is", words, name="refused")


def odd_labels() -> None:
    for labels, words in (
        (LABELS[:, None], "labels[:, 0]"),
        (np.eye(5)[LABELS], "labels.argmax(1)"),
        (LABELS.astype(float), "labels.astype(int)"),
        (LABELS.astype("S"), "labels.astype(str)"),
    ):
        no_arrays(DIGITS, labels, "labels of mine.npz", words)
    no_arrays(DIGITS, LABELS.astype(str).astype(object), "'labels'", "strings by astype(str)")


def other_labels() -> None:
    assert arrays(labels=LABELS + 1)[1]["class_names"] == list("12345")
    texts, numbers = (arrays(labels=(LABELS + 8).astype(kind)) for kind in (str, int))
    assert texts[1]["class_names"] == numbers[1]["class_names"] == ["8", "9", "10", "11", "12"]
    assert np.array_equal(texts[0].train_labels, numbers[0].train_labels)
    assert "label -1 is a class" in notices(arrays(labels=LABELS - 1)[1])


def positions() -> None:
    dataset, manifest = arrays(labels=np.where(DIGITS > 7, "ink", "paper"))
    assert dataset.train_labels.shape == (40, 8, 8)
    assert dataset.class_names == ("ink", "paper")
    assert manifest["majority"]["test"] == np.bincount(dataset.test_labels.ravel()).max() / 640
    assert "40 training and 10 test examples" in Summary(**manifest["summary"]).what
    no_arrays(DIGITS[:, 0], np.eye(8, dtype=int)[LABELS], "labels of mine.npz", "labels.argmax(1)")


def targets() -> None:
    values = RANDOM.normal(9, 2, (50, 2))
    dataset, manifest = arrays(labels=values, targets="labels")
    assert (dataset.class_names, dataset.outputs, dataset.train_labels.dtype) == ((), 2, np.float32)
    found = np.concatenate([dataset.train_labels, dataset.test_labels])
    assert np.array_equal(np.sort(found, 0), np.sort(values.astype(np.float32), 0))
    assert manifest["variance"]["test"] == pytest.approx(dataset.test_labels.var(0).mean())
    assert arrays(labels=LABELS, targets="labels")[0].train_labels.shape == (40, 1)
    for odd, words in (
        (values[:, :, None], "(examples, targets)"),
        (values.astype(str), "targets and indicators are numbers"),
        (np.where(values > 9, np.nan, values), "not finite"),
        (0 * values, "same value in all examples"),
    ):
        no_arrays(DIGITS, odd, "labels of mine.npz", words, targets="labels")


def ignored() -> None:
    labels = np.where(DIGITS > 7, 3, 2)
    labels[:, 0] = 255
    dataset, manifest = arrays(labels=labels, ignored=255)
    assert (dataset.class_names, dataset.train_labels.min()) == (("2", "3"), -1)
    assert (dataset.train_labels[:, 0] == -1).all()
    kept = dataset.test_labels[dataset.test_labels >= 0]
    assert manifest["majority"]["test"] == np.bincount(kept).max() / 560
    summary = Summary(**manifest["summary"])
    assert "40 training and 10 test examples" in summary.what
    assert summary.treated == {"labels that are ignored": 400}
    assert "label -1 is" not in notices(
        arrays(labels=np.where(labels == 255, -1, 2 + DIGITS % 2), ignored=-1)[1]
    )
    no_arrays(DIGITS, labels, "has no label 254", ignored=254)
    no_arrays(DIGITS, LABELS, "has no label 1 among several of an example", ignored=1)


def indicators() -> None:
    values = RANDOM.random((50, 3)) < [0.1, 0.5, 0.9]
    dataset, manifest = arrays(labels=values, indicators="labels", classes=["a", "b", "c"])
    assert (dataset.class_names, dataset.outputs, dataset.train_labels.dtype) == (
        ("a", "b", "c"),
        3,
        np.int32,
    )
    whole = np.concatenate([dataset.train_labels, dataset.test_labels])
    assert whole.sum(0).tolist() == values.sum(0).tolist()
    summary = Summary(**manifest["summary"])
    assert summary.examples["train"] == dataset.train_labels.sum(0).tolist()
    assert "40 training and 10 test examples of 3 classes" in summary.what
    assert 0.5 < manifest["majority"]["test"] < 1
    for odd in (2 * values, values[:, :1], np.where(values, np.nan, 0.0)):
        no_arrays(DIGITS, odd, "other values than 0 and 1", indicators="labels")
    no_arrays(DIGITS, values.astype(str), "targets and indicators are numbers", indicators="labels")


def unequal() -> None:
    no_arrays(DIGITS, LABELS[:-3], "(50, 8, 8)", "47 labels")


def channels_first() -> None:
    no_arrays(np.zeros((50, 3, 8, 8)), LABELS, "(50, 3, 8, 8)", "numpy.moveaxis")
    assert "numpy.moveaxis" in notices(arrays(RANDOM.random((50, 3, 8, 9)))[1])


def not_square() -> None:
    """The layers of every framework have as many weights."""
    from paragone.models import jax, tensorflow, torch

    wide = {"filters": 128, "activation": "elu"}
    for name, options in (("fashion-cnn", {}), ("fashion-conv", {}), ("fashion-conv", wide)):
        models = [
            module.MODELS[name]((18, 25, 3), 4, **options) for module in (torch, jax, tensorflow)
        ]
        flax = jax.nnx.to_flat_state(jax.nnx.state(models[1], jax.nnx.Param))
        counts = [
            sum(weight.numel() for weight in models[0].parameters()),
            sum(leaf[...].size for _, leaf in flax),
            sum(weight.numpy().size for weight in models[2].trainable_weights),
        ]
        assert len({*counts}) == 1


def indices() -> None:
    words = RANDOM.integers(0, 40, (50, 9))
    for value, said in (
        (-1, "datasets.refused.vocabulary"),
        (40, "vocabulary"),
        (2**32 + 1, "4294967297"),
    ):
        odd = words.copy()
        odd[3, 2] = value
        no_arrays(odd, LABELS, said, vocabulary=40)


def one_class() -> None:
    no_arrays(DIGITS, LABELS * 0, "labels of mine.npz", "two or more")


def drawn() -> None:
    images = RANDOM.random((4, 6, 5, 2)).astype(np.float32)
    found = drawable(images)
    assert (found.dtype, found.shape, found.min(), found.max()) == (np.uint8, (4, 6, 5, 1), 0, 255)
    assert np.array_equal(drawable(images[..., :1]), drawable(images[..., :1] * 900 - 50))
    assert drawable(np.uint8(images)).max() == 0


def of_builder(kind: str, inputs: object, labels: list[int], *words: str) -> None:
    """What a builder's chunks hold is refused while it is written."""
    stream = Stream(len(labels), lambda: iter([(inputs, np.array(labels))]), "feature 'x' of birds")
    raw = Raw(
        kind, {WHOLE: stream}, ("a", "b"), "a test", (2,), np.float32, labels_from="feature 'y'"
    )
    source = {
        "dataset": "birds",
        "parameters": {"form": "tfds", "held_out": 0.5},
        "files": [],
        "path": None,
    }
    source |= {"source": "real", "edition": "official", "about": {}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forms, "read", lambda *_: raw)
        with pytest.raises(UserError) as error:
            serializer.serialize(source, Path.cwd())
    assert [word for word in words if word not in str(error.value)] == []


def built_numbers() -> None:
    inputs = np.ones((6, 2), np.float32)
    inputs[4, 1] = np.inf
    of_builder(ARRAYS, inputs, [0, 1] * 3, "feature 'x' of birds: row 4", "not finite")


def built_words() -> None:
    of_builder(WORDS, [[1, 2], [3], [4, -1], [], [2], [2]], [0, 1] * 3, "row 2", "word index -1")


def built_classes() -> None:
    of_builder(ARRAYS, np.ones((6, 2), np.float32), [1] * 6, "feature 'y'", "two or more")


def sizes() -> None:
    for model, shape, vocabulary, words in (
        ("fashion-cnn", [28, 15, 1], None, "16 x 16"),
        ("fashion-conv", [3, 28, 28], None, "4 x 4"),
        ("mobilenet-v2", [31, 64, 3], None, "32 x 32"),
        ("text-cnn", [11], 90, "no less than 12 words"),
        ("text-cnn", [28, 28, 1], None, "takes texts"),
        ("wide-resnet", [20], 90, "takes images"),
        ("fashion-cnn", [12], None, "takes images"),
    ):
        with pytest.raises(UserError, match=f"datasets.mine.*{words}"):
            check_shape(model, "mine", shape, vocabulary)
    check_shape("fashion-cnn", "mine", [16, 16, 1], None)
    check_shape("text-cnn", "mine", [12], 90)
    arrays()
    done = serialize(Path("results"), Path("data"), models=["fashion-cnn"])
    assert (done.returncode, done.stderr.count("error: ")) == (1, 1)


def of_labels(train: int, test: int) -> Dataset:
    splits = (np.zeros((count, *shape)) for count in (train, test) for shape in ((2, 2, 1), ()))
    return Dataset("few", "real", "e", *splits, ("a", "b"), None, "0" * 64)


def few() -> None:
    spec = make_spec("fashion-cnn", "torch", global_batch=16, steps_per_epoch=3)
    cases = ((48, 16, 16, 8), (47, 90, 15, 7), (600, 5, 5, 2), (7, 2, 2, 0))
    for train, test, batch, part in cases:
        found, used = fitted(spec, of_labels(train, test))
        assert found.global_batch == found.evaluation_batch == batch
        assert len(used.train_labels) == min(train, 3 * batch + part)
        assert len(used.test_labels) == min(test, batch + part)
    with pytest.raises(
        UserError, match="5 training and 9 test examples; the parity gate needs 6 and 2"
    ):
        fitted(spec, of_labels(5, 9))


def of_two_splits(train: list, test: list, **options: object) -> str:
    """The notices on arrays with these labels."""
    x = RANDOM.random((len(train) + len(test), 3))
    np.savez(
        "mine.npz", x=x[: len(train)], y=np.array(train), xt=x[len(train) :], yt=np.array(test)
    )
    of = {"inputs": {"train": "x", "test": "xt"}, "labels": {"train": "y", "test": "yt"}}
    return notices(made({"form": "arrays", "path": "mine.npz", **of, **options})[1])


def to_come() -> None:
    """A clock that is ahead where the file was written."""
    arrays()
    later = time.time() + 7200
    os.utime("mine.npz", (later, later))
    wrong(NPZ, "mine.npz: says", "`touch mine.npz`", name="refused")


def lacking() -> None:
    said = of_two_splits([1, 0] * 9 + [2], [0, 1, 3])
    assert "'2': no test example" in said
    assert "'3': no training example" in said
    assert "'2': fewer than 5" in said
    assert "sorted" not in said


def alike() -> None:
    assert "'Cat', 'cat '" in of_two_splits(["cat ", "Cat", "dog"] * 6, ["dog", "Cat", "cat "])


def all_classes() -> None:
    assert "50 classes for 40" in notices(arrays(labels=np.arange(50))[1])


def ordered() -> None:
    assert "sorted by class" in of_two_splits([0] * 6 + [1] * 6, [0, 1])


def repeated() -> None:
    inputs = DIGITS.copy()
    inputs[:] = inputs[0]
    assert "10 of the 10 test examples are training examples" in notices(arrays(inputs)[1])


def unknown() -> None:
    rows = "".join(f"word{n} again{n},{'xy'[n % 2]}\n" for n in range(20))
    _, manifest = table("text,label\n" + rows)
    assert manifest["summary"]["unknown"] == {"train": 0.0, "test": 1.0}
    assert "100% of the words of the test split are unknown" in notices(manifest)


CASES: dict[str, list[Callable[[], None]]] = {
    "Folders of images": [
        formats, modes, transparency, orientation, frames, deep_gray, deep_color, no_images, many_pixels,
        left_behind, class_names, empty_class, split_folders, links, nested,
    ],
    "Tables of texts": [
        marks, open_marks, delimiters, encodings, lines, other_columns, plain_text, empty_fields, ragged,
        columns, packed, of_parquet, scripts, one_label, number_columns,
    ],
    "Arrays": [
        numbers, not_finite, no_numbers, no_archives, odd_labels, other_labels, positions, targets,
        ignored, indicators, unequal,
        channels_first, not_square, indices, one_class, drawn,
    ],
    "Builders of TensorFlow Datasets": [built_numbers, built_words, built_classes],
    "Every form": [sizes, few, to_come, lacking, alike, all_classes, ordered, repeated, unknown],
}  # fmt: skip


def documented() -> list[tuple[str, str]]:
    """The rows of the tables: heading and first cell."""
    page = (ROOT / "docs/data.md").read_text()
    rows = []
    for heading in CASES:
        body = page.split(f"\n### {heading}\n")[1].split("\n#")[0]
        rows += [(heading, row) for row in re.findall(r"^\| (.*?) \| ", body, re.MULTILINE)[1:]]
    return [row for row in rows if row[1] != "---"]


@pytest.mark.parametrize(
    ("row", "case"),
    zip(documented(), [case for cases in CASES.values() for case in cases], strict=True),
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_each_row_of_the_tables(here, row, case):
    """In the order of the page."""
    case()


def test_a_pipe_in_a_class_is_not_read(here):
    """Reading it would wait for ever."""
    folder(NOISE)
    os.mkfifo("set/b/pipe")
    made(PNG)
