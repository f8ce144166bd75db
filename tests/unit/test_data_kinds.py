"""What people's folders and arrays contain is handled, or refused with file, place and remedy."""

import gzip
import hashlib
import os
import shutil
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from data_programs import (
    BOTH,
    DIGITS,
    LABELS,
    LFS,
    NPZ,
    RANDOM,
    examples_of,
    fetch,
    made,
    notices,
    pictures,
    serialize,
    table,
    treated,
    wrong,
)
from made_images import make_images
from PIL import Image, PngImagePlugin
from workspace import changed, make_spec, refused

from paragone.base.errors import UserError
from paragone.models import check_shape
from paragone.training.observe import fitted

pytestmark = pytest.mark.usefixtures("here")
NOISE = Image.fromarray(RANDOM.integers(0, 256, (12, 20, 3)).astype(np.uint8))
PNG = {"form": "folder", "path": "set", "size": 8, "held_out": 0.2}


def folder(image: Image.Image | bytes, name: str = "odd.png", **options: object) -> Path:
    """Two classes, one of which has an image that is not plain."""
    pictures(Path("set"), {"a": (0, 0, 0), "b": (255, 255, 255)})
    path = Path("set/b", name)
    if isinstance(image, bytes):
        path.write_bytes(image)
    else:
        image.save(path, **options)
    return path


def arrays(inputs: np.ndarray = DIGITS, labels: np.ndarray = LABELS, **options: object) -> dict:
    """The block of these arrays."""
    np.savez("mine.npz", inputs=inputs, labels=labels)
    return NPZ | options


REFUSED_ARRAYS = [
    (DIGITS.astype(object), LABELS, "holds Python objects"),
    (DIGITS.astype(complex), LABELS, "complex128"),
    (DIGITS[:, :0], LABELS, "(50, 0, 8)"),
    (DIGITS, LABELS[:, None], "labels of mine.npz", "labels[..., 0]"),
    (DIGITS, np.eye(5)[LABELS], "labels of mine.npz", "labels.argmax(1)"),
    (DIGITS, LABELS.astype(float), "labels of mine.npz", "labels.astype(int)"),
    (DIGITS, LABELS.astype("S"), "labels of mine.npz", "labels.astype(str)"),
    (DIGITS, np.where(LABELS, "a", " "), "labels of mine.npz", "has an empty label"),
    (DIGITS, LABELS[:-3], "(50, 8, 8)", "47 labels"),
    (DIGITS, LABELS * 0, "labels of mine.npz", "two or more"),
]


def test_arrays_that_are_refused():
    for inputs, labels, *words in REFUSED_ARRAYS:
        wrong(arrays(inputs, labels), *words)
    wrong(arrays(np.zeros((50, 3, 8, 8))), "(50, 3, 8, 8)", "numpy.moveaxis")
    for value, kind in ((np.nan, np.float32), (np.inf, np.float16), (-1e300, np.float64)):
        inputs = DIGITS.astype(kind)
        inputs[37, 1, 2] = value
        wrong(arrays(inputs), "inputs of mine.npz: row 37", "not finite")


def test_modes():
    pictures(Path("set"), {"a": (0, 0, 0), "b": (255, 255, 255)})
    for mode, kind in (("1", "PNG"), ("L", "PNG"), ("P", "PNG"), ("CMYK", "JPEG"), ("1", "TIFF")):
        NOISE.convert(mode).save(f"set/b/{mode}.{kind}", kind)
    Image.new("LAB", (9, 9)).save("set/b/lab.tif")
    assert treated(made(PNG)[1]) == {"images in CMYK,": 1}
    assert made(PNG | {"channels": 1})[0].train_inputs.shape[1:] == (8, 8, 1)


def test_transparency_and_frames():
    folder(Image.new("RGBA", (9, 9), (0, 0, 0, 0)))
    white = Image.new("RGB", (9, 9), (255, 255, 255))
    white.save("set/b/odd.gif", save_all=True, append_images=[NOISE.resize((9, 9))])
    white.save("set/b/pages.tif", save_all=True, append_images=[white])
    dataset, manifest = made(PNG)
    assert treated(manifest) == {"images transparent, drawn": 1, "images of several": 2}
    assert {*np.unique(dataset.train_inputs)} == {0, 255}


