"""What a page of a PDF file draws, and where: boxes of texts, lines and embedded drawings, in points."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from pypdf import PageObject, PdfReader
from pypdf.generic import ContentStream

HEIGHT = 0.75  # of letters, in sizes of their font


class Ink(NamedTuple):
    """`kind`: text, line or drawing; `scale`: of a drawing over its own size."""

    kind: str
    left: float
    bottom: float
    right: float
    top: float
    scale: float = 1.0


def ink(reader: PdfReader, page: PageObject) -> Iterator[Ink]:
    """Yield all that the content of a page draws; drawings are not looked into."""
    resources = page["/Resources"]
    fonts = {name: _widths(one.get_object()) for name, one in resources["/Font"].items()}
    matrix, stack, place = np.eye(3), [], np.eye(3)
    font, size = {}, 0.0
    for given, operator in ContentStream(page.get_contents(), reader).operations:
        match operator:
            case b"q":
                stack.append(matrix)
            case b"Q":
                matrix = stack.pop()
            case b"cm":
                matrix = _matrix(given) @ matrix
            case b"Tm":
                place = _matrix(given)
            case b"Td":
                place = _matrix([1, 0, 0, 1, *given]) @ place
            case b"Tf":
                font, size = fonts[given[0]], float(given[1])
            case b"Tj" | b"TJ":
                parts = given[0] if operator == b"TJ" else given
                length = sum(_length(part, font) for part in parts) / 1000 * size
                yield _box("text", place @ matrix, (0, 0), (length, HEIGHT * size))
            case b"re":
                x, y, width, height = map(float, given)
                yield _box("line", matrix, (x, y), (x + width, y + height))
            case b"m" | b"l":
                point = tuple(map(float, given))
                yield _box("line", matrix, point, point)
            case b"Do":
                form = resources["/XObject"][given[0]]
                if form["/Subtype"] == "/Form":
                    inside = _matrix(form.get("/Matrix", [1, 0, 0, 1, 0, 0])) @ matrix
                    low, high = np.array(form["/BBox"], dtype=float).reshape(2, 2)
                    box = _box("drawing", inside, low, high)
                    yield box._replace(scale=(box.right - box.left) / (high - low)[0])


def _matrix(numbers) -> np.ndarray:
    a, b, c, d, e, f = map(float, numbers)
    return np.array([[a, b, 0], [c, d, 0], [e, f, 1]])


def _box(kind: str, matrix: np.ndarray, *corners) -> Ink:
    points = np.array([[*corner, 1] for corner in corners]) @ matrix
    return Ink(kind, *points[:, :2].min(axis=0), *points[:, :2].max(axis=0))


def _length(part, font: dict[int, float]) -> float:
    """The advance of a string of two-byte codes, or of a number between two strings, in thousandths."""
    if not hasattr(part, "original_bytes"):
        return -float(part)
    codes = np.frombuffer(part.original_bytes, dtype=">u2")
    return sum(font.get(int(code), font[-1]) for code in codes)


def _widths(font) -> dict[int, float]:
    """The widths of a composite font by code; that of all others at -1."""
    (inner,) = font["/DescendantFonts"]
    inner = inner.get_object()
    found, given = {-1: float(inner.get("/DW", 1000))}, [*inner.get("/W", [])]
    while given:
        first, then, *given = given
        then = then.get_object()
        if isinstance(then, list):
            found |= {int(first) + at: float(width) for at, width in enumerate(then)}
        else:
            found |= dict.fromkeys(range(int(first), int(then) + 1), float(given.pop(0)))
    return found
