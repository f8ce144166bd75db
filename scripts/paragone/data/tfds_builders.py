"""Builders of TensorFlow Datasets: found by name, held to known checksums, examples left in file order."""

import gzip
import hashlib
import pickle
import shutil
import types
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds
from absl import logging
from tensorflow_datasets.core.download.util import DownloadError

from paragone.base import plugins
from paragone.base.digests import sha256
from paragone.base.errors import UserError, first_line, first_sentence
from paragone.base.tensorflow import tf
from paragone.config.datasets import builder_module
from paragone.data import archives

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
Registered = dict[str, tuple[str, str]]  # file name -> URL, SHA-256


def builder_class(dataset: str, options: dict) -> Any:
    """The class of the builder that a block names: this project's of that name, else that of TFDS.

    Raises `UserError` if neither has it.
    """
    name = options["builder"]
    if builder_module(name):
        return plugins.load("data/builders", name).BUILDER
    try:
        return tfds.builder_cls(name)
    except tfds.core.registered.DatasetNotFoundError:
        raise UserError(
            f"datasets.{dataset}.builder: TensorFlow Datasets {tfds.__version__} has no builder {name!r}"
        ) from None


def registered(dataset: str, block: dict) -> Registered:
    """The files that the builder has registered, those of `files` if the block has that key.

    Raises `UserError` if there are none, or two of one name.
    """
    infos = builder_class(dataset, block).url_infos or {}
    found: Registered = {}
    for url, info in infos.items():
        name = file_name(url, info)
        if name in found:
            raise UserError(
                f"datasets.{dataset}.builder: {block['builder']} has two files {name!r}, which no mirror "
                "can hold; prepare them as another form"
            )
        found[name] = (url, info.checksum)
    wanted = block.get("files", list(found))
    if unknown := sorted({*wanted} - {*found}):
        raise UserError(
            f"datasets.{dataset}.files: {block['builder']} has no {unknown[0]!r}; it has "
            f"{', '.join(sorted(found))}"
        )
    if not wanted:
        raise UserError(
            f"datasets.{dataset}: builder {block['builder']} registers no checksums; list its files with "
            "theirs under `editions`"
        )
    return {name: found[name] for name in wanted}


def file_name(url: str, info: tfds.download.checksums.UrlInfo) -> str:
    """The name of a registered file; some are registered without one."""
    return info.filename or url.rpartition("/")[2]


def prepare(source: dict, scratch: Path, kept: Path) -> tfds.core.DatasetBuilder:
    """The builder of `source`, the content of source.json, with its examples prepared in `kept`.

    scratch: an empty folder of this call's own, because TFDS takes equally named files of different data
    sets for the same. Raises `UserError` for an unknown version or config, a file that changed after its
    check, is not what its data set is made of, or is missing.
    """
    # TFDS warns of what is not its own, and draws progress bars into logs.
    logging.set_verbosity(logging.ERROR)
    tfds.disable_progress_bar()
    dataset, options = source["dataset"], source["parameters"]
    folder = _folder(kept, [file["sha256"] for file in source["files"]], options)
    builder = _builder(dataset, options, source["files"], folder)
    for left in Path(builder.data_path).parent.glob("incomplete.*"):  # by a killed process
        shutil.rmtree(left, ignore_errors=True)
    try:
        for file in source["files"]:
            archives.check(Path(file["path"]))
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
    except (AssertionError, DownloadError, FileNotFoundError) as error:  # a file that nobody has
        raise UserError(
            f"{dataset} cannot be prepared: {first_sentence(error)}. Put what is missing beside "
            f"{source['files'][0]['path']}"
        ) from error
    return builder


def prepared(dataset: str, recipe: dict, kept: Path) -> tfds.core.DatasetBuilder:
    """The builder with the examples that `prepare` has left in `kept`.

    recipe: that of the arrays that were made of them. Raises `UserError` if they are gone.
    """
    options = recipe["parameters"]
    folder = _folder(kept, recipe["files"].values(), options)
    builder = _builder(dataset, options, [], folder)
    if not Path(builder.data_path).is_dir():
        raise UserError(
            f"{builder.data_path} is gone, from which the arrays of {dataset} were made: delete the "
            "folder of these, too, and run again"
        )
    return builder


def _folder(kept: Path, digests: Iterable[str], options: dict) -> Path:
    """Where examples of these files are prepared: TFDS keeps them by name and version alone."""
    of = "".join(digests) + options.get("code", "")
    return kept / hashlib.sha256(of.encode()).hexdigest()[:12]


def _builder(
    dataset: str, options: dict, files: list[dict], folder: Path
) -> tfds.core.DatasetBuilder:
    try:
        return _in_file_order(builder_class(dataset, options), files)(
            data_dir=str(folder), config=options.get("config"), version=options.get("version")
        )
    except (AssertionError, ValueError) as error:  # of an unknown version or config
        raise UserError(f"datasets.{dataset}: {first_sentence(error)}") from None


def _why_unreadable(source: dict, error: Exception) -> str:
    """The message: files changed meanwhile, or are not what the data set is made of."""
    files = [(Path(file["path"]), file["sha256"]) for file in source["files"]]
    if changed := [str(path) for path, digest in files if sha256(path) != digest]:
        return f"{source['dataset']} changed after its check: {', '.join(changed)}; check it again"
    names = ", ".join(str(path) for path, _ in files)
    return (
        f"{source['dataset']}: {names} cannot be read as this data set ({first_line(error)}); take "
        "another copy, and list its checksum among the editions of the data set in the config"
    )


def _in_file_order(official: Any, files: list[dict]) -> Any:
    """A builder class that checks these files and leaves the examples in their order.

    Its module stays that of the official class: there TFDS looks for descriptions and tags.
    """
    urls = {file_name(url, info): url for url, info in (official.url_infos or {}).items()}
    checks = {
        urls.get(file["name"], f"file:///{file['name']}"): tfds.download.checksums.UrlInfo(
            size=file["bytes"], checksum=file["sha256"], filename=file["name"]
        )
        for file in files
    }

    def info(self: tfds.core.DatasetBuilder) -> tfds.core.DatasetInfo:
        found = official._info(self)
        found.as_proto.disable_shuffling = True  # its constructor's argument of that name
        return found

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
