"""Places that may hold the files of a data set: mirror folders, mirror addresses, the official address.

A place is asked for one file of one edition at a time. pooch downloads and checks what is on the network.
"""

import os
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

ENVIRONMENT = "PARAGONE_MIRRORS"
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

        Raises `Unreachable`, and `UserError` for a wrong checksum or an edition of which files are missing.
        """
        present: set[str] = set()
        wrong: dict[str, str] = {}
        for edition, digests in editions.items():
            files = {}
            for name, digest in digests.items():
                try:
                    path = self._file(edition, name, digest)
                except WrongContent as error:
                    wrong[name] = str(error)
                    break
                if path:
                    files[name] = path
            if len(files) == len(digests):
                origin = self.title.removeprefix("address ") if self.url else "mirror folder"
                return Edition(edition, files, origin)
            present.update(files)
        for name, description in wrong.items():
            listed = (
                f"{files[name]} ({edition})" for edition, files in editions.items() if name in files
            )
            raise UserError(
                f"{self.title}: {name} of {dataset} has a wrong checksum: expected SHA-256 "
                f"{', '.join(listed)}, found {description}. Replace the file, or list its checksum among the "
                f"editions of {dataset} in the config"
            )
        if present:
            missing = sorted({name for files in editions.values() for name in files} - present)
            raise UserError(f"{self.title}: {dataset} is incomplete, missing {', '.join(missing)}")
        return None

    def _file(self, edition: str, name: str, digest: str) -> Path | None:
        """Return the checked file of an edition, None if it is not here. `WrongContent`: another checksum."""
        path, folder = self.folder / name, self.folder / edition
        if not self.url:
            if path.is_file() and sha256(path) != digest:
                raise WrongContent(_description(path))
            return path if path.is_file() else None
        description = ""

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

        url = self.urls.get(name, f"{self.url}/{name}")
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


def mirrors(name: str, downloads: Path, settings: dict) -> list[Place]:
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
