"""The frame around the axes: banner, title and legend above, notes below, at a fixed width."""

import textwrap
from collections.abc import Sequence

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from matplotlib.textpath import text_to_path

from paragone.analysis import run_states
from paragone.reporting import footnotes
from paragone.reporting.drawing import style

_MARGIN = 0.04  # inches, to every edge
_LINE = 0.125  # inches, one line of text
_NOTE_SIZE = 6
_GAP = 0.05
_HANDLE = 0.48  # of a legend's entry: handle and gaps take 0.38


class Frame:
    """A figure with all that surrounds its axes; the axes themselves are drawn by the caller."""

    def __init__(
        self,
        width: float,
        height: float,
        title: str,
        runs: pd.DataFrame | None,
        remarks: list[str],
        handles: Sequence[Artist] = (),
        figure: Figure | None = None,
    ) -> None:
        """Make a figure of `width` inches whose axes get `height` inches, whatever surrounds them.

        `handles` fill one legend above the axes. Below, every figure names data, machine and broken
        rules, after its own `remarks` (n and interval among them), and warns of runs that others
        disturbed; where nothing ran (`runs` is None) there are the remarks alone. Synthetic data get a
        banner across the top. `figure`: one whose axes are drawn already, of any size.
        """
        synthetic = runs is not None and run_states.holds_synthetic(runs)
        banner = _wrapped(footnotes.SYNTHETIC, width, 7, "bold") if synthetic else []
        heading = _wrapped(title, width, 8, "bold")
        about = list(remarks)
        if runs is not None:
            about += [
                *footnotes.isolation(runs),
                footnotes.data(runs),
                footnotes.machine(runs),
                *footnotes.violations(runs),
            ]
        foot = _wrapped(" ".join(about), width, _NOTE_SIZE)
        legend_columns, legend_rows = _legend_shape(handles, width)

        self._above = _MARGIN + len(heading) * _LINE * 1.1 + legend_rows * _LINE * 1.08 + _GAP
        self._above += len(banner) * _LINE + 2 * _GAP if banner else 0
        self._below = _MARGIN + len(foot) * _LINE * 0.82 + _GAP
        self.width, self.height = width, height + self._above + self._below
        self.figure = figure or Figure()
        self.figure.set_size_inches(width, self.height)
        self.figure.set_layout_engine("constrained")
        below, share = self._below / self.height, height / self.height
        self.figure.get_layout_engine().set(
            rect=(_MARGIN / width, below, 1 - 2 * _MARGIN / width, share),
            w_pad=0.02,
            h_pad=0.02,
            wspace=0.04,
            hspace=0.04,
        )
        top = self._draw_banner(banner)
        top = self._draw_lines(heading, top, 8, _LINE * 1.1, weight="bold")
        if handles:
            self.figure.legend(
                handles=list(handles),
                ncols=legend_columns,
                loc="upper left",
                borderaxespad=0,
                borderpad=0,
                handlelength=2.2,
                handletextpad=0.5,
                columnspacing=1.2,
                labelspacing=0.25,
                bbox_to_anchor=(_MARGIN / width, self._y(top)),
            )
        self._draw_lines(
            foot, self.height - self._below + _GAP, _NOTE_SIZE, _LINE * 0.82, color=style.MUTED
        )

    def _y(self, inches_from_top: float) -> float:
        return 1 - inches_from_top / self.height

    def _draw_banner(self, lines: list[str]) -> float:
        if not lines:
            return _MARGIN
        depth = len(lines) * _LINE + _GAP
        self.figure.add_artist(
            Rectangle((0, self._y(depth)), 1, depth / self.height, color=style.ALARM, linewidth=0)
        )
        self._draw_lines(lines, _GAP / 2, 7, _LINE, color="white", weight="bold")
        return depth + _GAP

    def _draw_lines(
        self, lines: list[str], top: float, size: float, step: float, **look: str
    ) -> float:
        for line in lines:
            self.figure.text(_MARGIN / self.width, self._y(top), line, size=size, va="top", **look)
            top += step
        return top


def _legend_shape(handles: Sequence[Artist], width: float) -> tuple[int, int]:
    """Columns and rows of a legend no wider than the figure, by the length of its labels."""
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
    # The mean width of this text's own characters, with room for an unlucky line.
    mean = _text_width(text, size, weight) / max(len(text), 1)
    columns = max(int((width - 2 * _MARGIN) / mean * 0.95), 12)
    return textwrap.wrap(text, columns, break_on_hyphens=False)  # names of rules stay whole


def _text_width(text: str, size: float, weight: str = "normal") -> float:
    """Inches that the text takes, by the metrics of the figure's font."""
    font = FontProperties(family="DejaVu Sans", size=size, weight=weight)
    width: float = text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]
    return width / 72
