"""Fonts of this machine for characters that the project's own font lacks: titles and names in any script."""

import unicodedata
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from matplotlib import rcParams
from matplotlib.font_manager import findfont, findSystemFonts, fontManager
from matplotlib.ft2font import FT2Font

OWN = "DejaVu Sans"  # comes with matplotlib: the same glyphs on every machine
# Debian's package with a font of a script, by the first word of its characters' names.
_PACKAGES = dict.fromkeys(
    ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "FULLWIDTH", "HALFWIDTH"),
    "fonts-noto-cjk",
)
_SYMBOLS, _OTHERS = "fonts-symbola", "fonts-noto-core"
_INVISIBLE = ("Cc", "Cf", "Zs", "Zl", "Zp")  # Unicode's categories without a glyph of their own
_SELECTORS = range(0xFE00, 0xFE10)  # they choose among the forms of the character before


def use_fonts_for(texts: Iterable[str]) -> list[Path]:
    """Let figures draw these texts with further fonts where `OWN` lacks characters; the files of these fonts.

    Prints a notice that names the scripts for which this machine has no font, and the packages that do.
    """
    drawn = {one for one in set("".join(texts)) if unicodedata.category(one) not in _INVISIBLE}
    lacking = drawn - {*map(chr, _SELECTORS)} - _characters(findfont(OWN))
    files: list[Path] = []
    for file in sorted(findSystemFonts(), key=_rank) if lacking else ():
        if not lacking:
            break
        if found := lacking & _characters(file):
            fontManager.addfont(file)
            files.append(Path(file))
            lacking -= found
    if lacking:
        named = {_script(one): package_of(one) for one in sorted(lacking)}
        print(
            f"notice: no font of this machine has {', '.join(named)}; these characters are drawn as boxes: "
            f"install {' and '.join(dict.fromkeys(named.values()))}, and draw the figures again",
            flush=True,
        )
    rcParams["font.family"] = [
        OWN,
        *dict.fromkeys(FT2Font(str(file)).family_name for file in files),
    ]
    return files


def package_of(character: str) -> str:
    """The package of Debian and Ubuntu that has a font with a character."""
    symbol = unicodedata.category(character).startswith("S")
    return _PACKAGES.get(_script(character).split(" ")[0], _SYMBOLS if symbol else _OTHERS)


def _script(character: str) -> str:
    """The first words of a character's name, which name its script; "emoji and symbols" for these."""
    if unicodedata.category(character).startswith("S"):
        return "emoji and symbols"
    return unicodedata.name(character, "unnamed").split(" ")[0]


def _rank(file: str) -> tuple[bool, bool, bool, str]:
    """Plain fonts without serifs first, those of Noto before others; then by name."""
    name = Path(file).name
    slanted = any(word in name for word in ("Bold", "Italic", "Oblique", "Light", "Thin", "Black"))
    return slanted, "Serif" in name, not name.startswith("Noto"), file


@cache
def _characters(file: str) -> frozenset[str]:
    """The characters that matplotlib can draw from a font; none of one that is colored or unreadable."""
    try:
        font = FT2Font(file)
    except (OSError, RuntimeError):
        return frozenset()
    plain = font.scalable and "COLR" not in file
    return frozenset(map(chr, font.get_charmap())) if plain else frozenset()
