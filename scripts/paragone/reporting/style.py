"""What all figures share: fonts and colors, the frame around the axes, and reproducible files.

The same input gives the same bytes, whatever the machine and the date.
"""

import html
import io
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, findSystemFonts, fontManager
from matplotlib.ft2font import FT2Font
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Bbox

from paragone.analysis import grouping
from paragone.base.atomic_files import write_bytes
from paragone.base.errors import UserError
from paragone.reporting import footnotes

# seaborn imports these where they are installed, for densities and clusters alone: half a second each time.
_hidden = {"scipy.stats", "scipy.cluster"} - sys.modules.keys()
sys.modules.update(dict.fromkeys(_hidden))  # type: ignore[arg-type]  # importing None is an error
import seaborn as sns  # noqa: E402 - see above

for _name in _hidden:
    del sys.modules[_name]

SINGLE, DOUBLE = 3.33, 7.0  # widths of one column and of both, inches, as in the paper
INK, MUTED, FAINT = "#222222", "#5F5F5F", "#D9D9D9"
ALARM = "#B00020"
PUBLISHED = "#000000"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "p", ">", "h")
LINES = ("-", "--", ":", "-.")
OWN = "DejaVu Sans"  # comes with matplotlib: the same glyphs on every machine

_MARGIN = 0.04  # inches, to every edge of the figure
_GAP = 0.07  # inches, between the parts of the frame
_TICKS = {"color": MUTED, "labelcolor": INK, "major.width": 0.6, "major.size": 2.5}
_SETTINGS = {
    "font.family": OWN,
    "font.size": 7,  # of labels and legends, too
    "text.parse_math": False,  # titles and labels are plain text, with $ and braces
    "axes.titlesize": "medium",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    **{f"{axis}tick.{name}": value for axis in "xy" for name, value in _TICKS.items()},
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "lines.solid_capstyle": "projecting",
    "lines.markersize": 3.2,
    "hatch.linewidth": 0.5,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "legend.borderaxespad": 0,
    "legend.borderpad": 0,
    "legend.handletextpad": 0.5,
    "legend.columnspacing": 1.2,
    "legend.labelspacing": 0.25,
    "savefig.dpi": 300,
    "pdf.fonttype": 42,
    "svg.hashsalt": "paragone",
}
# Without dates the same input gives the same bytes. PNG carries no date.
_METADATA: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}


# Set on import, because artists take their defaults when they are made; a matplotlibrc of the user counts for
# nothing.
matplotlib.rcdefaults()
sns.set_theme(context=None, style="ticks", rc=_SETTINGS)


def color(palette: dict[str, str], backend: str) -> str:
    """Return the color of a backend, gray for one that the palette does not name."""
    return to_hex(palette.get(backend, MUTED)).upper()


def series_style(palette: dict[str, str], backend: str, number: int = 0) -> dict[str, Any]:
    """Return color, marker and line style of the series `number` of a backend.

    The marker follows from the backend's place in the palette, so that it is the same in every figure.
    """
    place = list(palette).index(backend) if backend in palette else 0
    return {
        "color": color(palette, backend),
        "marker": MARKERS[(place + 3 * number) % len(MARKERS)],
        "linestyle": LINES[number % len(LINES)],
    }


def series_styles(
    labels: Iterable[str], backends: Iterable[str], palette: dict[str, str], **more: Any
) -> dict[str, dict[str, Any]]:
    """Return the style of each series by label, different for each series of a backend; `more` overrides."""
    styles: dict[str, dict[str, Any]] = {}
    seen: list[str] = []
    for label, backend in dict.fromkeys(zip(labels, backends, strict=True)):
        styles[label] = {**series_style(palette, backend, seen.count(backend)), **more}
        seen.append(backend)
    return styles


