"""The places where a data set may be stored: mirror folders, mirror addresses, the official address.

Each place answers `find(dataset, editions)` with the edition it holds and its checked files.
editions: edition name -> {file name: SHA-256}.
"""

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from paragone.base.digests import sha256
from paragone.base.errors import UserError
from paragone.data import store
from paragone.data.download import download, partial

Editions = dict[str, dict[str, str]]
ARRIVING = ".arriving"  # folder of downloads that are not whole editions yet


@dataclass(frozen=True)
class Found:
    """A whole edition, every file of it checked. files: name -> path."""

    edition: str
    files: dict[str, Path]
    origin: str


@dataclass(frozen=True)
class Folder:
    """A folder with the files of one data set; they are used in place, never copied."""

    path: Path
    origin: str = "mirror folder"

    @property
    def title(self) -> str:
        """How messages call this place."""
        return f"folder {self.path}"

    def find(self, dataset: str, editions: Editions) -> Found | None:
        """The edition in this folder, None without any of its files.

        Raises UserError on a wrong checksum or a missing file of a set that is there in part.
        """
        paths = {name: self.path / name for name in _names(editions)}
        paths = {name: path for name, path in paths.items() if path.is_file()}
        return identify(dataset, editions, paths, str(self.path), self.origin)


@dataclass(frozen=True)
class Address:
    """A place on the network; the edition it has is downloaded into a folder of `raw`.

    `urls`: by file name, of those that are elsewhere than directly below `url`.
    """

    url: str
    raw: Path
    urls: dict[str, str] = field(default_factory=dict)

    @property
    def public(self) -> str:
        """The address without the password that it may hold: for messages, logs and results."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    @property
    def title(self) -> str:
        """How messages call this place."""
        return f"address {self.public}"

    def find(self, dataset: str, editions: Editions) -> Found | None:
        """The edition at this address, downloaded and checked; None if it has no file of it.

        What has arrived is kept for the next call, whole files and parts, in a folder that the store's lock
        protects. Raises download.Unreachable without an answer, UserError on a wrong checksum.
        """
        arriving = self.raw / ARRIVING
        arriving.mkdir(parents=True, exist_ok=True)
        names = _names(editions)
        before = {name for name in names if _listed(arriving / name, editions)}
        here = {
            name for name in names if name not in before and self._fetch(arriving / name, editions)
        }
        if not here and not any(before.issuperset(files) for files in editions.values()):
            return None
        paths = {name: arriving / name for name in before | here}
        try:
            found = identify(dataset, editions, paths, self.public, self.public)
        except UserError:
            for path in paths.values():
                if not _listed(path, editions):
                    path.unlink()
            raise
        assert found is not None
        with store.building(self.raw / found.edition) as kept:
            for name, path in found.files.items():
                path.rename(kept / name)
        shutil.rmtree(arriving)
        return Found(
            found.edition,
            {name: self.raw / found.edition / name for name in found.files},
            self.public,
        )

    def _fetch(self, target: Path, editions: Editions) -> bool:
        """Whether this address has the file of the name of `target`, which then is there."""
        url = self.urls.get(target.name, f"{self.url}/{target.name}")
        went_on = partial(target).exists()
        found = download(url, target)
        if found and went_on and not _listed(target, editions):  # the part was another server's
            target.unlink()
            return download(url, target)
        return found


def mirror(named: str, dataset: str, raw: Path) -> Folder | Address:
    """The place of `dataset` in a mirror, as data.mirrors or PARAGONE_MIRRORS name it.

    Raises UserError if it names a folder that does not exist: it was named, so it was meant.
    """
    parts = urlsplit(named)
    if parts.scheme in ("http", "https"):
        return Address(f"{named.rstrip('/')}/{dataset}", raw)
    path = url2pathname(parts.path) if parts.scheme == "file" else named
    root = Path(path).expanduser()
    if not root.is_dir():
        shown = re.sub("//[^/@]*@", "//", named)  # a mistyped address may hold a password
        raise UserError(
            f"mirror folder {shown} does not exist: correct data.mirrors in the config or the "
            "environment variable PARAGONE_MIRRORS"
        )
    return Folder(root / dataset)


def _names(editions: Editions) -> list[str]:
    return sorted({name for files in editions.values() for name in files})


def _listed(path: Path, editions: Editions) -> bool:
    """Whether a file is there, and is that of some edition."""
    known = [files.get(path.name) for files in editions.values()]
    return path.exists() and sha256(path) in known


def identify(
    dataset: str, editions: Editions, paths: dict[str, Path], where: str, origin: str
) -> Found | None:
    """Which listed edition the files in `paths` are; None when there are none.

    Raises UserError naming file, expected and found checksums when they are no listed edition.
    """
    if not paths:
        return None
    hashes = {name: sha256(path) for name, path in paths.items()}
    for edition, files in editions.items():
        if all(hashes.get(name) == expected for name, expected in files.items()):
            return Found(edition, {name: paths[name] for name in files}, origin)
    for name, found in hashes.items():
        known = {edition: files[name] for edition, files in editions.items() if name in files}
        if found not in known.values():
            expected = ", ".join(f"{digest} ({edition})" for edition, digest in known.items())
            raise UserError(
                f"{where}: {name} of {dataset} has a wrong checksum: expected SHA-256 {expected}, "
                f"found {found} ({_kind(paths[name])}). Replace the file, or list its checksum among the "
                f"editions of {dataset} in the config"
            )
    missing = [name for name in _names(editions) if name not in paths]
    raise UserError(f"{where}: {dataset} is incomplete, missing {', '.join(missing)}")


def _kind(path: Path) -> str:
    """What a file looks like that is not what it should be."""
    with path.open("rb") as file:
        begin = file.read(64).lstrip().lower()
    size = f"{path.stat().st_size:,} bytes"
    return f"{size}, a web page" if begin.startswith((b"<!doctype", b"<html")) else size
