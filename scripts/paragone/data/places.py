"""Places that may hold the files of a data set: mirror folders, mirror addresses, the official address.

A place is asked for one file of one edition at a time. pooch downloads and checks what is on the network.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pooch
import requests
from tqdm import tqdm

from paragone.base.digests import sha256
from paragone.base.errors import UserError
from paragone.data.forms import BYTES, kind_of

Editions = dict[str, dict[str, str]]  # edition name -> {file name: SHA-256}

CONNECT, SILENCE = (
    4,
    60,
)  # seconds until a server must have answered, and may be silent in a transfer
BLOCK = 1 << 18
pooch.get_logger().setLevel("ERROR")  # it names addresses, which may contain a password


class Unreachable(Exception):
    """The address gave no answer, or one that is neither the file nor "not found"."""


class WrongContent(Exception):
    """A file has another checksum than its edition lists; the text is its checksum, size and kind."""


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

    def file(self, edition: str, name: str, digest: str) -> Path | None:
        """Return the checked file of an edition, None if it is not there. Raises `WrongContent`."""
        path = self.path / name
        if not path.is_file():
            return None
        if sha256(path) != digest:
            raise WrongContent(_description(path))
        return path


@dataclass(frozen=True)
class Address:
    """An address on the network, whose files are downloaded into <raw>/<edition>/ once.

    `urls`: file name -> address, for files that are not directly below `url`.
    """

    url: str
    raw: Path
    urls: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        """The address for messages and results, without a password that it may contain."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    @property
    def title(self) -> str:
        """The name of this place in messages."""
        return f"address {self.origin}"

    def file(self, edition: str, name: str, digest: str) -> Path | None:
        """Return the checked file of an edition, downloaded; None if the address does not have it.

        Raises `WrongContent`, and `Unreachable` without an answer.
        """
        url, folder, description = self.urls.get(name, f"{self.url}/{name}"), self.raw / edition, ""

        def download(url: str, target: str, _: object) -> None:
            nonlocal description
            # The checksum is that of the file itself, so the server must not compress it for the transfer,
            # and what it calls compressed is kept as it is.
            with tqdm(desc=name, total=1, unit="B", unit_scale=True, mininterval=1) as bar:
                pooch.HTTPDownloader(
                    progressbar=bar,
                    chunk_size=BLOCK,
                    timeout=(CONNECT, SILENCE),
                    headers={"Accept-Encoding": "identity"},
                    hooks={"response": _keep_encoded},
                )(url, target, None)
            description = _description(Path(target))

        try:
            path = Path(pooch.retrieve(url, f"sha256:{digest}", name, folder, None, download))
        except requests.RequestException as error:
            if error.response is not None and error.response.status_code in (404, 410):
                return None
            raise Unreachable(_reason(error)) from None
        except ValueError:
            raise WrongContent(description) from None
        path.chmod(folder.stat().st_mode & 0o666)  # pooch makes private files
        return path


def mirror(name: str, dataset: str, raw: Path) -> Folder | Address:
    """Return the place of `dataset` in a mirror of data.mirrors or PARAGONE_MIRRORS.

    Raises `UserError` for a folder that does not exist: the user named it, so it was meant.
    """
    parts = urlsplit(name)
    if parts.scheme in ("http", "https"):
        return Address(f"{name.rstrip('/')}/{dataset}", raw)
    path = url2pathname(parts.path) if parts.scheme == "file" else name
    root = Path(path).expanduser()
    if not root.is_dir():
        shown = re.sub("//[^/@]*@", "//", name)  # a mistyped address may contain a password
        raise UserError(
            f"mirror folder {shown} does not exist: correct data.mirrors in the config or the "
            "environment variable PARAGONE_MIRRORS"
        )
    return Folder(root / dataset)


def search(place: Folder | Address, dataset: str, editions: Editions) -> Found | None:
    """Return the first edition that a place has, None if it has no file of any.

    Raises `Unreachable`, and `UserError` for a wrong checksum or an edition of which files are missing.
    """
    present: set[str] = set()
    wrong: dict[str, str] = {}
    for edition, digests in editions.items():
        files = {}
        for name, digest in digests.items():
            try:
                path = place.file(edition, name, digest)
            except WrongContent as error:
                wrong[name] = str(error)
                break
            if path:
                files[name] = path
        if len(files) == len(digests):
            return Found(edition, files, place.origin)
        present.update(files)
    for name, description in wrong.items():
        expected = (
            f"{digests[name]} ({edition})"
            for edition, digests in editions.items()
            if name in digests
        )
        raise UserError(
            f"{place.title}: {name} of {dataset} has a wrong checksum: expected SHA-256 "
            f"{', '.join(expected)}, found {description}. Replace the file, or list its checksum among the "
            f"editions of {dataset} in the config"
        )
    if present:
        missing = sorted({name for digests in editions.values() for name in digests} - present)
        raise UserError(f"{place.title}: {dataset} is incomplete, missing {', '.join(missing)}")
    return None


def _description(path: Path) -> str:
    """Return the checksum and size of a file, and what it is if that is known."""
    with path.open("rb") as file:
        kind = kind_of(file.read(BYTES))
    details = ", ".join(filter(None, (f"{path.stat().st_size:,} bytes", kind)))
    return f"{sha256(path)} ({details})"


def _keep_encoded(response: requests.Response, **_: object) -> None:
    """Keep content as it is sent: servers say of every .gz file that it is compressed for the transfer."""
    response.raw.headers.pop("Content-Encoding", None)


def _reason(error: requests.RequestException) -> str:
    """Return what went wrong, without the address, which may contain a password."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"HTTP status {error.response.status_code}"
    for kinds, reason in (
        (requests.Timeout, "time-out"),
        (requests.TooManyRedirects, "redirects without end"),
        ((requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema), "not an address"),
        (requests.ConnectionError, "no connection"),
    ):
        if isinstance(error, kinds):
            return reason
    return "the transfer broke off"
