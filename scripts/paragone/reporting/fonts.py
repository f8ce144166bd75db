"""Fonts of this machine for characters that the project's own font lacks: titles and names in any script."""

import unicodedata
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from matplotlib import rcParams
from matplotlib.font_manager import findfont, findSystemFonts, fontManager
from matplotlib.ft2font import FT2Font

OWN = "DejaVu Sans"  # comes with matplotlib: the same glyphs on every machine
# Categories of Unicode without a glyph of their own.
_INVISIBLE = ("Cc", "Cf", "Mn", "Zs", "Zl", "Zp")


def use_fonts_for(texts: Iterable[str]) -> list[Path]:
    """Let figures draw these texts with further fonts where `OWN` lacks characters; return their files.

    Prints a notice with the characters for which this machine has no font.
    """
    drawn = {
        character
        for character in set("".join(texts))
        if unicodedata.category(character) not in _INVISIBLE
    }
    lacking = drawn - _characters(findfont(OWN))
    files: list[Path] = []
    for file in sorted(findSystemFonts(), key=_rank) if lacking else ():
        if lacking & _characters(file):
            fontManager.addfont(file)
            files.append(Path(file))
            lacking -= _characters(file)
    if lacking:
        print(
            f"notice: no font of this machine has {''.join(sorted(lacking))}; these characters are drawn as "
            "boxes: install fonts-noto-core and fonts-noto-cjk, or a font that has them, and draw again",
            flush=True,
        )
    families = dict.fromkeys(FT2Font(str(file)).family_name for file in files)
    rcParams["font.family"] = [OWN, *families]
    return files


def _rank(file: str) -> tuple[bool, bool, bool, str]:
    """Plain fonts without serifs first, those of Noto before others; then by name."""
    name = Path(file).name
    slanted = any(word in name for word in ("Bold", "Italic", "Oblique", "Light", "Thin", "Black"))
    return slanted, "Serif" in name, not name.startswith("Noto"), file


@cache
def _characters(file: str) -> frozenset[str]:
    """Return what matplotlib can draw from a font; nothing of one that is colored or unreadable."""
    try:
        font = FT2Font(file)
    except (OSError, RuntimeError):
        return frozenset()
    plain = font.scalable and "COLR" not in file
    return frozenset(map(chr, font.get_charmap())) if plain else frozenset()