def test_orientation():
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    half = Image.new("L", (8, 8), 0)
    half.paste(255, (0, 0, 8, 4))
    folder(half, "odd.jpg", exif=exif, quality=100)
    dataset, manifest = made(PNG | {"held_out": 0.05})
    assert treated(manifest) == {"images turned upright,": 1}
    uneven = [image for image in dataset.train_inputs if image[1, 4, 0] != image[6, 4, 0]]
    assert all(image[1, 4, 0] < 50 < image[6, 4, 0] for image in uneven)
    text = PngImagePlugin.PngInfo()  # beside pixels that are whole
    text.add_text("settings", "x" * 3_000_000, zip=True)
    NOISE.save("set/b/text.png", pnginfo=text, icc_profile=bytes(2_000_000))
    for orientation in (0, 1, 9):
        exif[0x0112] = orientation
        half.save(f"set/b/odd{orientation}.jpg", exif=exif)
    assert treated(made(PNG)[1]) == {"images turned upright,": 1}


def test_deep_and_large_images():
    import tensorflow as tf

    values = np.arange(64, dtype=np.uint16).reshape(8, 8) * 40
    path = folder(Image.fromarray(values))
    wrong(PNG, f"{path}", "0 to 2520", "`range: [0, 4095]`")
    dataset, manifest = made(PNG | {"range": [0, 2520], "held_out": 0.05})
    assert treated(manifest) == {"images of more": 1}
    assert max(np.unique(image).size for image in dataset.train_inputs) == 64
    Image.fromarray((values / 2520).astype(np.float32)).save("set/b/float.tif")
    made(PNG | {"range": [0, 1]})
    color = RANDOM.integers(0, 4096, (8, 8, 3)).astype(np.uint16)
    path.write_bytes(tf.io.encode_png(color).numpy())
    wrong(PNG, "color of 16 bits")
    Image.new("1", (9000, 9000)).save(path)
    wrong(PNG, "set/b/odd.png", "9000 x 9000 pixels")


def test_no_images():
    NOISE.save("whole.jpg")
    whole, path = Path("whole.jpg").read_bytes(), folder(b"")
    others = b"\0\0\0\x18ftypheic", b"\0\0\0\x18ftypavif", b"<?xml version='1.0'?><svg/>"
    for content, words in {
        b"": "is empty",
        **dict.fromkeys(others, "of another kind"),
        LFS: "git lfs pull",
        b"<!DOCTYPE html>": "web page",
        whole[:400]: "cut off or damaged",
        whole[:-50] + bytes(900): "its end is missing",
    }.items():
        path.write_bytes(content)
        wrong(PNG, f"{path}: ", words)


def test_left_behind():
    folder(b"\0", "Thumbs.db")
    for name in ("__MACOSX", ".ipynb_checkpoints"):
        pictures(Path("set", name), {"a": (9, 9, 9)}, 2)
    for name in ("._0.png", "Icon\r", "0.png:Zone.Identifier"):
        Path("set/b", name).write_bytes(b"fork")
    Path("set/readme.txt").write_text("about")
    os.mkfifo("set/b/pipe")  # reading it would wait for ever
    _, manifest = made(PNG)
    assert manifest["class_names"] == ["a", "b"]
    assert treated(manifest) == {"files beside the": 1, "left by a": 2}


def test_class_names():
    """Composed, as most systems write them, and decomposed, as macOS does. Each batch has all of them."""
    for part, form in (("train", "NFC"), ("test", "NFD")):
        names = [unicodedata.normalize(form, name) for name in ("b\u00e9b\u00e9", "10", "9")]
        pictures(Path(part), dict.fromkeys(names, (9, 9, 9)))
    path = {"train": "train", "test": "test"}
    dataset, manifest = made({"form": "folder", "path": path, "size": 8})
    assert manifest["class_names"] == ["9", "10", "b\u00e9b\u00e9"]
    assert set(dataset.train_labels[:8]) == {0, 1, 2}
    os.rename("train/9", b"train/caf\xe9")
    wrong(PNG | {"path": "train"}, r"b'train/caf\xe9'", "rename")


