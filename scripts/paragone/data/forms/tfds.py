"""Any builder of TensorFlow Datasets: images, texts, word indices or numbers, with a label each.

Splits are named in the notation of TFDS ("train", "train[:80%]"); examples keep the order of the files. TFDS
writes nothing outside of its folder, whatever the names in an archive.
"""

import gzip
import hashlib
import pickle
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow_datasets as tfds
from absl import logging
from tensorflow_datasets.core.download.extractor import ExtractError
from tensorflow_datasets.core.download.util import DownloadError

from paragone.base import plugins
from paragone.base.atomic_files import sha256
from paragone.base.errors import UserError, first_line, first_sentence
from paragone.base.tensorflow import tf
from paragone.config.datasets import SPLITS
from paragone.data.forms import ARRAYS, TEXTS, WHOLE, WORDS, ExampleStream, Raw, rows_at_a_time
from paragone.data.images import resized

# Errors of readers about files with another content. UnpicklingError: a pickle of more than arrays.
UNREADABLE = (
    EOFError,
    ExtractError,
    KeyError,
    RuntimeError,  # of an archive with a password
    ValueError,
    gzip.BadGzipFile,
    pickle.UnpicklingError,
    tf.errors.OpError,
    zipfile.BadZipFile,
    zlib.error,
)
TEXTS_AT_A_TIME = 1000


def read(source: dict, scratch: Path, store: Path) -> Raw:
    """Prepare the builder and read its examples. See `paragone.data.forms`."""
    builder = _prepare(source, scratch, store)
    return _Reader(builder, source["parameters"], f"datasets.{source['dataset']}").raw()


def builder_class(dataset: str, options: dict) -> Any:
    """Return the class of the builder that a block names: the project's or a plugin's, else that of TFDS.

    Raises `UserError` if none has it.
    """
    name = options["builder"]
    if plugins.file_of(f"data/builders/{name}.py"):
        return plugins.load("data/builders", name, "BUILDER").BUILDER
    try:
        return tfds.builder_cls(name)
    except tfds.core.registered.DatasetNotFoundError:
        raise UserError(
            f"datasets.{dataset}.builder: TensorFlow Datasets {tfds.__version__} has no builder {name!r}"
        ) from None


def registered(dataset: str, block: dict) -> dict[str, tuple[str, str]]:
    """Return the files that the builder registers: name -> URL, SHA-256.

    Raises `UserError` if there are none.
    """
    registry = builder_class(dataset, block).url_infos or {}
    files = {file_name(url, info): (url, info.checksum) for url, info in registry.items()}
    if not files:
        raise UserError(
            f"datasets.{dataset}: builder {block['builder']} registers no checksums; list its files with "
            "theirs under `editions`"
        )
    return files


def file_name(url: str, info: tfds.download.checksums.UrlInfo) -> str:
    """Return the name of a registered file, from its URL if it is registered without a name."""
    return info.filename or url.rpartition("/")[2]


def _prepare(source: dict, scratch: Path, store: Path) -> tfds.core.DatasetBuilder:
    """Return the builder of `source`, the content of source.json, with its examples prepared in `store`.

    scratch: an empty folder, because TFDS confuses files of one name that belong to different data sets.
    Raises `UserError` for an unknown version or config, and for a file that is missing, changed after its
    check, or is no file of this data set.
    """
    # TFDS warns of builders that are not its own, and draws progress bars into logs.
    logging.set_verbosity(logging.ERROR)
    tfds.disable_progress_bar()
    dataset, options, files = source["dataset"], source["parameters"], source["files"]
    # TFDS itself keeps examples by name and version only.
    content = "".join(file["sha256"] for file in files) + options.get("code", "")
    folder = store / hashlib.sha256(content.encode()).hexdigest()[:12]
    builder_type = _in_file_order(builder_class(dataset, options), files)
    try:
        builder = builder_type(
            data_dir=str(folder), config=options.get("config"), version=options.get("version")
        )
    except (AssertionError, ValueError) as error:  # by TFDS for an unknown version or config
        raise UserError(f"datasets.{dataset}: {first_sentence(error)}") from None
    for incomplete in Path(builder.data_path).parent.glob("incomplete.*"):  # of killed processes
        shutil.rmtree(incomplete, ignore_errors=True)
    try:
        builder.download_and_prepare(
            download_config=tfds.download.DownloadConfig(
                manual_dir=str(Path(files[0]["path"]).parent),
                extract_dir=str(scratch),
                try_download_gcs=False,
                force_checksums_validation=True,
            )
        )
    except (tf.errors.ResourceExhaustedError, tf.errors.PermissionDeniedError) as error:
        raise UserError(
            f"{folder}: {first_line(error)}; make room there, or take permission, then run again"
        ) from error
    except (*UNREADABLE, tfds.download.download_manager.NonMatchingChecksumError) as error:
        raise UserError(_why_unreadable(dataset, files, error)) from error
    except (AssertionError, DownloadError, FileNotFoundError) as error:
        # The builder needs one more file.
        raise UserError(
            f"{dataset} cannot be prepared: {first_sentence(error)}. Put what is missing beside "
            f"{files[0]['path']}"
        ) from error
    return builder


