"""The look of every figure, and files that are the same bytes for the same input."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from paragone.base.atomic_files import writing
from paragone.base.errors import UserError
from paragone.base.processes import without

# Half of a figure's start would be these, which seaborn takes for kernel densities and dendrograms alone.
with without("scipy.stats", "scipy.cluster"):
    import seaborn as sns

SINGLE, DOUBLE = 3.4, 7.0  # column widths, inches
INK, MUTED, FAINT = "#222222", "#5F5F5F", "#D9D9D9"
ALARM = "#B00020"
PUBLISHED = "#000000"
MARKERS = ("o", "s", "^", "D", "v", "P")
LINES = ("-", "--", ":", "-.")

_SETTINGS = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same glyphs on every machine
    "font.size": 7,  # of labels and legends, too
    "text.parse_math": False,  # titles and labels are plain text, with $ and braces
    "axes.titlesize": "medium",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
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
_METADATA = {
    ".svg": {"Date": None, "Creator": "Paragone"},
    ".pdf": {
        "CreationDate": None,
        "ModDate": None,
        "Creator": "Paragone",
        "Producer": "matplotlib",
    },
    ".png": {"Software": "Paragone"},
}


# On import: artists take their defaults when they are made, legend handles before any figure.
sns.set_theme(context=None, style="ticks", rc=_SETTINGS)


def color(palette: dict[str, str], backend: str) -> str:
    """The color of a backend; grey for one that the palette does not name."""
    return palette.get(backend, MUTED)


def look(palette: dict[str, str], backend: str, number: int = 0) -> dict[str, Any]:
    """Color of a backend, and marker and line of its series `number`.

    Markers go by the place of the backend in the palette; a dot for one that it does not name.
    """
    place = list(palette).index(backend) if backend in palette else 0
    return {
        "color": color(palette, backend),
        "marker": MARKERS[(place + 3 * number) % len(MARKERS)],
        "linestyle": LINES[number % len(LINES)],
    }


def looks(
    labels: Iterable[str], backends: Iterable[str], palette: dict[str, str], **more: Any
) -> dict[str, dict[str, Any]]:
    """By label: the look of its backend, other for each of the backend's series, and `more`."""
    found: dict[str, dict[str, Any]] = {}
    seen: list[str] = []
    for label, backend in dict.fromkeys(zip(labels, backends, strict=True)):
        found[label] = {**look(palette, backend, seen.count(backend)), **more}
        seen.append(backend)
    return found


def save(figure: Figure, outputs: list[Path]) -> None:
    """Write the figure once per suffix (.svg, .pdf, .png), each complete or not at all."""
    for path in outputs:
        if path.suffix not in _METADATA:
            raise UserError(f"{path}: a figure is written as {', '.join(_METADATA)}")
    _freeze(figure)
    for path in outputs:
        with writing(path, "wb") as file:
            figure.savefig(file, format=path.suffix[1:], metadata=_METADATA[path.suffix])


def _freeze(figure: Figure) -> None:
    """Lay out once and round: the layout solver's last digits differ from call to call."""
    figure.draw_without_rendering()
    figure.set_layout_engine(None)  # for "none" each savefig would draw twice
    for axes in figure.axes:
        x, y, width, height = axes.get_position(original=True).bounds
        axes.set_position([round(x, 5), round(y, 5), round(width, 5), round(height, 5)])
