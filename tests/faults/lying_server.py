"""A real server on loopback that serves one file, and lies about it as mirrors do."""

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
        self.server.paths.append(self.path)
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


honest = answering(bytes)
page = answering(lambda _: PAGE, Content_Type="text/html")
cut_off = answering(lambda content: content[: len(content) // 2], share=2)
longer_than_it_is = answering(lambda content: content + b"more")
circle = answering(lambda _: b"", status=302, Location="reuters.npz")  # where it came from
broken = answering(lambda _: b"", status=503)
# Said to be compressed once more, as servers say of every .gz file.
compressed = answering(bytes, Content_Encoding="gzip")


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
