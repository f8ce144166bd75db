"""The first screen: answers with their pictures, whose marks have places in percent of the width or height.

The browser draws them at any width: `templates/first_screen.html`.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from paragone.reporting import sentences
from paragone.reporting.answers import BEST, OPEN, AnsweredQuestion, Picture, PublishedNumber
from paragone.reporting.exhibits import verdict_class
from paragone.reporting.inputs import Shown

_EDGE = 4.0  # percent of a picture that is left free on each side
_GRAY = "var(--muted)"
Scale = Callable[[float], float]


def render(questions: Sequence[AnsweredQuestion], shown: Shown) -> Markup:
    """Return the first screen as HTML."""
    environment = templates()
    environment.filters |= {"noun": sentences.noun, "color": partial(_color, shown=shown)}
    environment.globals |= {"effects_of": _effects, "cell_of": _cell}
    environment.globals |= {"best": BEST, "open": OPEN}
    return Markup(environment.get_template("first_screen.html").render(questions=questions))


def alone(questions: Sequence[AnsweredQuestion], headline: str, shown: Shown) -> str:
    """Return the first screen as a file of its own."""
    title, style = f"<title>Answers: {Markup.escape(headline)}</title>", text_of("page.css")
    style = f"<style>{style}.to {{ display: none; }}</style>"
    head = f'<!doctype html><html lang="en"><meta charset="utf-8">{title}{style}'
    return f"{head}<main><h1>{Markup.escape(headline)}</h1>{render(questions, shown)}</main></html>"


def templates() -> jinja2.Environment:
    """Return the templates of the page."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(text_of),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["verdict_class"] = verdict_class
    return environment


def text_of(name: str) -> str:
    """Return a file of the folder of templates."""
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def _color(label: str, shown: Shown) -> str:
    """Return the color of a variant, by its label, which begins with that of its backend."""
    backends = {text: name for name, text in shown.labels.items() if label.startswith(text)}
    backend = backends.get(max(backends, key=len, default=""), "")
    return str(shown.palette.get(backend, _GRAY))


def _scale(values: Iterable[float | None], log: bool = False) -> Scale:
    """Return the place of a number in percent, from the least to the greatest of `values`."""
    turn: Callable[[float], float] = math.log if log else float
    finite = [turn(value) for value in values if value is not None and math.isfinite(value)]
    low, high = min(finite), max(finite)
    return lambda value: _EDGE + (100 - 2 * _EDGE) * (turn(value) - low) / ((high - low) or 1.0)


def _effects(picture: Picture) -> dict[str, Any]:
    """Return the places of effects, of none, and of the band in which effects do not matter."""
    edges = (
        (1 / picture.margin, picture.margin) if picture.ratio else (-picture.margin, picture.margin)
    )
    ends = [end for row in picture.variants for end in (row.effect, row.low, row.high)]
    at = _scale([*ends, *edges], picture.ratio)
    return {"at": at, "band": [*map(at, edges)], "none": at(1.0 if picture.ratio else 0.0)}


def _cell(number: PublishedNumber) -> dict[str, Any]:
    """Return the places of the ends between which one more run would be, and of what was published."""
    at = _scale([number.value, number.center, *(end for ends in number.ranges for end in ends)])
    return {"at": at, "published": at(number.value)}
