"""Locate the files of one data set: `data.source` of the config decides how far to go.

Files may be in mirror folders, at mirror addresses and at the official address. pooch downloads and checks
what is on the network.
"""

import gzip
import hashlib
import os
import re
import sys
import zlib
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pooch
import requests

from paragone.base.atomic_files import sha256
from paragone.base.errors import UserError
from paragone.config import datasets
from paragone.config.datasets import checksums, local_files
from paragone.data import store, synthetic
from paragone.data.forms import BYTES, kind_of

Editions = dict[str, dict[str, str]]  # edition name -> {file name: SHA-256}

OFFICIAL = "official"  # the edition at an official address
ENVIRONMENT = "PARAGONE_MIRRORS"
# Seconds until a server must have answered, and may be silent in a transfer.
TIMEOUT = 4, 60
pooch.get_logger().setLevel("ERROR")  # it names addresses, which may contain a password


@dataclass(frozen=True)
class Edition:
    """A whole edition with every file checked. files: name -> path."""

    name: str
    files: dict[str, Path]
    origin: str


@dataclass(frozen=True)
class Place:
    """A folder, whose files are used in place, or an address, whose files are downloaded once.

    `folder`: that of the files, or of the downloads, which has a folder for each edition. `urls`: file name
    -> address, for files that are not directly below `url`.
    """

    folder: Path
    url: str = ""
    urls: dict[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Return folder or address for messages and results, without a password."""
        parts = urlsplit(self.url)
        address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        return f"address {address}" if self.url else f"folder {self.folder}"

    def find(self, dataset: str, editions: Editions) -> Edition | None:
        """Return the first edition that is here, None without a file of any.

        Raises `RequestException`, and `UserError` for a wrong checksum or an edition with missing files.
        """
        present: set[str] = set()
        wrong = []
        for edition, digests in editions.items():
            files = {}
            for name, digest in digests.items():
                path, description = self._checked(edition, name, digest)
                if description:
                    wrong.append(f"{name}, expected {digest} ({edition}), found {description}")
                    break
                if path:
                    files[name] = path
            if len(files) == len(digests):
                origin = self.title.removeprefix("address ") if self.url else "mirror folder"
                return Edition(edition, files, origin)
            present.update(files)
        if wrong:
            raise UserError(
                f"{self.title}: {dataset} has a wrong checksum: {'; '.join(wrong)}. Replace the file, or "
                f"list its SHA-256 among the editions of {dataset} in the config"
            )
        if present:
            missing = sorted({name for files in editions.values() for name in files} - present)
            raise UserError(f"{self.title}: {dataset} is incomplete, missing {', '.join(missing)}")
        return None

    def _checked(self, edition: str, name: str, digest: str) -> tuple[Path | None, str]:
        """Return a file of an edition, None if it is not here; and what it is if its checksum is wrong."""
        if not self.url:
            path, packed = self.folder / name, self.folder / f"{name}.gz"
            # An idx file, whose name has no suffix, is read packed, too; gzip packs in many ways.
            if not path.is_file() and not path.suffix and packed.is_file():
                with suppress(OSError, EOFError, zlib.error), gzip.open(packed) as file:
                    if hashlib.file_digest(file, "sha256").hexdigest() == digest:
                        return packed, ""
                return packed, f"other content, packed: {_description(packed)}"
            if not path.is_file():
                return None, ""
            return path, "" if sha256(path) == digest else _description(path)
        folder, description = self.folder / edition, ""

        def download(url: str, target: str, _: object) -> None:
            nonlocal description
            # The checksum is that of the file itself, so the server must not compress it for the transfer,
            # and what it calls compressed is kept as it is.
            pooch.HTTPDownloader(
                progressbar=True,
                timeout=TIMEOUT,
                headers={"Accept-Encoding": "identity"},
                hooks={"response": _keep_encoded},
            )(url, target, None)
            description = _description(Path(target))

        url = self.urls.get(name, f"{self.url}/{name}")
        try:
            path = Path(pooch.retrieve(url, f"sha256:{digest}", name, folder, None, download))
        except requests.HTTPError as error:
            if error.response is not None and error.response.status_code in (404, 410):
                return None, ""
            raise
        except ValueError:  # of pooch for another checksum
            if not description:
                raise
            return None, description
        path.chmod(folder.stat().st_mode & 0o666)  # pooch makes private files
        return path, ""


def _keep_encoded(response: requests.Response, **_: object) -> None:
    """Keep content as it is sent: servers say of every .gz file that it is compressed for the transfer."""
    response.raw.headers.pop("Content-Encoding", None)


def _description(path: Path) -> str:
    with path.open("rb") as file:
        kind = kind_of(file.read(BYTES))
    details = ", ".join(filter(None, (f"{path.stat().st_size:,} bytes", kind)))
    return f"{sha256(path)} ({details})"


def _mirrors(name: str, downloads: Path, settings: dict) -> list[Place]:
    """Return the places of a builder's data or of a model in the mirrors of config and environment.

    Raises `UserError` for a mirror folder that does not exist: the user named it, so it was meant.
    """
    places = []
    for mirror in [*settings.get("mirrors", []), *os.environ.get(ENVIRONMENT, "").split(";")]:
        parts = urlsplit(mirror.strip())
        if parts.scheme in ("http", "https"):
            places.append(Place(downloads, f"{parts.geturl().rstrip('/')}/{name}"))
        elif path := url2pathname(parts.path) if parts.scheme == "file" else mirror.strip():
            if not Path(path).expanduser().is_dir():
                shown = re.sub("//[^/@]*@", "//", path)  # a mistyped address may contain a password
                raise UserError(
                    f"mirror folder {shown} does not exist: correct data.mirrors in the config or the "
                    f"environment variable {ENVIRONMENT}"
                )
            places.append(Place(Path(path).expanduser() / name))
    return places


def find(dataset: str, block: dict, settings: dict) -> dict:
    """Find, check and describe the raw files of `dataset`.

    block: its block of the config's `datasets`. settings: the config's `data` block. Returns the content of
    source.json: source, edition, parameters, path, about, files and their origin. Raises `UserError` for a
    missing folder, a wrong checksum, or, with `source: real`, when no place has the data.
    """
    if settings["source"] == "synthetic":
        return _synthetic(dataset, block, "data.source is synthetic")
    if block["form"] == datasets.TFDS or "editions" in block:
        return _published(dataset, block, settings)
    if "path" not in block:
        return _source(dataset, block, OFFICIAL, f"made by the form {block['form']}", [])
    files = local_files(block["path"])
    if not files:
        raise UserError(
            f"datasets.{dataset}.path: there is nothing at {block['path']}; correct it, or set data.source "
            "to synthetic"
        )
    edition = store.digest(checksums(files))[:12]  # other content is another edition
    return _source(dataset, block, edition, "path of the config", files)


def _published(dataset: str, block: dict, settings: dict) -> dict:
    editions, address, urls = block.get("editions"), block.get("address", ""), {}
    name = block.get("builder") or block.get("mirror", dataset)
    if editions is None:
        # Imported here: TensorFlow Datasets is needed only for what no config lists.
        from paragone.data.forms.tfds import registered

        files = registered(dataset, block)
        editions = {OFFICIAL: {name: digest for name, (_, digest) in files.items()}}
        urls = {name: url for name, (url, _) in files.items()}
        address = next(iter(urls.values())).rpartition("/")[0]
    if stored := _stored(dataset, block, editions, Path(settings["folder"])):
        return stored
    edition, reason = search(dataset, editions, settings, name, address, urls)
    if edition:
        digests = editions[edition.name]
        described = [
            {
                "name": name,
                "path": str(path.resolve()),
                "bytes": path.stat().st_size,
                "sha256": digests[name],
            }
            for name, path in edition.files.items()
        ]
        return _source(dataset, block, edition.name, edition.origin, described)
    if settings["source"] == "real":
        raise UserError(
            f"no real {dataset} found ({reason}). Put its files into the folder {name} of a "
            f"mirror named by data.mirrors or {ENVIRONMENT}, or set data.source to auto"
        )
    print(f"NOTICE: SYNTHETIC DATA in place of {dataset} ({reason})", file=sys.stderr)
    return _synthetic(dataset, block, reason)


def search(
    name: str,
    editions: Editions,
    settings: dict,
    mirror: str,
    address: str = "",
    urls: dict[str, str] | None = None,
) -> tuple[Edition | None, str]:
    """Search for a data set or model among the downloads, in the mirrors, then at its official address.

    settings: the config's `data` block, whose `folder` is locked meanwhile. mirror: its folder in mirrors.
    address, urls: of the edition `OFFICIAL`, see `Place`. Returns the first edition found, or None and why
    each place does not have it. Raises `UserError` for a wrong checksum, and as `_mirrors` does.
    """
    folder = Path(settings["folder"])
    downloads = folder / "raw" / store.plain(name)
    places = _mirrors(mirror, downloads, settings)
    if address and OFFICIAL in editions:
        places.append(Place(downloads, address, urls or {}))
    reasons = []
    with store.lock(folder, name):
        for left in downloads.glob("*/tmp*"):  # by a download that was killed
            left.unlink()
        for listed, digests in editions.items():
            with suppress(UserError):  # a part of the edition, or damaged: to be downloaded
                if edition := Place(downloads / listed).find(name, {listed: digests}):
                    return replace(edition, origin="downloaded before"), ""
        for place in places:
            try:
                if edition := place.find(name, editions):
                    return edition, ""
                reasons.append(f"{place.title}: not there")
            except requests.RequestException as error:
                # Its own text has the address, which may contain a password.
                status = f" {error.response.status_code}" if error.response is not None else ""
                reasons.append(f"{place.title}: {type(error).__name__}{status}")
    return None, "; ".join(reasons) or "no mirror and no official edition is listed"


def _stored(dataset: str, block: dict, editions: Editions, folder: Path) -> dict | None:
    """Describe the source of arrays that the store already has: no file is looked for or hashed."""
    for edition, files in editions.items():
        arrays = store.arrays_folder(
            folder, store.recipe(dataset, edition, files, datasets.shaping(block))
        )
        if store.complete(arrays):
            unread = [
                {"name": name, "path": None, "bytes": None, "sha256": digest}
                for name, digest in files.items()
            ]
            return _source(dataset, block, edition, "arrays in the data folder", unread)
    return None


def _synthetic(dataset: str, block: dict, reason: str) -> dict:
    return {
        **_source(dataset, block, "synthetic", f"generated: {reason}", []),
        "source": "synthetic",
        "parameters": synthetic.parameters(dataset, block),
        "path": None,
        "about": {key: text for key, text in block.get("about", {}).items() if key != "licence"},
    }


def _source(
    dataset: str, block: dict, edition: str, origin: str, files: list[dict[str, Any]]
) -> dict:
    return {
        "dataset": dataset,
        "source": "real",
        "edition": edition,
        "parameters": datasets.shaping(block),
        "path": block.get("path"),
        "about": block.get("about", {}),
        "origin": origin,
        "files": files,
    }
