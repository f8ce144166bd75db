"""Places that may hold the files of a data set: mirror folders, mirror addresses, the official address.

Each place has `find(dataset, editions)`, which returns the edition that it holds with its checked files.
editions: edition name -> {file name: SHA-256}. Downloads fail fast without a network, keep what has arrived,
and never pass on half a file.
"""

import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import requests
import urllib3

from paragone.base.digests import sha256
from paragone.base.errors import UserError
from paragone.data import store
from paragone.data.contents import BYTES, kind_of

Editions = dict[str, dict[str, str]]
ARRIVING = ".arriving"  # the folder of downloads that are not whole editions yet

# Seconds for a first answer: looking up a name has no time-out of its own, so it counts as well.
ANSWER_WITHIN = 8.0
SILENCE_AT_MOST = 60.0
SLOWEST = 1024  # bytes per second over a whole transfer that has lasted `SILENCE_AT_MOST`
BLOCK = 1 << 18


class Unreachable(Exception):
    """The address gave no answer, or one that is neither the file nor "not found"."""


@dataclass(frozen=True)
class Found:
    """A whole edition with every file checked. files: name -> path."""

    edition: str
    files: dict[str, Path]
    origin: str


@dataclass(frozen=True)
class Folder:
    """A folder with the files of one data set, which are used in place and never copied."""

    path: Path
    origin: str = "mirror folder"

    @property
    def title(self) -> str:
        """The name of this place in messages."""
        return f"folder {self.path}"

    def find(self, dataset: str, editions: Editions) -> Found | None:
        """The edition in this folder, None if it has none of the files.

        Raises `UserError` for a wrong checksum, and for an edition of which files are missing.
        """
        paths = {name: self.path / name for name in _names(editions)}
        paths = {name: path for name, path in paths.items() if path.is_file()}
        return identify(dataset, editions, paths, str(self.path), self.origin)


