"""Download one file: fail fast without a network, keep what has arrived, never pass on half a file."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import requests
import urllib3

# Name look-up has no timeout of its own; together with the connection it may take this long.
ANSWER_WITHIN = 8.0
SILENCE_AT_MOST = 60.0
SLOWEST = 1024  # bytes per second; a server that sends less, after `SILENCE_AT_MOST`, is as good as silent
BLOCK = 1 << 18


class Unreachable(Exception):
    """The address gave no answer, or one that is neither the file nor "not found"."""


def download(url: str, target: Path) -> bool:
    """Write the file at `url` to `target`; False if the server does not have it (404, 410).

    What arrives is kept in `partial(target)`, where the next call goes on if the server can. Raises
    Unreachable when no usable answer comes within `ANSWER_WITHIN` seconds, or the transfer breaks off or
    is too slow; `target` then does not exist.
    """
    part = partial(target)
    there = part.stat().st_size if part.exists() else 0
    # The bytes of the file itself, whose checksum is known: not compressed once more on their way.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={there}-"} if there else {})
    try:
        response = _within(
            ANSWER_WITHIN,
            lambda: requests.get(url, stream=True, timeout=(4, SILENCE_AT_MOST), headers=headers),
        )
        with response:
            if response.status_code in (404, 410):
                return False
            if response.status_code != requests.codes.requested_range_not_satisfiable or not there:
                response.raise_for_status()
                goes_on = response.status_code == requests.codes.partial_content
                with part.open("ab" if goes_on else "wb") as file:
                    for block in _blocks(response):
                        file.write(block)
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise Unreachable(_reason(error)) from None
    part.replace(target)
    return True


def partial(target: Path) -> Path:
    """Where what has arrived of `target` is kept."""
    return target.with_name(f"{target.name}.part")


def _blocks(response: requests.Response) -> Iterator[bytes]:
    """What arrives, as it arrives."""
    begun, arrived = time.monotonic(), 0
    while block := response.raw.read1(BLOCK, decode_content=False):
        arrived += len(block)
        yield block
        seconds = time.monotonic() - begun
        if seconds > SILENCE_AT_MOST and arrived < SLOWEST * seconds:
            raise Unreachable(f"{arrived} bytes in {seconds:.0f} s: too slow")


def _within(seconds: float, action: Callable[[], requests.Response]) -> requests.Response:
    """The result of `action`, run aside so that a hanging name look-up cannot hold the program."""
    outcome: list[requests.Response | Exception] = []

    def run() -> None:
        try:
            outcome.append(action())
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise Unreachable(f"no answer within {seconds:g} s")
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def _reason(error: Exception) -> str:
    """What happened, without the address: it may hold a password."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"HTTP status {error.response.status_code}"
    if isinstance(error, requests.Timeout | urllib3.exceptions.TimeoutError):
        return "time-out"
    if isinstance(error, requests.TooManyRedirects):
        return "redirects without end"
    if isinstance(error, requests.exceptions.InvalidURL | requests.exceptions.InvalidSchema):
        return "not an address"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return "the transfer broke off"
