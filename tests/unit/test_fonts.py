"""Any script and any reader: fonts that draw a name, colors that can be distinguished."""

import itertools
import json

import numpy as np
import pytest
from colorspacious import cspace_convert, deltaE
from fontTools.ttLib import TTFont
from matplotlib.colors import to_rgb
from matplotlib.font_manager import findfont
from workspace import CONFIG, config_of, run_python

from paragone.config.expand import expand
from paragone.reporting import style
from paragone.reporting.figures.clocks import PART_STYLES

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
    """The lines that are printed before; names of further fonts, and warnings of matplotlib."""
    printed = run_python(DRAWN, text, folder / "figure.svg", XDG_DATA_HOME=str(folder))
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


PALETTE = {name: block["color"] for name, block in CONFIG["backends"].items()}
READERS = ("normal", "deuteranomaly", "protanomaly", "tritanomaly", "gray")
DISTINCT = 8  # least distance of two colors that a reader can distinguish


def seen(color: str, reader: str) -> np.ndarray:
    """The sRGB color that a reader sees, 0 to 1."""
    rgb = np.array(to_rgb(color))
    if reader == "normal":
        return rgb
    if reader == "gray":
        lightness = cspace_convert(rgb, "sRGB1", "CAM02-UCS") * [1, 0, 0]
        return np.clip(cspace_convert(lightness, "CAM02-UCS", "sRGB1"), 0, 1)
    space = {"name": "sRGB1+CVD", "cvd_type": reader, "severity": 100}
    return np.clip(cspace_convert(rgb, space, "sRGB1"), 0, 1)


def distance(first: str, second: str, reader: str) -> float:
    return float(deltaE(seen(first, reader), seen(second, reader), input_space="sRGB1"))


def test_every_reader_tells_backends_apart_by_color_or_marker():
    markers = {name: style.series_style(PALETTE, name)["marker"] for name in PALETTE}
    for first, second in itertools.combinations(PALETTE, 2):
        if markers[first] == markers[second]:
            assert all(distance(PALETTE[first], PALETTE[second], who) > DISTINCT for who in READERS)


@pytest.mark.parametrize("reader", READERS)
def test_bars_of_one_experiment_and_neighboring_parts_of_the_clocks_differ(reader):
    """Bars have no markers: gray ones are known by their names, those of the clocks by lightness or hatch."""
    for name, block in CONFIG["experiments"].items():
        if reader != "gray" and {*block["figures"]} & {"epoch_time", "batch_size_throughput"}:
            drawn = {spec.backend.name for spec in expand(config_of(), name)}
            for first, second in itertools.combinations(sorted(drawn), 2):
                assert distance(PALETTE[first], PALETTE[second], reader) > DISTINCT
    for (_, first), (_, second) in itertools.pairwise(PART_STYLES.items()):
        assert first[1] != second[1] or distance(first[0], second[0], reader) > 6
