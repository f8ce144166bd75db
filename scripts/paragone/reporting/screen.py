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
    environment.globals |= {"effects_of": _effects, "times_of": _times, "cell_of": _cell}
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


def _times(picture: Picture) -> dict[str, Any]:
    """Return seconds of a run by its examples: a line per variant, and where another one ends first."""
    lines = {
        row.label: (row.start, row.step)
        for row in picture.variants
        if row.start is not None and row.step is not None
    }
    first, *later = picture.turns
    start, step = lines[first[0]]
    most = _round_up(max(2 * (later[-1][1] if later else start / step), 1 / step))
    ends = {label: a + most * b for label, (a, b) in lines.items()}
    top = _round_up(min(max(ends.values()), 1.8 * min(ends.values())))
    right, up = _scale([0.0, most]), _scale([0.0, top])

    def place(examples: float, label: str) -> tuple[float, float]:
        a, b = lines[label]
        return right(examples), 100 - up(a + b * examples)

    return {
        "lines": [
            (
                label,
                label if lines[label][0] < top else f"{label}: beyond {top:,.0f} s",
                *place(0, label),
                *place(most, label),
            )
            for label in sorted(ends, key=lambda label: -ends[label])
        ],
        "turns": [(*place(at, label), f"{at:,.0f} examples") for label, at in later],
        "broken": _again(ends),
        "most": f"{most:,.0f} examples",
        "top": f"{top:,.0f} s",
    }


def _again(labels: Iterable[str]) -> set[str]:
    """Return the labels whose backend another label before them has: their lines have its color."""
    backends = {label: label.partition(" (")[0] for label in labels}
    first = dict(zip(reversed(backends.values()), reversed(backends), strict=True))
    return {*backends} - {*first.values()}


def _round_up(value: float) -> float:
    """Return the next number of one digit, or two from 10 to 19."""
    power = 10.0 ** math.floor(math.log10(value))
    digits = value / power
    return power * (math.ceil(digits * 10) / 10 if digits < 2 else math.ceil(digits))


def _cell(number: PublishedNumber) -> dict[str, Any]:
    """Return the places of the ends between which one more run would be, and of what was published."""
    at = _scale([number.value, number.center, *(end for ends in number.ranges for end in ends)])
    return {"at": at, "published": at(number.value)}