def test_folders_that_are_no_classes():
    for name in ("Train", "val", "test"):
        pictures(Path("set", name), {"a": (0, 0, 0), "b": (0, 0, 0)})
    wrong(PNG, "`path: {train: set/Train, test: set/test}`")
    pictures(Path("above/set"), {"a": (0, 0, 0), "b": (0, 0, 0)})
    wrong(PNG | {"path": "above"}, "`path: above/set`")
    pictures(Path("one"), {"a": (0, 0, 0)})
    wrong(PNG | {"path": "one"}, "one", "two or more folders")
    wrong(PNG | {"path": "one/a/0.png"}, "one/a/0.png: is a file")
    Path("one/c").mkdir()
    wrong(PNG | {"path": "one"}, "one/c: has no image")
    Path("one/c").rmdir()
    path = {"train": "set/test", "test": "one"}
    pictures(Path("one"), {"d": (0, 0, 0)})
    wrong(
        {"form": "folder", "path": path, "size": 8}, "one has the classes a, d", "set/test has a, b"
    )


def test_links():
    pictures(Path("store"), {"a": (0, 0, 0), "b": (255, 255, 255), "more": (9, 9, 9)})
    Path("set").mkdir()
    for name in ("a", "b"):
        Path("set", name).symlink_to(f"../store/{name}")
    Path("store/b/more").symlink_to("../more")
    Path("store/b/loop").symlink_to(".")
    assert examples_of(made(PNG)[1]) == 30  # through the loop: b is above
    Path("store/a/nothing.png").symlink_to("gone.png")
    wrong(PNG, "nothing.png")
    for name in ("one", "two"):  # classes of several folders
        pictures(Path("nested", name), {"front": (0, 0, 0), "back": (9, 9, 9)})
    summary = made(PNG | {"path": "nested"}, "nested")[1]["summary"]
    assert summary["examples"] == {"train": [18, 14], "test": [2, 6]}


def test_no_archives():
    np.savez("whole.npz", inputs=DIGITS, labels=LABELS)
    np.save("one.npy", DIGITS)
    np.savez_compressed("small.npz", inputs=DIGITS, labels=LABELS)
    flipped, packed = (bytearray(Path(f"{name}.npz").read_bytes()) for name in ("whole", "small"))
    flipped[2000] ^= 1
    packed[500] ^= 1
    for content, words in (
        *((content, "cut off or damaged") for content in (flipped[:900], flipped, packed)),
        (Path("one.npy").read_bytes(), "one array (.npy)"),
        (LFS, "git lfs pull"),
        (b"a note", "neither an .npz file"),
    ):
        Path("mine.npz").write_bytes(content)
        wrong(NPZ, "mine.npz: is", words)


def test_other_labels():
    texts, numbers = (made(arrays(labels=(LABELS + 8).astype(kind))) for kind in (str, int))
    assert texts[1]["class_names"] == numbers[1]["class_names"] == ["8", "9", "10", "11", "12"]
    assert np.array_equal(texts[0].train_labels, numbers[0].train_labels)
    assert "label -1 is a class" in notices(made(arrays(labels=LABELS - 1))[1])
    dataset, _ = made(arrays(labels=np.where(DIGITS > 7, "ink", "paper")))  # for each position
    assert dataset.train_labels.shape == (40, 8, 8)
    assert dataset.class_names == ("ink", "paper")
    one_hot = arrays(DIGITS[:, 0], np.eye(8, dtype=int)[LABELS])
    wrong(one_hot, "labels of mine.npz", "labels.argmax(1)")


def test_idx():
    """The published names, of either spelling, packed or not; images of 8 bits, labels of 32."""
    Path("set").mkdir()
    images = RANDOM.integers(0, 256, (30, 7, 6), np.uint8)

    def write(name: str, kind: int, values: np.ndarray, size: int | None = None) -> None:
        header = bytes([0, 0, kind, values.ndim]) + np.array(values.shape, ">u4").tobytes()
        content = header + values.tobytes()[:size]
        Path("set", name).write_bytes(gzip.compress(content) if "train" in name else content)

    for split, rows in (("train", slice(20)), ("t10k", slice(20, 30))):
        write(f"{split}-images-idx3-ubyte{'.gz' * (split == 'train')}", 8, images[rows])
        write(f"{split}-labels.idx1-ubyte", 12, LABELS[rows].astype(">i4"))
    block = {"form": "idx", "path": "set"}
    dataset, _ = made(block)
    assert np.array_equal(dataset.test_inputs[..., 0], images[20:])
    assert np.array_equal(dataset.train_labels, LABELS[:20])
    files = {"inputs": "t10k-images-idx3-ubyte", "labels": "t10k-labels.idx1-ubyte"}
    whole = block | files | {"held_out": 0.2}
    assert examples_of(made(whole)[1]) == 10
    write("letters-train-images-idx3-ubyte", 8, images)
    wrong(block, "inputs: 2 files seem to be those of the train split, among set/")
    write("t10k-labels.idx1-ubyte", 12, LABELS[20:30].astype(">i4"), 30)
    wrong(whole, "set/t10k-labels.idx1-ubyte: is no whole idx file")


