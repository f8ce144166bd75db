"""What all figures share: fonts and colors, the frame around the axes, and reproducible files.

The same input gives the same bytes, whatever the machine and the date.
"""

import html
import io
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Bbox

from paragone.analysis import run_states
from paragone.base.atomic_files import write_bytes
from paragone.base.errors import UserError
from paragone.base.processes import without
from paragone.reporting import footnotes
from paragone.reporting.fonts import OWN

# Importing these takes as long as all the rest of a figure; seaborn needs them for kernel densities only.
with without("scipy.stats", "scipy.cluster"):
    import seaborn as sns

SINGLE, DOUBLE = 3.33, 7.0  # widths of one column and of both, inches, as in the paper
INK, MUTED, FAINT = "#222222", "#5F5F5F", "#D9D9D9"
DARK, BRIGHT = "#1A1A1A", "#FDFDFD"  # text on colored areas, which are the same on a dark page
ALARM = "#B00020"
PUBLISHED = "#000000"
MARKERS = ("o", "s", "^", "D", "v", "P")
LINES = ("-", "--", ":", "-.")

_MARGIN = 0.04  # inches, to every edge of the figure
_LINE_HEIGHT = 0.125  # inches
_NOTE_SIZE = 6  # points
_GAP = 0.05  # inches, between the parts of the frame
_HANDLE = 0.48  # inches of a legend's entry besides its label: handle and gaps

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
    "axes.axisbelow": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 300,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "paragone",
}
# Without dates the same input gives the same bytes. PNG carries no date.
_METADATA: dict[str, dict[str, str | None]] = {
    ".svg": {"Date": None, "Creator": "Paragone"},
    ".pdf": {
        "CreationDate": None,
        "ModDate": None,
        "Creator": "Paragone",
        "Producer": "matplotlib",
    },
    ".png": {"Software": "Paragone"},
}


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


def save(figure: Figure, outputs: list[Path]) -> None:
    """Write the figure to each path in the format of its suffix, each file complete or not at all.

    PDF files are for papers, which have captions: they lack title and notes. SVG files have the notes as
    their description. Raises `UserError` for a suffix other than .svg, .pdf and .png, before anything is
    written.
    """
    for path in outputs:
        if path.suffix not in _METADATA:
            raise UserError(f"{path}: a figure is written as {', '.join(_METADATA)}")
    _freeze(figure)
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


def _freeze(figure: Figure) -> None:
    """Fix the layout with rounded positions, because the solver's last digits differ from call to call."""
    figure.draw_without_rendering()
    figure.set_layout_engine(None)  # with "none" each savefig would draw twice
    for axes in figure.axes:
        x, y, width, height = axes.get_position(original=True).bounds
        axes.set_position([round(x, 5), round(y, 5), round(width, 5), round(height, 5)])


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
        machine, disturbances and broken rules of the `runs`, unless that is None. Synthetic data get a banner
        across the top.
        """
        super().__init__()
        self.explained: list[tuple[Axes, Iterable[float], Iterable[float], Iterable[str]]] = []
        synthetic = runs is not None and run_states.holds_synthetic(runs)
        banner = _wrapped(footnotes.SYNTHETIC, width, 7, "bold") if synthetic else []
        heading = _wrapped(title, width, 8, "bold")
        texts, setting = list(remarks), []
        if runs is not None:
            texts += [*footnotes.isolation(runs), *footnotes.violations(runs)]
            setting = [footnotes.data(runs), footnotes.machine(runs)]
        self.notes = " ".join(texts)  # the paper says once on which data and machine
        foot = _wrapped(" ".join([*texts, *setting]), width, _NOTE_SIZE)
        for handle in handles:
            room = width - 2 * _MARGIN - _HANDLE
            handle.set_label(shortened(str(handle.get_label()), room, 7))
        columns, rows = _legend_shape(handles, width)
        top = _MARGIN + len(heading) * _LINE_HEIGHT * 1.1
        depth = len(banner) * _LINE_HEIGHT + _GAP
        above = top + rows * _LINE_HEIGHT * 1.08 + _GAP + (depth + _GAP if banner else 0)
        below = _MARGIN + len(foot) * _LINE_HEIGHT * 0.82 + _GAP
        whole, left = height + above + below, _MARGIN / width
        self.set_size_inches(width, whole)
        rect = (left, below / whole, 1 - 2 * left, height / whole)
        pads = {"w_pad": 0.02, "h_pad": 0.02, "wspace": 0.04, "hspace": 0.04}
        self.set_layout_engine("constrained", rect=rect, **pads)
        self._write(heading, _MARGIN, 8, _LINE_HEIGHT * 1.1, weight="bold")
        self._write(foot, whole - below + _GAP, _NOTE_SIZE, _LINE_HEIGHT * 0.82, color=MUTED)
        self.around = [*self.texts]
        self.inside = Bbox([[0, below - _GAP / 2], [width, whole - (top - _GAP / 2)]])
        if banner:
            place = {"color": ALARM, "linewidth": 0}
            self.add_artist(Rectangle((0, self._y(top + depth)), 1, depth / whole, **place))
            self._write(banner, top + _GAP / 2, 7, _LINE_HEIGHT, color="white", weight="bold")
            top += depth + _GAP
        if handles:
            self.legend(
                handles=list(handles),
                ncols=columns,
                loc="upper left",
                borderaxespad=0,
                borderpad=0,
                handlelength=2.2,
                handletextpad=0.5,
                columnspacing=1.2,
                labelspacing=0.25,
                bbox_to_anchor=(left, self._y(top)),
            )

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

    def _y(self, inches_from_top: float) -> float:
        return 1 - inches_from_top / self.get_figheight()

    def _write(
        self, lines: list[str], top: float, size: float, step: float, **options: str
    ) -> None:
        for number, line in enumerate(lines):
            y = self._y(top + number * step)
            self.text(_MARGIN / self.get_figwidth(), y, line, size=size, va="top", **options)


def _legend_shape(handles: Sequence[Artist], width: float) -> tuple[int, int]:
    """Return the number of columns and rows of a legend that is no wider than the figure."""
    if not handles:
        return 1, 0
    lengths = [_text_width(str(handle.get_label()), 7) + _HANDLE for handle in handles]
    for columns in range(len(handles), 0, -1):
        rows = -(-len(handles) // columns)
        # matplotlib fills a legend column by column.
        widths = [max(lengths[at : at + rows]) for at in range(0, len(lengths), rows)]
        if sum(widths) <= width - 2 * _MARGIN:
            return len(widths), rows
    return 1, len(handles)


def _wrapped(text: str, width: float, size: float, weight: str = "normal") -> list[str]:
    # A line is wrapped by the mean width of the text's characters, with some room for a wider line.
    mean = _text_width(text, size, weight) / max(len(text), 1)
    columns = max(int((width - 2 * _MARGIN) / mean * 0.95), 12)
    return textwrap.wrap(text, columns, break_on_hyphens=False)  # keeps names of rules whole


def shortened(text: str, width: float, size: float) -> str:
    """Return a text in at most `width` inches, with an ellipsis in the place of what is too much."""
    text = " ".join(text.split())
    length = len(text)
    while length and _text_width(f"{text[:length]}…", size) > width:
        length -= 1
    return text if _text_width(text, size) <= width else f"{text[:length].rstrip()}…"


def _text_width(text: str, size: float, weight: str = "normal") -> float:
    """Return the width of a text in inches, by the metrics of the figure's fonts."""
    font = FontProperties(family=matplotlib.rcParams["font.family"], size=size, weight=weight)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]) / 72