class Frame(Figure):
    """A figure with its title, legend and `notes`; the caller draws the axes.

    `around`: title and notes as drawn. `inside`: what is left of the figure without them. `explained`: axes,
    places in their data coordinates, and texts that a reader of the SVG file sees when the mouse is there.
    """

    def __init__(
        self,
        width: float,
        height: float,
        title: str,
        runs: pd.DataFrame | None,
        remarks: list[str],
        handles: Sequence[Artist] = (),
    ) -> None:
        """Make a figure of `width` inches whose axes get `height` inches, whatever surrounds them.

        `handles` are the entries of one legend above the axes. The notes below are the `remarks`, then data,
        machine, disturbances and broken rules of the `runs`, unless that is None. Synthetic data get a
        warning in red.
        """
        super().__init__(figsize=(width, height))
        self.explained: list[tuple[Axes, Iterable[float], Iterable[float], Iterable[str]]] = []
        texts, setting = list(remarks), []
        if runs is not None:
            texts += [*footnotes.isolation(runs), *footnotes.violations(runs)]
            setting = [footnotes.data(runs), footnotes.machine(runs)]
        self.notes = " ".join(texts)  # the paper says once on which data and machine
        heading = self._text(title, size=8, weight="bold")
        foot = self._text(" ".join([*texts, *setting]), size=6, color=MUTED, va="bottom")
        self.around = [heading, foot]
        parts: list[Text | Legend] = [heading]
        if runs is not None and grouping.holds_synthetic(runs):
            parts.append(self._text(footnotes.SYNTHETIC, size=7, weight="bold", color=ALARM))
        if handles:
            parts.append(self._legend(handles))
        depths = [part.get_window_extent().height / self.dpi + _GAP for part in parts]
        below = foot.get_window_extent().height / self.dpi + _MARGIN + _GAP
        whole = _MARGIN + sum(depths) + height + below
        self.set_size_inches(width, whole)
        left, top = _MARGIN / width, 1 - _MARGIN / whole
        self.inside = Bbox([[0, below - _GAP / 2], [width, whole * top - depths[0] + _GAP / 2]])
        foot.set_y(_MARGIN / whole)
        for part, depth in zip(parts, depths, strict=True):
            if isinstance(part, Legend):
                part.set_bbox_to_anchor((left, top), self.transFigure)
            else:
                part.set_y(top)
            top -= depth / whole
        pads = {"w_pad": 0.02, "h_pad": 0.02, "wspace": 0.04, "hspace": 0.04}
        rect = (left, below / whole, 1 - 2 * left, height / whole)
        self.set_layout_engine("constrained", rect=rect, **pads)

    def _text(self, text: str, size: float, weight: str = "normal", **options: str) -> Text:
        width = self.get_figwidth()
        # A line is wrapped by the mean width of the text's characters, with some room for a wider line.
        mean = text_width(text, size, weight) / max(len(text), 1)
        columns = max(int((width - 2 * _MARGIN) / max(mean, 0.01) * 0.95), 12)
        lines = textwrap.wrap(text, columns, break_on_hyphens=False)  # keeps names of rules whole
        options = {"va": "top", **options}
        return self.text(_MARGIN / width, 1, "\n".join(lines), size=size, weight=weight, **options)

    def _legend(self, handles: Sequence[Artist]) -> Legend:
        room = self.get_figwidth() - 2 * _MARGIN
        for handle in handles:
            handle.set_label(shortened(str(handle.get_label()), room - 0.5, 7))
        for columns in range(len(handles), 0, -1):
            legend = self.legend(handles=list(handles), ncols=columns, loc="upper left")
            if columns == 1 or legend.get_window_extent().width <= room * self.dpi:
                break
            legend.remove()
        return legend

    def tooltips(self) -> str:
        """Return an invisible circle with a title, as SVG, at each of the places that are `explained`."""
        circles = []
        width, height = self.get_size_inches() * self.dpi
        for axes, xs, ys, texts in self.explained:
            for *place, text in zip(xs, ys, texts, strict=True):
                x, y = axes.transData.transform(place)
                if 0 <= x <= width and 0 <= y <= height:
                    x, y = x * 72 / self.dpi, (height - y) * 72 / self.dpi
                    title = f"<title>{html.escape(text, quote=False)}</title>"
                    circles.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4">{title}</circle>\n')
        return f'<g style="fill: none; pointer-events: all">\n{"".join(circles)}</g>\n'