@dataclass(frozen=True)
class Address:
    """A place on the network, whose edition is downloaded into a folder of `raw`.

    `urls`: file name -> address, for files that are not directly below `url`.
    """

    url: str
    raw: Path
    urls: dict[str, str] = field(default_factory=dict)

    @property
    def public(self) -> str:
        """The address for messages, logs and results, without a password that it may contain."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    @property
    def title(self) -> str:
        """The name of this place in messages."""
        return f"address {self.public}"

    def find(self, dataset: str, editions: Editions) -> Found | None:
        """The edition at this address, downloaded and checked; None if it has no file of any edition.

        Whole files and parts that have arrived are kept for the next call; the store's lock protects their
        folder. Raises `Unreachable` without an answer, `UserError` for a wrong checksum.
        """
        arriving = self.raw / ARRIVING
        arriving.mkdir(parents=True, exist_ok=True)
        names = _names(editions)
        before = {name for name in names if _listed(arriving / name, editions)}
        fetched = {
            name for name in names if name not in before and self._fetch(arriving / name, editions)
        }
        if not fetched and not any(before.issuperset(files) for files in editions.values()):
            return None
        paths = {name: arriving / name for name in before | fetched}
        try:
            found = identify(dataset, editions, paths, self.public, self.public)
        except UserError:
            for path in paths.values():
                if not _listed(path, editions):
                    path.unlink()
            raise
        assert found is not None
        with store.building(self.raw / found.edition) as folder:
            for name, path in found.files.items():
                path.rename(folder / name)
        shutil.rmtree(arriving)
        files = {name: self.raw / found.edition / name for name in found.files}
        return Found(found.edition, files, self.public)

    def _fetch(self, target: Path, editions: Editions) -> bool:
        """Download the file of the name of `target`; False if this address does not have it."""
        url = self.urls.get(target.name, f"{self.url}/{target.name}")
        resumed = partial(target).exists()
        fetched = download(url, target)
        if fetched and resumed and not _listed(target, editions):
            target.unlink()  # the part came from another server
            return download(url, target)
        return fetched


def mirror(named: str, dataset: str, raw: Path) -> Folder | Address:
    """The place of `dataset` in a mirror named by data.mirrors or PARAGONE_MIRRORS.

    Raises `UserError` for a folder that does not exist: the user named it, so it was meant.
    """
    parts = urlsplit(named)
    if parts.scheme in ("http", "https"):
        return Address(f"{named.rstrip('/')}/{dataset}", raw)
    path = url2pathname(parts.path) if parts.scheme == "file" else named
    root = Path(path).expanduser()
    if not root.is_dir():
        shown = re.sub("//[^/@]*@", "//", named)  # a mistyped address may contain a password
        raise UserError(
            f"mirror folder {shown} does not exist: correct data.mirrors in the config or the "
            "environment variable PARAGONE_MIRRORS"
        )
    return Folder(root / dataset)


def identify(
    dataset: str, editions: Editions, paths: dict[str, Path], where: str, origin: str
) -> Found | None:
    """The listed edition that the files in `paths` are, None for no files.

    Raises `UserError` with file, expected and actual checksums for files of no listed edition.
    """
    if not paths:
        return None
    hashes = {name: sha256(path) for name, path in paths.items()}
    for edition, files in editions.items():
        if all(hashes.get(name) == expected for name, expected in files.items()):
            return Found(edition, {name: paths[name] for name in files}, origin)
    for name, actual in hashes.items():
        known = {edition: files[name] for edition, files in editions.items() if name in files}
        if actual not in known.values():
            expected = ", ".join(f"{digest} ({edition})" for edition, digest in known.items())
            raise UserError(
                f"{where}: {name} of {dataset} has a wrong checksum: expected SHA-256 {expected}, "
                f"found {actual} ({_kind(paths[name])}). Replace the file, or list its checksum among the "
                f"editions of {dataset} in the config"
            )
    missing = [name for name in _names(editions) if name not in paths]
    raise UserError(f"{where}: {dataset} is incomplete, missing {', '.join(missing)}")


def _names(editions: Editions) -> list[str]:
    return sorted({name for files in editions.values() for name in files})


def _listed(path: Path, editions: Editions) -> bool:
    """Whether a file exists and has a checksum that some edition lists for its name."""
    known = [files.get(path.name) for files in editions.values()]
    return path.exists() and sha256(path) in known


def _kind(path: Path) -> str:
    """The size of a wrong file, and what it is if that is known."""
    with path.open("rb") as file:
        kind = kind_of(file.read(BYTES))
    return ", ".join(filter(None, (f"{path.stat().st_size:,} bytes", kind)))


def download(url: str, target: Path) -> bool:
    """Write the file at `url` to `target`; False if the server does not have it (404, 410).

    What arrives is kept in `partial(target)`, where the next call resumes if the server can. Raises
    `Unreachable`, without a `target`, when no usable answer comes within `ANSWER_WITHIN` seconds and when the
    transfer breaks off or is too slow.
    """
    part = partial(target)
    have = part.stat().st_size if part.exists() else 0
    # The checksum is that of the file itself, so the server must not compress it for the transfer.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        response = _within(
            ANSWER_WITHIN,
            lambda: requests.get(url, stream=True, timeout=(4, SILENCE_AT_MOST), headers=headers),
        )
        with response:
            if response.status_code in (404, 410):
                return False
            if response.status_code != requests.codes.requested_range_not_satisfiable or not have:
                response.raise_for_status()
                resumes = response.status_code == requests.codes.partial_content
                with part.open("ab" if resumes else "wb") as file:
                    for block in _blocks(response):
                        file.write(block)
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise Unreachable(_reason(error)) from None
    part.replace(target)
    return True


def partial(target: Path) -> Path:
    """The file that keeps what has arrived of `target`."""
    return target.with_name(f"{target.name}.part")


def _blocks(response: requests.Response) -> Iterator[bytes]:
    """The content as it arrives. Raises `Unreachable` for a transfer that is too slow."""
    start, arrived = time.monotonic(), 0
    while block := response.raw.read1(BLOCK, decode_content=False):
        arrived += len(block)
        yield block
        seconds = time.monotonic() - start
        if seconds > SILENCE_AT_MOST and arrived < SLOWEST * seconds:
            raise Unreachable(f"{arrived} bytes in {seconds:.0f} s: too slow")


def _within(seconds: float, action: Callable[[], requests.Response]) -> requests.Response:
    """The result of `action`, run in a thread so that a hanging name look-up cannot block the program."""
    outcome: Future[requests.Response] = Future()

    def run() -> None:
        try:
            outcome.set_result(action())
        except Exception as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return outcome.result(seconds)
    except TimeoutError:
        raise Unreachable(f"no answer within {seconds:g} s") from None


def _reason(error: Exception) -> str:
    """What went wrong, without the address, which may contain a password."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"HTTP status {error.response.status_code}"
    for kinds, words in (
        ((requests.Timeout, urllib3.exceptions.TimeoutError), "time-out"),
        (requests.TooManyRedirects, "redirects without end"),
        ((requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema), "not an address"),
        (requests.ConnectionError, "no connection"),
    ):
        if isinstance(error, kinds):
            return words
    return "the transfer broke off"
