"""Download one file: fail fast where there is no network, never leave half a file."""

import threading
from collections.abc import Callable
from pathlib import Path

import requests

from paragone.base.atomic_files import writing

# Name look-up has no timeout of its own; together with the connection it may take this long.
ANSWER_WITHIN = 8.0
SILENCE_AT_MOST = 60.0


class Unreachable(Exception):
    """The address gave no answer, or one that is neither the file nor "not found"."""


def download(url: str, target: Path) -> bool:
    """Write the file at `url` to `target`; False if the server does not have it (404, 410).

    Raises Unreachable when no usable answer comes within `ANSWER_WITHIN` seconds or the transfer
    breaks off; `target` then does not exist.
    """
    try:
        response = _within(
            ANSWER_WITHIN, lambda: requests.get(url, stream=True, timeout=(4, SILENCE_AT_MOST))
        )
        with response:
            if response.status_code in (404, 410):
                return False
            response.raise_for_status()
            with writing(target, "wb") as file:
                for block in response.iter_content(1 << 20):
                    file.write(block)
    except requests.RequestException as error:
        raise Unreachable(_reason(error)) from None
    return True


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


def _reason(error: requests.RequestException) -> str:
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"HTTP status {error.response.status_code}"
    if isinstance(error, requests.Timeout):
        return "time-out"
    return "no connection" if isinstance(error, requests.ConnectionError) else str(error)
