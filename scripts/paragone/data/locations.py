"""The places where a data set may be stored: mirror folders, mirror addresses, the official address.

Each place answers `find(dataset, editions)` with the edition it holds and its checked files.
editions: edition name -> {file name: SHA-256}.
"""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from paragone.base.errors import UserError
from paragone.data import store
from paragone.data.download import download

Editions = dict[str, dict[str, str]]


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
    """A place on the network; the edition it has is downloaded into a folder of `raw`."""

    url: str
    raw: Path

    @property
    def title(self) -> str:
        """How messages call this place."""
        return f"address {self.url}"

    def find(self, dataset: str, editions: Editions) -> Found | None:
        """The edition at this address, downloaded and checked; None if it has no file of it.

        Raises download.Unreachable without an answer, UserError on a wrong checksum.
        """
        self.raw.mkdir(parents=True, exist_ok=True)
        for left in self.raw.glob(".download-*"):  # by a killed process: the store is locked
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=".download-", dir=self.raw) as aside:
            paths = {
                name: Path(aside) / name
                for name in _names(editions)
                if download(f"{self.url}/{name}", Path(aside) / name)
            }
            found = identify(dataset, editions, paths, self.url, self.url)
            if found is None:
                return None
            with store.building(self.raw / found.edition) as kept:
                for name, path in found.files.items():
                    path.rename(kept / name)
        return Found(
            found.edition,
            {name: self.raw / found.edition / name for name in found.files},
            self.url,
        )


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
        raise UserError(
            f"mirror folder {named} does not exist: correct data.mirrors in the config or the "
            "environment variable PARAGONE_MIRRORS"
        )
    return Folder(root / dataset)


def _names(editions: Editions) -> list[str]:
    return sorted({name for files in editions.values() for name in files})


def identify(
    dataset: str, editions: Editions, paths: dict[str, Path], where: str, origin: str
) -> Found | None:
    """Which listed edition the files in `paths` are; None when there are none.

    Raises UserError naming file, expected and found checksums when they are no listed edition.
    """
    if not paths:
        return None
    hashes = {name: store.sha256(path) for name, path in paths.items()}
    for edition, files in editions.items():
        if all(hashes.get(name) == expected for name, expected in files.items()):
            return Found(edition, {name: paths[name] for name in files}, origin)
    for name, found in hashes.items():
        known = {edition: files[name] for edition, files in editions.items() if name in files}
        if found not in known.values():
            expected = ", ".join(f"{digest} ({edition})" for edition, digest in known.items())
            raise UserError(
                f"{where}: {name} of {dataset} has a wrong checksum: expected SHA-256 {expected}, "
                f"found {found}. Replace the file, or list its checksum for {dataset} in "
                "the `data` block of the config"
            )
    missing = [name for name in _names(editions) if name not in paths]
    raise UserError(f"{where}: {dataset} is incomplete, missing {', '.join(missing)}")