def _why_unreadable(dataset: str, files: list[dict], error: Exception) -> str:
    changed = [file["path"] for file in files if sha256(Path(file["path"])) != file["sha256"]]
    if changed:
        return f"{dataset} changed after its check: {', '.join(changed)}; check it again"
    return (
        f"{dataset}: {', '.join(file['path'] for file in files)} cannot be read as this data set "
        f"({first_line(error)}); take another copy, and list its checksum among the editions of the data "
        "set in the config"
    )


def _in_file_order(official: Any, files: list[dict]) -> Any:
    """Return a subclass that checks these files and keeps the examples in their order.

    It keeps the module of the official class, in which TFDS looks for descriptions and tags.
    """
    urls = {file_name(url, info): url for url, info in (official.url_infos or {}).items()}
    checks = {
        urls.get(file["name"], f"file:///{file['name']}"): tfds.download.checksums.UrlInfo(
            size=file["bytes"], checksum=file["sha256"], filename=file["name"]
        )
        for file in files
    }

    class InFileOrder(official, skip_registration=True):  # type: ignore[call-arg]  # of TFDS
        __module__ = official.__module__
        name = official.name
        url_infos = checks

        def _info(self) -> tfds.core.DatasetInfo:
            info = super()._info()
            info.as_proto.disable_shuffling = True  # the constructor's argument of this name
            return info

    return InFileOrder


