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

    def head(self, status: int, length: int, **headers: str) -> None:
        """Status and headers; the connection ends with this answer."""
        self.send_response(status)
        for name, value in {"Content_Length": length, **headers, "Connection": "close"}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.close_connection = True


def answering(
    body: Callable[[bytes], bytes], share: float = 1, status: int = 200, **headers: str
) -> Answer:
    """Send something made of the file, and announce this share of its length."""

    def answer(request: Request) -> None:
        sent = body(request.server.content)
        request.head(status, int(share * len(sent)), **headers)
        request.wfile.write(sent)

    return answer


def honest(request: Request) -> None:
    """The file, or the part of it that is asked for."""
    content = request.server.content
    wanted = re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range") or "")
    if not wanted:
        deaf_to_ranges(request)
    elif (start := int(wanted[1])) >= len(content):
        request.head(416, 0)
    else:
        place = f"bytes {start}-{len(content) - 1}/{len(content)}"
        answering(lambda content: content[start:], status=206, Content_Range=place)(request)


page = answering(lambda _: PAGE, Content_Type="text/html")
cut_off = answering(lambda content: content[: len(content) // 2], share=2)
shorter_than_it_is = answering(bytes, share=0.5)
longer_than_it_is = answering(lambda content: content + b"more")
circle = answering(lambda _: b"", status=302, Location="reuters.npz")  # where it came from
away = answering(lambda _: b"", status=302, Location="file:///etc/hostname")
broken = answering(lambda _: b"", status=503)
deaf_to_ranges = answering(bytes)
# Said to be compressed once more, as servers say of every .gz file.
compressed = answering(bytes, Content_Encoding="gzip")


def dripping(request: Request) -> None:
    """A byte now and then."""
    request.head(200, len(request.server.content))
    for byte in request.server.content:
        request.wfile.write(bytes([byte]))
        time.sleep(0.2)


@contextmanager
def serving(answer: Answer, content: bytes) -> Iterator[ThreadingHTTPServer]:
    """The server at work: `answer` and `content` may be changed, `asked` has paths and ranges."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
    server.answer, server.content, server.asked = answer, content, []
    server.address = f"127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