def shortened(text: str, width: float, size: float) -> str:
    """Return a text in at most `width` inches, with an ellipsis in the place of what is too much."""
    text = short = " ".join(text.split())
    while short and text_width(short, size) > width:
        text = text[:-1]
        short = f"{text.rstrip()}…"
    return short


def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Return the width of a text in inches, by the metrics of the figure's fonts."""
    font = FontProperties(family=matplotlib.rcParams["font.family"], size=size, weight=weight)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]) / 72


def save(figure: Figure, outputs: list[Path]) -> None:
    """Write the figure to each path in the format of its suffix, each file complete or not at all.

    PDF files are for papers, which have captions: they lack title and notes. SVG files have the notes as
    their description. Raises `UserError` for a suffix other than .svg, .pdf and .png, before anything is
    written.
    """
    for path in outputs:
        if path.suffix not in _METADATA:
            raise UserError(f"{path}: a figure is written as {', '.join(_METADATA)}")
    figure.draw_without_rendering()
    figure.set_layout_engine(None)  # with "none" each savefig would draw twice
    for axes in figure.axes:  # the solver's last digits differ from call to call
        axes.set_position(np.round(axes.get_position(original=True).bounds, 5))
    for path in outputs:
        metadata, box = _METADATA[path.suffix], None
        if isinstance(figure, Frame):
            if path.suffix == ".svg":
                metadata = {**metadata, "Description": figure.notes}
            box = figure.inside if path.suffix == ".pdf" else None
            for text in figure.around:
                text.set_visible(box is None)
        drawing = io.BytesIO()
        figure.savefig(drawing, format=path.suffix[1:], metadata=metadata, bbox_inches=box)
        content = drawing.getvalue()
        if isinstance(figure, Frame) and path.suffix == ".svg":
            content = content.replace(b"</svg>", figure.tooltips().encode() + b"</svg>")
        write_bytes(content, path)


# Titles and names in any script


def use_fonts_for(texts: Iterable[str]) -> list[Path]:
    """Let figures draw these texts with further fonts where `OWN` lacks characters; return their files.

    Prints a notice with the characters for which this machine has no font.
    """
    invisible = ("Cc", "Cf", "Mn", "Zs", "Zl", "Zp")  # these need no glyph of their own
    characters = {*"".join(texts)} - characters_of(findfont(OWN))
    lacking = {sign for sign in characters if unicodedata.category(sign) not in invisible}
    files: list[Path] = []
    for file in sorted(findSystemFonts(), key=_rank) if lacking else ():
        if lacking & characters_of(file):
            fontManager.addfont(file)
            files.append(Path(file))
            lacking -= characters_of(file)
    if lacking:
        print(
            f"notice: no font of this machine has {''.join(sorted(lacking))}; these characters are drawn as "
            "boxes: install fonts-noto-core and fonts-noto-cjk, or a font that has them, and draw again",
            flush=True,
        )
    families = dict.fromkeys(FT2Font(str(file)).family_name for file in files)
    matplotlib.rcParams["font.family"] = [OWN, *families]
    return files


def _rank(file: str) -> tuple[bool, bool, bool, str]:
    """Plain fonts without serifs first, those of Noto before others; then by name."""
    name = Path(file).name
    slanted = any(word in name for word in ("Bold", "Italic", "Oblique", "Light", "Thin", "Black"))
    return slanted, "Serif" in name, not name.startswith("Noto"), file


@cache
def characters_of(file: str) -> frozenset[str]:
    """Return what matplotlib can draw from a font; nothing of one that is colored or unreadable."""
    try:
        font = FT2Font(file)
    except (OSError, RuntimeError):
        return frozenset()
    plain = font.scalable and "COLR" not in file
    return frozenset(map(chr, font.get_charmap())) if plain else frozenset()
