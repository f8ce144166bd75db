"""Read a checked data set through its TensorFlow Datasets builder into arrays.

Imports TensorFlow; everything else of this package stays light.
"""

import gzip
import pickle
import shutil
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds
from absl import logging

from paragone.base.digests import sha256
from paragone.base.errors import UserError, first_line
from paragone.data import archives
from paragone.data.arrays import create
from paragone.data.builders.cats_vs_dogs import CatsVsDogsEdition
from paragone.data.builders.edition import edition
from paragone.data.builders.fashion_mnist import FashionMnistEdition
from paragone.data.builders.reuters import ReutersEdition
from paragone.data.catalogue import entry

BATCH = 1000
# What readers raise of files that are not what they should be. UnpicklingError: a pickle that would do more.
UNREADABLE = (
    EOFError,
    KeyError,
    RuntimeError,  # of an archive with a password
    ValueError,
    gzip.BadGzipFile,
    pickle.UnpicklingError,
    tf.errors.OpError,
    zipfile.BadZipFile,
    zlib.error,
)
SPLIT_KEY = 80_20


def read(source: dict, prepared: Path, extracted: Path, target: Path) -> dict:
    """Write the four arrays of `source` into `target`; return vocabulary and provenance.

    prepared: the store's tfds/ folder; extracted: an empty folder of this call's own, because
    TFDS takes equally named files of different data sets for the same.
    Raises UserError if a file changed after its check, or is not what its data set is made of.
    """
    # TFDS warns of every configuration that is not its own, and draws progress bars into logs.
    logging.set_verbosity(logging.ERROR)
    tfds.disable_progress_bar()
    builder_class, write = READERS[source["dataset"]]
    builder = builder_class(
        data_dir=str(prepared), config=edition(source, entry(source["dataset"]).address)
    )
    for left in Path(builder.data_path).parent.glob("incomplete.*"):  # by a killed process
        shutil.rmtree(left, ignore_errors=True)
    manual = {str(Path(file["path"]).parent) for file in source["files"]}
    try:
        for file in source["files"]:
            archives.check(Path(file["path"]))
        builder.download_and_prepare(
            download_config=tfds.download.DownloadConfig(
                manual_dir=manual.pop(),
                extract_dir=str(extracted),
                try_download_gcs=False,
                force_checksums_validation=True,
            )
        )
    except (tf.errors.ResourceExhaustedError, tf.errors.PermissionDeniedError) as error:
        raise UserError(
            f"{prepared}: {first_line(error)}; make room there, or take permission, then run again"
        ) from error
    except (*UNREADABLE, tfds.download.download_manager.NonMatchingChecksumError) as error:
        raise UserError(_why_unreadable(source, error)) from error
    made = {"vocabulary": None, "made_by": f"tensorflow-datasets {tfds.__version__}"}
    try:
        return made | (write(builder, target, source["parameters"]) or {})
    except tf.errors.DataLossError as error:
        shutil.rmtree(builder.data_path)
        raise UserError(f"{builder.data_path} was damaged and is removed; run again") from error


def _why_unreadable(source: dict, error: Exception) -> str:
    """The message: files changed meanwhile, or are not what the data set is made of."""
    files = [(Path(file["path"]), file["sha256"]) for file in source["files"]]
    if changed := [str(path) for path, digest in files if sha256(path) != digest]:
        return f"{source['dataset']} changed after its check: {', '.join(changed)}; check it again"
    names = ", ".join(str(path) for path, _ in files)
    return (
        f"{source['dataset']}: {names} cannot be read as this data set ({first_line(error)}); take "
        "another copy, and list its checksum in data.editions"
    )


def _fashion_mnist(builder: tfds.core.DatasetBuilder, target: Path, parameters: dict) -> None:
    for split in ("train", "test"):
        examples = builder.info.splits[split].num_examples
        shape = builder.info.features["image"].shape
        images = create(target / f"{split}_images.npy", (examples, *shape), np.uint8)
        labels = create(target / f"{split}_labels.npy", (examples,), np.int32)
        batches = tfds.as_numpy(builder.as_dataset(split=split, batch_size=BATCH))
        for start, batch in zip(range(0, examples, BATCH), batches, strict=True):
            images[start : start + BATCH] = batch["image"]
            labels[start : start + BATCH] = batch["label"]
        images.flush()
        labels.flush()


def _cats_vs_dogs(builder: tfds.core.DatasetBuilder, target: Path, parameters: dict) -> None:
    """Resize each image once, as the published program does; see the catalogue for the split."""
    size = parameters["image_size"]
    skip = {"image": tfds.decode.SkipDecoding()}
    names = [
        example["image/filename"].decode()
        for example in tfds.as_numpy(builder.as_dataset(split="train", decoders=skip))
    ]
    order = np.random.Generator(np.random.Philox(key=SPLIT_KEY)).permutation(len(names))
    row = {name: position for position, name in enumerate(np.array(sorted(names))[order])}
    train = len(names) * 4 // 5
    arrays = {
        split: (
            create(target / f"{split}_images.npy", (examples, size, size, 3), np.uint8),
            create(target / f"{split}_labels.npy", (examples,), np.int32),
        )
        for split, examples in (("train", train), ("test", len(names) - train))
    }
    dataset = builder.as_dataset(split="train").map(
        lambda example: example | {"image": _resize(example["image"], size)},
        num_parallel_calls=tf.data.AUTOTUNE,
    )
    for example in tfds.as_numpy(dataset.prefetch(tf.data.AUTOTUNE)):
        position = row[example["image/filename"].decode()]
        split, index = ("train", position) if position < train else ("test", position - train)
        images, labels = arrays[split]
        images[index] = example["image"]
        labels[index] = example["label"]
    for images, labels in arrays.values():
        images.flush()
        labels.flush()


def _resize(image: tf.Tensor, size: int) -> tf.Tensor:
    """Bilinear, (size, size, 3) uint8: half a gray level at most from the published floats."""
    resized = tf.image.resize(image, [size, size])
    return tf.cast(tf.round(tf.clip_by_value(resized, 0, 255)), tf.uint8)


def _reuters(builder: tfds.core.DatasetBuilder, target: Path, parameters: dict) -> dict:
    """Pad and cut at the front, as keras.utils.pad_sequences does without options."""
    length = parameters["sequence_length"]
    highest = 0
    for split in ("train", "test"):
        examples = builder.info.splits[split].num_examples
        texts = np.zeros((examples, length), np.int32)
        labels = np.zeros((examples,), np.int32)
        for index, example in enumerate(tfds.as_numpy(builder.as_dataset(split=split))):
            # Before cutting: the published program sizes its embedding from the whole texts.
            highest = max(highest, example["text"].max())
            text = example["text"][-length:]
            texts[index, length - len(text) :] = text
            labels[index] = example["label"]
        np.save(target / f"{split}_sequences.npy", texts)
        np.save(target / f"{split}_labels.npy", labels)
    # Over both splits: the published program looked at the training texts only, and a test word
    # beyond them fell out of its embedding.
    return {"vocabulary": int(highest) + 1}


READERS: dict[str, tuple[type, Callable]] = {
    "fashion_mnist": (FashionMnistEdition, _fashion_mnist),
    "cats_vs_dogs": (CatsVsDogsEdition, _cats_vs_dogs),
    "reuters": (ReutersEdition, _reuters),
}
