"""A real server on loopback that serves one file, and lies about it as mirrors do."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

Answer = Callable[["Request"], None]
PAGE = b"<!DOCTYPE html><html><body>Please log in to this network.</body></html>"


class Request(BaseHTTPRequestHandler):
    """One request, answered by `server.answer` about the file `server.content`."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Range")))
        try:
            self.server.answer(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def head(self, status: int, length: int | None, **headers: str) -> None:
        """Status and headers; the connection ends with this answer."""
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in {**headers, "Connection": "close"}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.close_connection = True


def honest(request: Request) -> None:
    """The file, or the part of it that is asked for."""
    content = request.server.content
    if found := re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range") or ""):
        start = int(found[1])
        if start >= len(content):
            return request.head(416, 0)
        part = content[start:]
        place = f"bytes {start}-{len(content) - 1}/{len(content)}"
        request.head(206, len(part), Content_Range=place)
        request.wfile.write(part)
        return None
    request.head(200, len(content))
    request.wfile.write(content)
    return None


def page(request: Request) -> None:
    """HTTP 200 with an error page."""
    request.head(200, len(PAGE), Content_Type="text/html")
    request.wfile.write(PAGE)


def cut_off(request: Request) -> None:
    """Half of what was announced."""
    content = request.server.content
    request.head(200, len(content))
    request.wfile.write(content[: len(content) // 2])


def shorter_than_it_is(request: Request) -> None:
    """A wrong length: all that is announced comes, but that is not all."""
    content = request.server.content
    request.head(200, len(content) // 2)
    request.wfile.write(content)


def longer_than_it_is(request: Request) -> None:
    """More than the file, as long as announced."""
    content = request.server.content + b"more"
    request.head(200, len(content))
    request.wfile.write(content)


def circle(request: Request) -> None:
    """Redirects to where it came from."""
    request.head(302, 0, Location=request.path)


def away(request: Request) -> None:
    """Redirects to what no client should open."""
    request.head(302, 0, Location="file:///etc/hostname")


def broken(request: Request) -> None:
    """An error of the server."""
    request.head(503, 0)


def deaf_to_ranges(request: Request) -> None:
    """The whole file, whatever part is asked for."""
    content = request.server.content
    request.head(200, len(content))
    request.wfile.write(content)


def dripping(request: Request) -> None:
    """A byte now and then."""
    content = request.server.content
    request.head(200, len(content))
    for byte in content:
        request.wfile.write(bytes([byte]))
        time.sleep(0.2)


def compressed(request: Request) -> None:
    """The file, said to be compressed once more, as servers say of every .gz file."""
    content = request.server.content
    request.head(200, len(content), Content_Encoding="gzip")
    request.wfile.write(content)


@contextmanager
def serving(answer: Answer, content: bytes) -> Iterator[ThreadingHTTPServer]:
    """The server at work: `answer` and `content` may be changed, `asked` has paths and ranges."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
    server.answer, server.content, server.asked = answer, content, []
    server.address = f"127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
