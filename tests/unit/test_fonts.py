"""Any script and any reader: fonts that draw a name, markers that can be distinguished."""

import json

import pytest
from fontTools.ttLib import TTFont
from matplotlib.font_manager import findfont
from workspace import CONFIG, run_python

from paragone.reporting import style

TEXT = "\N{TIBETAN LETTER KA}\N{TIBETAN LETTER KHA} \N{GREEK SMALL LETTER ALPHA}"
DRAWN = """
import json, sys, warnings
from pathlib import Path
from paragone.reporting import style
files = style.use_fonts_for([sys.argv[1]])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    style.save(style.Frame(3.4, 1, sys.argv[1], None, [sys.argv[1]]), [Path(sys.argv[2])])
print(json.dumps([[file.name for file in files], [str(one.message) for one in caught]]))
"""


def drawn(folder, text=TEXT):
    """The lines that are printed before; names of further fonts, and warnings; as in a notebook."""
    shell = {"XDG_DATA_HOME": str(folder), "MPLBACKEND": "module://of_a_notebook"}
    shell |= {"MATPLOTLIBRC": "/nowhere", "SOURCE_DATE_EPOCH": "none", "LC_ALL": "tr_TR.UTF-8"}
    printed = run_python(DRAWN, text, folder / "figure.svg", **shell)
    *said, last = printed.splitlines()
    return said, *json.loads(last)


def make_font(path, characters):
    """A font of another name that draws these characters, too, all of them as an A."""
    font = TTFont(findfont("DejaVu Sans"))
    for each in font["cmap"].tables:
        each.cmap |= dict.fromkeys(map(ord, characters), "A")
    for name in font["name"].names:
        name.string = "Made"
    path.parent.mkdir(parents=True)
    font.save(path)


def test_a_font_of_the_machine_draws_what_the_own_one_lacks(tmp_path):
    make_font(tmp_path / "fonts/made.ttf", TEXT[:2])
    said, files, warned = drawn(tmp_path)
    assert (said, files, warned) == ([], ["made.ttf"], [])


def test_a_script_without_a_font_is_told_with_the_package(tmp_path):
    if {TEXT[0]} <= set().union(*map(style.characters_of, style.findSystemFonts())):
        pytest.skip(
            "a font of this machine has Tibetan, so no notice is due: remove that font, or "
            "run the tests in a container without fonts-noto-core"
        )
    said, files, warned = drawn(tmp_path)
    (notice,) = said
    assert notice.startswith(f"notice: no font of this machine has {TEXT[:2]}; ")
    assert "install fonts-noto-core" in notice
    assert files == []
    assert len(warned) >= 2  # a box for each


@pytest.mark.parametrize("text", ["short", "a rather long name of a class " * 9, "\u0416" * 200])
def test_a_name_fits_into_its_room(text):
    short = style.shortened(text, 0.6, 6)
    assert style.text_width(short, 6) <= 0.6
    assert (short == text) is (text == "short")
    assert short == text or (short.endswith("\u2026") and text.startswith(short[:4]))


def test_every_backend_has_a_marker_of_its_own():
    """Readers who see no colors tell backends apart by their markers."""
    palette = {name: block["color"] for name, block in CONFIG["backends"].items()}
    markers = {style.series_style(palette, name)["marker"] for name in palette}
    assert len(markers) == len(palette)