def test_an_edition_may_list_what_archives_hold():
    """Whoever packed them, the arrays are the same; other content is refused."""
    folder, official, unpacked = Path("mirror/mine"), {}, {}
    folder.mkdir(parents=True)
    contents = {}
    for split, rows in (("train", slice(20)), ("t10k", slice(20, 30))):
        for name, values in (("images-idx3", DIGITS), ("labels-idx1", LABELS)):
            values = values[rows].astype(np.uint8)
            header = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">u4").tobytes()
            contents[f"{split}-{name}-ubyte"] = header + values.tobytes()
    for name, content in contents.items():
        official[f"{name}.gz"] = hashlib.sha256(gzip.compress(content, 9, mtime=0)).hexdigest()
        unpacked[name] = hashlib.sha256(content).hexdigest()
    block = {"form": "idx", "editions": {"official": official, "unpacked": unpacked}}
    found = []
    for suffix, packed in (
        (".gz", lambda content: gzip.compress(content, 9, mtime=0)),
        (".gz", lambda content: gzip.compress(content, 1, mtime=0)),
        ("", lambda content: content),
    ):
        for old in folder.iterdir():
            old.unlink()
        for name, content in contents.items():
            (folder / f"{name}{suffix}").write_bytes(packed(content))
        shutil.rmtree("data", ignore_errors=True)
        dataset, manifest = made(block, mirrors=["mirror"])
        assert np.array_equal(dataset.test_inputs[..., 0], DIGITS[20:30])
        found.append((manifest["edition"], manifest["folder"]))
    assert [edition for edition, _ in found] == ["official", "unpacked", "unpacked"]
    assert found[1] == found[2]
    (folder / "t10k-labels-idx1-ubyte").rename(folder / "t10k-labels-idx1-ubyte.gz")
    shutil.rmtree("data")
    done = fetch("mine", Path("results"), Path("data"), block=block, mirrors=["mirror"])
    refused(done, "wrong checksum", unpacked["t10k-labels-idx1-ubyte"], "other content, packed")


def test_targets():
    values = RANDOM.normal(9, 2, (50, 2))
    dataset, _ = made(arrays(labels=values, targets="labels"))
    assert (dataset.class_names, dataset.outputs, dataset.train_labels.dtype) == ((), 2, np.float32)
    labels = np.concatenate([dataset.train_labels, dataset.test_labels])
    assert np.array_equal(np.sort(labels, 0), np.sort(values.astype(np.float32), 0))
    assert made(arrays(targets="labels"))[0].train_labels.shape == (40, 1)
    for odd, words in (
        (values[:, :, None], "(examples, targets)"),
        (values.astype(str), "targets and indicators are numbers"),
        (np.where(values > 9, np.nan, values), "not finite"),
        (0 * values, "same value in all examples"),
    ):
        wrong(arrays(labels=odd, targets="labels"), "labels of mine.npz", words)


def test_ignored():
    labels = np.where(DIGITS > 7, 3, 2)
    labels[:, 0] = 255
    dataset, manifest = made(arrays(labels=labels, ignored=255))
    assert (dataset.class_names, dataset.train_labels.min()) == (("2", "3"), -1)
    assert (dataset.train_labels[:, 0] == -1).all()
    assert manifest["summary"]["treated"] == {"labels that are ignored": 400}
    wrong(arrays(labels=labels, ignored=254), "has no label 254")


def test_indicators():
    values = RANDOM.random((50, 3)) < [0.1, 0.5, 0.9]
    dataset, manifest = made(arrays(labels=values, indicators="labels", classes=["a", "b", "c"]))
    assert (dataset.class_names, dataset.outputs) == (("a", "b", "c"), 3)
    assert dataset.train_labels.dtype == np.int32
    whole = np.concatenate([dataset.train_labels, dataset.test_labels])
    assert whole.sum(0).tolist() == values.sum(0).tolist()
    assert manifest["summary"]["examples"]["train"] == dataset.train_labels.sum(0).tolist()
    for odd in (2 * values, values[:, :1], np.where(values, np.nan, 0.0)):
        wrong(arrays(labels=odd, indicators="labels"), "other values than 0 and 1")


