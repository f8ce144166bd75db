"""Builders of TensorFlow Datasets, with checked files whose examples keep their order.

Files may come from anybody: archives are checked before anything in them is read.
"""

import gzip
import hashlib
import pickle
import shutil
import stat
import types
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

import tensorflow_datasets as tfds
from absl import logging
from tensorflow_datasets.core.download.util import DownloadError

from paragone.base import plugins
from paragone.base.digests import sha256
from paragone.base.errors import UserError, first_line, first_sentence
from paragone.base.tensorflow import tf
from paragone.config.datasets import builder_module

# Errors of readers about files with another content. UnpicklingError: a pickle of more than arrays.
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
Registered = dict[str, tuple[str, str]]  # file name -> URL, SHA-256

# An archive that unpacks to more than both limits is a bomb.
MOST_BYTES, MOST_TIMES = 2**30, 100


def builder_class(dataset: str, options: dict) -> Any:
    """The class of the builder that a block names: the project's or a plugin's, else that of TFDS.

    Raises `UserError` if none has it.
    """
    name = options["builder"]
    if builder_module(name):
        return plugins.load("data/builders", name, "BUILDER").BUILDER
    try:
        return tfds.builder_cls(name)
    except tfds.core.registered.DatasetNotFoundError:
        raise UserError(
            f"datasets.{dataset}.builder: TensorFlow Datasets {tfds.__version__} has no builder {name!r}"
        ) from None


def registered(dataset: str, block: dict) -> Registered:
    """The files that the builder registers.

    Raises `UserError` if there are none, or two of the same name.
    """
    infos = builder_class(dataset, block).url_infos or {}
    files: Registered = {}
    for url, info in infos.items():
        name = file_name(url, info)
        if name in files:
            raise UserError(
                f"datasets.{dataset}.builder: {block['builder']} has two files {name!r}, which no mirror "
                "can hold; prepare them as another form"
            )
        files[name] = (url, info.checksum)
    if not files:
        raise UserError(
            f"datasets.{dataset}: builder {block['builder']} registers no checksums; list its files with "
            "theirs under `editions`"
        )
    return files


def file_name(url: str, info: tfds.download.checksums.UrlInfo) -> str:
    """The name of a registered file, from its URL if it is registered without one."""
    return info.filename or url.rpartition("/")[2]


def prepare(source: dict, scratch: Path, kept: Path) -> tfds.core.DatasetBuilder:
    """The builder of `source`, the content of source.json, with its examples prepared in `kept`.

    scratch: an empty folder, because TFDS confuses files of the same name that belong to different data sets.
    Raises `UserError` for an unknown version or config, and for a file that is missing, changed after its
    check, or is no file of this data set.
    """
    # TFDS warns of builders that are not its own, and draws progress bars into logs.
    logging.set_verbosity(logging.ERROR)
    tfds.disable_progress_bar()
    dataset, options = source["dataset"], source["parameters"]
    folder = _folder(kept, [file["sha256"] for file in source["files"]], options)
    builder = _builder(dataset, options, source["files"], folder)
    for incomplete in Path(builder.data_path).parent.glob("incomplete.*"):  # of killed processes
        shutil.rmtree(incomplete, ignore_errors=True)
    try:
        for file in source["files"]:
            check_archive(Path(file["path"]))
        builder.download_and_prepare(
            download_config=tfds.download.DownloadConfig(
                manual_dir=str(Path(source["files"][0]["path"]).parent),
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
        raise UserError(_why_unreadable(source, error)) from error
    except (AssertionError, DownloadError, FileNotFoundError) as error:
        # A further file that the builder wants.
        raise UserError(
            f"{dataset} cannot be prepared: {first_sentence(error)}. Put what is missing beside "
            f"{source['files'][0]['path']}"
        ) from error
    return builder


def _folder(kept: Path, digests: Iterable[str], options: dict) -> Path:
    """The folder for the examples of these files; TFDS itself keeps them by name and version only."""
    of = "".join(digests) + options.get("code", "")
    return kept / hashlib.sha256(of.encode()).hexdigest()[:12]


def _builder(
    dataset: str, options: dict, files: list[dict], folder: Path
) -> tfds.core.DatasetBuilder:
    try:
        return _in_file_order(builder_class(dataset, options), files)(
            data_dir=str(folder), config=options.get("config"), version=options.get("version")
        )
    except (AssertionError, ValueError) as error:  # by TFDS for an unknown version or config
        raise UserError(f"datasets.{dataset}: {first_sentence(error)}") from None


def _why_unreadable(source: dict, error: Exception) -> str:
    """The message: files changed meanwhile, or are no files of this data set."""
    files = [(Path(file["path"]), file["sha256"]) for file in source["files"]]
    if changed := [str(path) for path, digest in files if sha256(path) != digest]:
        return f"{source['dataset']} changed after its check: {', '.join(changed)}; check it again"
    names = ", ".join(str(path) for path, _ in files)
    return (
        f"{source['dataset']}: {names} cannot be read as this data set ({first_line(error)}); take "
        "another copy, and list its checksum among the editions of the data set in the config"
    )


def _in_file_order(official: Any, files: list[dict]) -> Any:
    """A subclass that checks these files and keeps the examples in their order.

    It keeps the module of the official class, in which TFDS looks for descriptions and tags.
    """
    urls = {file_name(url, info): url for url, info in (official.url_infos or {}).items()}
    checks = {
        urls.get(file["name"], f"file:///{file['name']}"): tfds.download.checksums.UrlInfo(
            size=file["bytes"], checksum=file["sha256"], filename=file["name"]
        )
        for file in files
    }

    def info(self: tfds.core.DatasetBuilder) -> tfds.core.DatasetInfo:
        about = official._info(self)
        about.as_proto.disable_shuffling = True  # the constructor's argument of this name
        return about

    members = {
        "__module__": official.__module__,
        "name": official.name,
        "url_infos": checks,
        "_info": info,
    }
    return types.new_class(
        official.__name__,
        (official,),
        {"skip_registration": True},
        lambda body: body.update(members),
    )


def check_archive(path: Path) -> None:
    """Raise `UserError` for an archive (.zip, .npz, .gz) with links or paths outside of it, or a bomb.

    Other files pass. Nothing is written, and no more than a block of 1 MiB is in memory.
    """
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
        for member in members:
            name = PurePosixPath(member.filename)
            if name.is_absolute() or ".." in name.parts or "\\" in member.filename:
                raise UserError(
                    f"{path}: {member.filename!r} leads out of the archive; do not use it"
                )
            if stat.S_ISLNK(member.external_attr >> 16):
                raise UserError(f"{path}: {member.filename!r} is a link; do not use this archive")
        # Python reads no more of a member than its entry says.
        _check_size(path, sum(member.file_size for member in members))
    elif path.suffix == ".gz":
        with gzip.open(path) as file:
            unpacked = 0
            while block := file.read(2**20):
                unpacked += len(block)
                _check_size(path, unpacked)


def _check_size(path: Path, unpacked: int) -> None:
    if unpacked > max(MOST_BYTES, MOST_TIMES * path.stat().st_size):
        raise UserError(
            f"{path}: unpacks to more than {MOST_BYTES >> 20} MiB and {MOST_TIMES} times its size: a bomb; "
            "do not use it"
        )
