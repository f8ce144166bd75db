"""A real server on loopback that serves one file, and lies about it as mirrors do."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

# Status, headers and body, given the file.
Answer = Callable[[bytes], tuple[int, dict[str, object], bytes]]
PAGE = b"<!DOCTYPE html><html><body>Please log in to this network.</body></html>"
LIES: dict[str, Answer] = {
    "page": lambda _: (200, {"Content-Type": "text/html"}, PAGE),
    "circle": lambda _: (302, {"Location": "reuters.npz"}, b""),  # where it came from
    "broken": lambda _: (503, {}, b""),
    "cut_off": lambda content: (200, {"Content-Length": len(content)}, content[:-9]),
}


def honest(content: bytes) -> tuple[int, dict[str, object], bytes]:
    """Say that it is compressed once more, as servers say of every .gz file."""
    return 200, {"Content-Encoding": "gzip"}, content


class Request(BaseHTTPRequestHandler):
    """One request, answered by `server.answer` about the file `server.content`."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        status, headers, body = self.server.answer(self.server.content)
        self.send_response(status)
        for name, value in {"Content-Length": len(body), **headers, "Connection": "close"}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def serving(answer: Answer, content: bytes) -> Iterator[ThreadingHTTPServer]:
    """The server at work: `answer` and `content` may be changed, `paths` has those of all requests."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
    server.answer, server.content, server.paths = answer, content, []
    server.address = f"127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