def test_indices():
    words = RANDOM.integers(0, 40, (50, 9))
    dataset, _ = made(arrays(words, vocabulary=40))
    assert (dataset.vocabulary, dataset.train_inputs.dtype) == (40, np.int32)
    for value, reason in ((-1, "vocabulary"), (40, "vocabulary"), (2**32 + 1, "4294967297")):
        words[3, 2] = value
        wrong(arrays(words, vocabulary=40), reason)


def test_sizes():
    for model, shape, vocabulary, words in (
        ("fashion-cnn", [28, 15, 1], None, "16 x 16"),
        ("text-cnn", [11], 90, "no less than 12 words"),
        ("text-cnn", [28, 28, 1], None, "takes texts"),
        ("wide-resnet", [20], 90, "takes images"),
    ):
        with pytest.raises(UserError, match=f"datasets.mine.*{words}"):
            check_shape(model, "mine", shape, vocabulary)
    check_shape("fashion-cnn", "mine", [16, 16, 1], None)
    check_shape("text-cnn", "mine", [12], 90)
    made(arrays())
    done = serialize(Path("results"), Path("data"), models=["fashion-cnn"])
    assert (done.returncode, done.stderr.count("error: ")) == (1, 1)


def test_few():
    spec = make_spec("fashion-cnn", "torch", global_batch=16, steps_per_epoch=3)
    for train, test, batch, part in ((48, 16, 16, 8), (600, 5, 5, 2), (7, 2, 2, 0)):
        reduced, used = fitted(spec, make_images(train, test, side=2))
        assert reduced.global_batch == reduced.evaluation_batch == batch
        assert len(used.train_labels) == min(train, 3 * batch + part)
        assert len(used.test_labels) == min(test, batch + part)
    validating = changed(spec, {"validation": {"random": 0.5}, "train_examples": 400})
    reduced, used = fitted(validating, make_images(600, 600, side=2))
    assert reduced.split(len(used.train_labels)) == (3 * 16 + 8, 16 + 8)
    assert len(used.train_labels) > reduced.workload.train_examples  # what must not show
    with pytest.raises(UserError, match=r"5 training and 9 test examples; .* needs 6 and 2"):
        fitted(spec, make_images(5, 9, side=2))


def test_notices():
    for train, test, *reasons in (
        ([1, 0] * 9 + [2], [0, 1, 3], "'2': no test example", "'3': no training example"),
        (["cat ", "Cat", "dog"] * 6, ["dog", "Cat", "cat "], "'Cat' (6), 'cat ' (6)"),
        ([0] * 6 + [1] * 6, [0, 1], "sorted by class"),
    ):
        x, xt = (RANDOM.random((len(labels), 3)) for labels in (train, test))
        np.savez("mine.npz", x=x, y=np.array(train), xt=xt, yt=np.array(test))
        text = notices(made(BOTH)[1])
        assert [reason for reason in reasons if reason not in text] == []
    assert "50 classes for 40" in notices(made(arrays(labels=np.arange(50)))[1])
    assert "numpy.moveaxis" in notices(made(arrays(RANDOM.random((50, 3, 8, 9))))[1])
    equal = np.repeat(DIGITS[:1], 50, axis=0)
    assert "10 of the 10 test examples are training examples" in notices(made(arrays(equal))[1])
    rows = "".join(f"word{n} again{n},{'xy'[n % 2]}\n" for n in range(20))
    _, manifest = made(table("text,label\n" + rows))
    assert "100% of the words of the test split are unknown" in notices(manifest)


COUNT, SHARES = np.arange(240), np.linspace(0, 1, 240)
FILLED = np.where(COUNT % 20, 40 * SHARES - 5, -999)
SEEM_OTHERS = {
    "becomes 1700000000.0 in inputs[:, 0], and 120 different values become": 1_700_000_001 + COUNT,
    "inputs: 240 numbers change": 20_240_521 + 2 * COUNT,
    "2459000.01 becomes 2459000.0 in inputs[:, 0], and 120": 2_459_000 + COUNT / 100,
    "120 different values become 82": 10**10 + 700 * COUNT,
    "inputs[:, 0]: 12 of 240 values are -999, the others -4.8": FILLED,
    "12 of 240 values are 9999": np.where(FILLED == -999, 9999, 40 * COUNT + 0.5),
    "as if shares and percentages": np.where(COUNT % 9, SHARES, 99 * SHARES),
    "120 values are between 0 and 1, and 116 from 3": np.r_[SHARES[::2], 100 * SHARES[::2]],
}


