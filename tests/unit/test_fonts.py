"""Titles and names in any script: drawn where a font has them, told where none has, kept in their room."""

import json
import os
import subprocess
import sys

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from workspace import ROOT

from paragone.reporting import fonts, style

TEXT = "\N{TIBETAN LETTER KA}\N{TIBETAN LETTER KHA} \N{GREEK SMALL LETTER ALPHA}"
DRAWN = """
import json, sys, warnings
from pathlib import Path
from paragone.reporting import fonts, style
files = fonts.use_fonts_for([sys.argv[1]])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    style.save(style.Frame(3.4, 1, sys.argv[1], None, [sys.argv[1]]).figure, [Path(sys.argv[2])])
print(json.dumps([[file.name for file in files], [str(one.message) for one in caught]]))
"""


def drawn(folder, text=TEXT):
    """The lines that are printed before; names of further fonts, and warnings of matplotlib."""
    variables = {"XDG_DATA_HOME": str(folder), "PYTHONPATH": str(ROOT / "scripts")}
    line = [sys.executable, "-c", DRAWN, text, str(folder / "figure.svg")]
    *said, last = subprocess.check_output(line, env=os.environ | variables, text=True).splitlines()
    return said, *json.loads(last)


def make_font(path, characters):
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    pen.lineTo((0, 700))
    pen.lineTo((500, 700))
    pen.closePath()
    names = [".notdef", *(f"u{ord(one):X}" for one in characters)]
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap(dict(zip(map(ord, characters), names[1:], strict=True)))
    builder.setupGlyf(dict.fromkeys(names, pen.glyph()))
    builder.setupHorizontalMetrics(dict.fromkeys(names, (600, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Made", "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=800, usWinAscent=800, usWinDescent=200)
    builder.setupPost()
    path.parent.mkdir(parents=True)
    builder.save(path)


def test_a_font_of_the_machine_draws_what_the_own_one_lacks(tmp_path):
    make_font(tmp_path / "fonts/made.ttf", TEXT[:2])
    said, files, warned = drawn(tmp_path)
    assert (said, files, warned) == ([], ["made.ttf"], [])


def test_a_script_without_a_font_is_told_with_the_package(tmp_path):
    if {TEXT[0]} <= set().union(*map(fonts._characters, fonts.findSystemFonts())):
        pytest.skip("a font of this machine has Tibetan")
    said, files, warned = drawn(tmp_path)
    (notice,) = said
    assert notice.startswith("notice: no font of this machine has TIBETAN; ")
    assert "install fonts-noto-core, and" in notice
    assert files == []
    assert len(warned) >= 2  # a box for each


@pytest.mark.parametrize(
    ("character", "package"),
    [
        ("\N{HIRAGANA LETTER A}", "fonts-noto-cjk"),
        ("\N{HANGUL SYLLABLE GA}", "fonts-noto-cjk"),
        ("\u4e2d", "fonts-noto-cjk"),
        ("\N{DEVANAGARI LETTER KA}", "fonts-noto-core"),
        ("\N{PARTY POPPER}", "fonts-symbola"),
    ],
)
def test_the_package_of_a_script(character, package):
    assert fonts.package_of(character) == package


def test_usual_text_takes_no_further_font(capsys):
    assert fonts.use_fonts_for(["na\u00efve \u0394 \u0416 \u2713 a\u200db\ufe0f\n"]) == []
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("text", ["short", "a rather long name of a class " * 9, "\u0416" * 200])
def test_a_name_fits_into_its_room(text):
    short = style.shortened(text, 0.6, 6)
    assert style._text_width(short, 6) <= 0.6
    assert (short == text) is (text == "short")
    assert short == text or (short.endswith("\u2026") and text.startswith(short[:4]))