class _Reader:
    """A prepared builder, and the block that says what to read of it."""

    def __init__(self, builder: tfds.core.DatasetBuilder, options: dict, where: str) -> None:
        self._builder, self._options, self._where = builder, options, where
        defaults = builder.info.supervised_keys or (None, None)
        self._input, self._label = map(self._feature, ("input", "label"), defaults)
        self._features = builder.info.features
        if not isinstance(self._features[self._label], tfds.features.ClassLabel):
            raise UserError(f"{where}.label: {self._label!r} of {builder.name} is no class label")
        # The builder's name of each split, or of the one from which examples are held out.
        default = SPLITS[0] if "held_out" in options else {split: split for split in SPLITS}
        splits = options.get("split", default)
        self._splits: dict[str, str] = {WHOLE: splits} if isinstance(splits, str) else splits

    def raw(self) -> Raw:
        """Return streams of the examples; only a feature that gives their order is read at once."""
        info = self._builder.info
        kind, shape, dtype, chunks = self._chunks()
        return Raw(
            kind=kind,
            streams={
                name: ExampleStream(
                    self._examples(split),
                    partial(chunks, split),
                    f"feature {self._input!r} of {self._builder.name}, split {split!r}",
                )
                for name, split in self._splits.items()
            },
            class_names=tuple(self._features[self._label].names),
            made_by=f"tensorflow-datasets {tfds.__version__}",
            shape=shape,
            dtype=dtype,
            rank=self._rank(),
            details={"homepage": info.homepage, "citation": info.citation},
            labels_from=f"feature {self._label!r} of {self._builder.name}",
        )

    @contextmanager
    def _undamaged(self) -> Iterator[None]:
        """Remove prepared examples that are damaged."""
        try:
            yield
        except tf.errors.DataLossError as error:
            folder = self._builder.data_path
            shutil.rmtree(folder)
            raise UserError(f"{folder} was damaged and is removed; run again") from error

    def _feature(self, key: str, default: Any = None) -> str:
        name, features = self._options.get(key, default), self._builder.info.features
        if not isinstance(name, str) or name not in features:
            raise UserError(
                f"{self._where}.{key}: {self._builder.name} has no feature {name!r}; it has "
                f"{', '.join(features)}"
            )
        return name

    def _examples(self, split: str) -> int:
        try:
            return self._builder.info.splits[split].num_examples
        # Depending on what is wrong with the notation.
        except (KeyError, ValueError, AssertionError):
            splits = ", ".join(self._builder.info.splits)
            raise UserError(
                f"{self._where}.split: {self._builder.name} has no {split!r}; it has {splits}. Say "
                "`split: train` and `held_out: 0.2`, say, where there is no test split"
            ) from None

    def _chunks(self) -> tuple[str, tuple[int, ...], Any, Callable[[str], Iterator]]:
        feature = self._features[self._input]
        if isinstance(feature, tfds.features.Image):
            shape, dtype, resize = self._layout(feature)
            return ARRAYS, shape, dtype, partial(self._batches, shape, dtype, resize)
        if isinstance(feature, tfds.features.Text):
            texts = partial(self._sequences, lambda text: text.decode(errors="replace"))
            return TEXTS, (), None, texts
        if feature.shape == (None,) and np.issubdtype(feature.np_dtype, np.integer):
            return WORDS, (), None, partial(self._sequences, lambda indices: indices)
        is_array = feature.shape and None not in feature.shape
        if is_array and np.issubdtype(feature.np_dtype, np.number):
            batches = partial(self._batches, feature.shape, np.float32, None)
            return ARRAYS, feature.shape, np.float32, batches
        raise UserError(
            f"{self._where}.input: {self._input!r} of {self._builder.name} is neither images nor texts, "
            "nor numbers of one shape; name another feature"
        )

    def _layout(self, feature: tfds.features.Image) -> tuple:
        size = self._options.get("size")
        height, width, channels = feature.shape
        if size is None and None in (height, width):
            raise UserError(
                f"{self._where}.size: the images of {self._builder.name} differ in size; give the "
                "pixels per side that they should have"
            )
        dtype = np.uint8 if feature.np_dtype == np.uint8 else np.float32
        if size is None or (height, width) == (size, size):
            return feature.shape, dtype, None
        return (size, size, channels), dtype, partial(resized, size=size)

    def _batches(
        self,
        shape: tuple[int, ...],
        dtype: Any,
        resize: Callable[[tf.Tensor], tf.Tensor] | None,
        split: str,
    ) -> Iterator:
        def pair(example: dict) -> tuple[tf.Tensor, tf.Tensor]:
            inputs = example[self._input]
            return resize(inputs) if resize else inputs, example[self._label]

        pairs = self._builder.as_dataset(split=split).map(pair, tf.data.AUTOTUNE)
        with self._undamaged():
            yield from tfds.as_numpy(pairs.batch(rows_at_a_time(shape, dtype)).prefetch(1))

    def _sequences(self, read: Callable[[Any], Any], split: str) -> Iterator:
        examples = iter(tfds.as_numpy(self._builder.as_dataset(split=split)))
        with self._undamaged():
            while part := list(islice(examples, TEXTS_AT_A_TIME)):
                inputs = [read(example[self._input]) for example in part]
                yield inputs, np.array([example[self._label] for example in part])

    def _rank(self) -> np.ndarray | None:
        """Return the position of each example in the order of the feature `order_by`, None without one."""
        if "order_by" not in self._options:
            return None
        feature = self._feature("order_by")
        if WHOLE not in self._splits:
            raise UserError(f"{self._where}.order_by: nothing is held out; leave it out")
        skipped = {
            name: tfds.decode.SkipDecoding()
            for name, other in self._features.items()
            if isinstance(other, tfds.features.Image)
        }
        dataset = self._builder.as_dataset(split=self._splits[WHOLE], decoders=skipped)
        with self._undamaged():
            values = [example[feature] for example in tfds.as_numpy(dataset)]
        return np.argsort(np.argsort(np.array(values), kind="stable"))
