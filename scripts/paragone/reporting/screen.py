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
from paragone.reporting.answers import BEST, OPEN, Picture, PublishedNumber, Question
from paragone.reporting.exhibits import verdict_class
from paragone.reporting.inputs import Shown

_EDGE = 4.0  # percent of a picture that is left free on each side
_GRAY = "var(--muted)"
Scale = Callable[[float], float]


def render(questions: Sequence[Question], shown: Shown) -> Markup:
    """The first screen as HTML."""
    found = templates()
    found.filters |= {"noun": sentences.noun, "color": partial(_color, shown=shown)}
    found.globals |= {"effects_of": _effects, "times_of": _times, "cell_of": _cell}
    found.globals |= {"best": BEST, "open": OPEN}
    return Markup(found.get_template("first_screen.html").render(questions=questions))


def alone(questions: Sequence[Question], about: str, shown: Shown) -> str:
    """The first screen as a file of its own."""
    title, style = f"<title>Answers: {Markup.escape(about)}</title>", text_of("page.css")
    style = f"<style>{style}.to {{ display: none; }}</style>"
    head = f'<!doctype html><html lang="en"><meta charset="utf-8">{title}{style}'
    return f"{head}<main><h1>{Markup.escape(about)}</h1>{render(questions, shown)}</main></html>"


def templates() -> jinja2.Environment:
    """The templates of the page."""
    found = jinja2.Environment(
        loader=jinja2.FunctionLoader(text_of),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    found.filters["verdict_class"] = verdict_class
    return found


def text_of(name: str) -> str:
    """A file of the folder of templates."""
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def _color(label: str, shown: Shown) -> str:
    """The color of a variant, by its label, which begins with that of its backend."""
    known = {text: name for name, text in shown.labels.items() if label.startswith(text)}
    return str(shown.palette.get(known.get(max(known, key=len, default=""), ""), _GRAY))


def _scale(values: Iterable[float | None], log: bool = False) -> Scale:
    """Places of numbers in percent, from the least to the greatest of `values`."""
    turn: Callable[[float], float] = math.log if log else float
    known = [turn(one) for one in values if one is not None and math.isfinite(one)]
    low, high = min(known), max(known)
    return lambda one: _EDGE + (100 - 2 * _EDGE) * (turn(one) - low) / ((high - low) or 1.0)


def _effects(picture: Picture) -> dict[str, Any]:
    """Places of effects, of none, and of the band in which effects do not matter."""
    edges = (
        (1 / picture.margin, picture.margin) if picture.ratio else (-picture.margin, picture.margin)
    )
    ends = [end for one in picture.variants for end in (one.effect, one.low, one.high)]
    at = _scale([*ends, *edges], picture.ratio)
    return {"at": at, "band": [*map(at, edges)], "none": at(1.0 if picture.ratio else 0.0)}


def _times(picture: Picture) -> dict[str, Any]:
    """Seconds of a run by its examples: a line per variant, and the lengths at which another ends first."""
    lines = {
        one.label: (one.start, one.step)
        for one in picture.variants
        if one.start is not None and one.step is not None
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
            for label in sorted(ends, key=lambda each: -ends[each])
        ],
        "turns": [(*place(at, label), f"{at:,.0f} examples") for label, at in later],
        "broken": _again(ends),
        "most": f"{most:,.0f} examples",
        "top": f"{top:,.0f} s",
    }


def _again(labels: Iterable[str]) -> set[str]:
    """The labels whose backend another label before them has: their lines have its color."""
    backends = {label: label.partition(" (")[0] for label in labels}
    first = dict(zip(reversed(backends.values()), reversed(backends), strict=True))
    return {*backends} - {*first.values()}


def _round_up(value: float) -> float:
    """The next number of one digit, or two from 10 to 19."""
    power = 10.0 ** math.floor(math.log10(value))
    digits = value / power
    return power * (math.ceil(digits * 10) / 10 if digits < 2 else math.ceil(digits))


def _cell(one: PublishedNumber) -> dict[str, Any]:
    """Places of the ends between which one more run would be, and of what was published."""
    at = _scale([one.value, one.center, *(end for ends in one.ranges for end in ends)])
    return {"at": at, "published": at(one.value)}