def test_numbers_that_seem_to_be_others():
    """Each is noticed once, in inputs and in targets; what rounds is no duplicate."""
    usual = np.random.default_rng(0).permutation(240) / 100
    for reason, values in SEEM_OTHERS.items():
        for role, first, y in (("inputs", values, usual), ("labels", usual, values)):
            x = np.stack([first, COUNT], 1)
            np.savez("mine.npz", x=x[:120], y=y[:120], xt=x[120:], yt=y[120:])
            block = {key: value for key, value in BOTH.items() if key != "labels"}
            (sentence,) = made(block | {"targets": BOTH["labels"]})[1]["summary"]["notices"]
            assert reason.replace("inputs", role) in sentence
    np.savez("mine.npz", x=DIGITS / 16, y=LABELS, xt=DIGITS * 1.0, yt=LABELS)
    assert "numbers go to 1 in one split and to 16" in notices(made(BOTH)[1])


def test_numbers_as_they_are():
    """What float32 has, what rounds as usual, counts, few or many zeros, ages with 99, wide spreads."""
    random = np.random.default_rng(0)
    columns = [random.integers(low, high, 240) for low, high in ((0, 2), (0, 101), (18, 100))]
    columns += [random.normal(size=240), np.exp(random.normal(0, 2, 240)), 100 * random.random(240)]
    columns += [COUNT * 65536, np.where(COUNT % 9, 0, random.uniform(900, 1000, 240))]
    block = arrays(np.stack(columns, 1), random.permutation(240), targets="labels")
    assert notices(made(block)[1]) == ""


@pytest.mark.parametrize("packed", [True, False])
def test_arrays_with_a_part_held_out(packed):
    """Each example is in one split, with its own label; integers become float32, images get a channel."""
    if packed:
        np.savez_compressed("mine.npz", inputs=DIGITS, labels=LABELS)
    else:
        Path("mine.npz").mkdir()
        np.save("mine.npz/inputs.npy", DIGITS)
        np.save("mine.npz/labels.npy", LABELS)
    dataset, manifest = made(NPZ)
    assert dataset.train_inputs.shape == (40, 8, 8, 1)
    inputs = np.concatenate([dataset.train_inputs, dataset.test_inputs])
    labels = np.concatenate([dataset.train_labels, dataset.test_labels])
    found, stored = (
        {(bytes(row), label) for row, label in zip(*pair, strict=True)}
        for pair in ((inputs, labels.tolist()), (DIGITS.astype(np.float32), LABELS.tolist()))
    )
    assert found == stored
    assert manifest["class_names"] == list("01234")


def test_arrays_of_two_splits_keep_their_order():
    names = np.array(["b", "c", "a"])[np.arange(50) % 3]
    images = DIGITS.astype(np.uint8)
    np.savez("mine.npz", x=images[:30], y=names[:30], xt=images[30:], yt=names[30:])
    dataset, _ = made(BOTH)
    assert np.array_equal(dataset.test_inputs[..., 0], images[30:])
    assert dataset.train_inputs.dtype == np.uint8
    assert [dataset.class_names[label] for label in dataset.train_labels] == names[:30].tolist()
    # A test split of fractions as bytes would be zeros.
    np.savez("mine.npz", x=images[:30], y=LABELS[:30], xt=images[30:] / 255, yt=LABELS[30:])
    wrong(BOTH, "xt of mine.npz is float64", "x of mine.npz is uint8")


def test_arrays_that_cannot_be_read():
    np.savez("mine.npz", inputs=DIGITS, labels=LABELS)
    wrong(NPZ | {"held_out": 0.999}, "no example is left", "train")
    wrong(NPZ | {"classes": ["a", "b"]}, "2 names for the 5")
    wrong(NPZ | {"classes": [*"43210"]}, "another order, which is 0, 1, 2, 3, 4")
    wrong(NPZ | {"inputs": "x"}, "no array 'x'", "it has inputs, labels")
    wrong({"form": "arrays", "path": "mine.npz"}, "held_out: there is no test split")
