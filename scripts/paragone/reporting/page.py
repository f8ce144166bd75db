"""What page and paper show, and the page: one HTML file that answers first, without network or server.

Marks of the first screen have places in percent: the browser draws them at any width.
"""

import base64
import gzip
import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import docutils.core
import jinja2
import msgspec
import pandas as pd
import yaml
from markupsafe import Markup
from msgspec.structs import asdict, replace

from paragone.analysis import grouping, tidy
from paragone.analysis.pairwise import BETTER, EQUAL, PARTLY, UNDECIDED
from paragone.analysis.prediction import AT_CHANCE, CONSISTENT, DIFFERS, HOLDS, INCONCLUSIVE
from paragone.base import plugins
from paragone.base.atomic_files import write_text
from paragone.base.errors import UserError
from paragone.records import record, run_metrics
from paragone.reporting import answers, footnotes, sentences
from paragone.reporting.answers import NOT_RUN, OPEN, Picture, PublishedNumber
from paragone.reporting.inputs import Shown

_EDGE = 4.0  # percent of a picture that is left free on each side
# Columns of the table of all runs: heading, column of the tidy table, format.
_INDEX = (
    ("workload", "workload", "{}"),
    ("backend", "backend", "{}"),
    ("replicas", "replicas", "{}"),
    ("batch", "batch", "{}"),
    ("seed", "seed", "{}"),
    ("examples/s", "steady_examples_per_second", "{:,.0f}"),
    ("speed of", "steady_source", "{}"),
    ("end to end s", "end_to_end_seconds", "{:,.1f}"),
    ("quality", "quality", "{}"),
    ("in the test", "final_test_quality", "{:.4f}"),
    ("parity", "parity", "{}"),
)
# Colors of figures, as `style` has them, that are those of the page, be it light or dark.
_PAGE_COLORS = {
    "#222222": "currentColor",
    "#000000": "currentColor",
    "#5f5f5f": "var(--muted)",
    "#e6e6e6": "var(--line)",
    "#d9d9d9": "var(--line)",
    "#ffffff": "var(--paper)",
    "#b00020": "var(--bad)",
}

# Verdicts have a color and a sign, by classes of the page's style sheet; the others are `none`.
_CLASSES = {
    BETTER: "good",
    EQUAL: "equal",
    HOLDS: "good",
    CONSISTENT: "equal weak",
    INCONCLUSIVE: "equal weak",
    DIFFERS: "bad",
    AT_CHANCE: "bad",
    UNDECIDED: "open",
    PARTLY: "open",
    NOT_RUN: "bad",
}


@dataclass(frozen=True)
class Figure:
    """A figure: its caption as HTML, the SVG file at `path` and its text, its points as CSV."""

    name: str
    label: str
    caption: str
    path: Path
    drawing: str
    points: str

    @property
    def width(self) -> float:
        """The width of the drawing in centimeters."""
        (points,) = re.findall(r'\bwidth="([\d.]+)pt"', self.drawing[:2000])
        return float(points) / 72 * 2.54


@dataclass(frozen=True)
class Table:
    """A table: its `cells` as `tables` writes them for readers, its rows as CSV, its caption as HTML."""

    name: str
    label: str
    caption: str
    cells: dict[str, Any]
    rows: str


@dataclass(frozen=True)
class Section:
    """The figures and tables of an experiment, or of another measurement."""

    name: str
    title: str
    figures: list[Figure]
    tables: list[Table]


@dataclass(frozen=True)
class Results:
    """All that page and paper show. `table` has one row per run; `to_come`: titles of unfinished sections."""

    answers: list[answers.AnsweredQuestion]
    sections: list[Section]
    table: pd.DataFrame
    to_come: list[str]


class Entry(msgspec.Struct, frozen=True):
    """A section of the outline, with the labels of its figures and tables by name."""

    name: str
    title: str
    figures: dict[str, str]
    tables: dict[str, str]


class PageJob(Shown, kw_only=True):
    """The page, or the paper if `page` ends in .pdf, of a folder of answers, figures, tables and runs.

    `outline`: the sections in order. `captions`: rules/report/. `preset`: what the config was overlaid with.
    `left_out`: sentences on what was not asked for. `papers`: folders of those that it cites. `so_far`: of a
    workflow that still runs, the experiments that are finished.
    """

    results: Path
    outline: list[Entry]
    captions: Path
    preset: str = ""
    left_out: tuple[str, ...] = ()
    papers: tuple[Path, ...] = ()
    so_far: tuple[str, ...] = ()
    page: Path


def read(job: PageJob) -> Results:
    """Read results; of a workflow that still runs, those of the experiments that are finished.

    Raises `UserError` if a file of them is missing.
    """
    folder = job.results
    entries = [entry for entry in job.outline if entry.name in job.so_far or not job.so_far]
    sections = [_section(entry, folder, job.captions) for entry in entries]
    if not job.so_far:
        table = tidy.read(folder / "tables/runs.parquet")
        return Results(answers.read(folder / "answers.json"), sections, table, [])
    kinds = answers.FILES.values()
    files = [folder / "tables" / entry.name / name for entry in entries for name in kinds]
    files = [path for path in files if path.exists()]
    shown = {entry.name: entry.title for entry in entries}
    questions = answers.from_tables(shown, files, job.labels, job.baseline, job.left_out)
    table = tidy.merge([tidy.read(path) for path in files if path.name == answers.FILES["runs"]])
    to_come = [entry.title for entry in job.outline if entry not in entries]
    return Results(questions, sections, table, to_come)


def _section(entry: Entry, results: Path, captions: Path) -> Section:
    figures, tables = [], []
    for name, label in entry.figures.items():
        path = results / "figures" / entry.name / f"{name}.svg"
        text = caption(Path(plugins.caption("figures", name) or captions / f"plot_{name}.rst"))
        files = _text(path), _text(path.with_suffix(".csv"))
        figures.append(Figure(name, label, text, path, *files))
    for name, label in entry.tables.items():
        path = results / "tables" / entry.name / f"{name}.json"
        text = caption(Path(plugins.caption("tables", name) or captions / f"tabulate_{name}.rst"))
        cells, rows = json.loads(_text(path)), _text(path.with_suffix(".csv"))
        tables.append(Table(name, label, text, cells, rows))
    return Section(entry.name, entry.title, figures, tables)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; draw figures and tables first") from None


def caption(path: Path) -> str:
    """Return a caption of Snakemake's report, in reStructuredText, as HTML."""
    parts = docutils.core.publish_parts(
        _text(path),
        writer="html5",
        settings_overrides={"report_level": 4, "file_insertion_enabled": False},
    )
    return str(parts["body"])


def paragraphs(path: Path) -> list[str]:
    """Return the paragraphs of a caption as plain text."""
    parts = docutils.core.publish_doctree(_text(path)).astext().split("\n\n")
    return [part.replace("\n", " ") for part in parts]


# The page


def write(job: PageJob) -> None:
    """Write the page, whole or not at all; the same results give the same bytes.

    Raises `UserError` if a file of the results is missing.
    """
    templates = jinja2.Environment(
        loader=jinja2.FunctionLoader(_text_of),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    templates.filters |= {
        "verdict_class": lambda outcome: _CLASSES.get(outcome, "none"),
        "noun": sentences.noun,
        "color": partial(_color, job=job),
    }
    drawing = partial(_drawing, palette=job.palette)
    templates.globals |= {"drawing": drawing, "effects_of": _effects, "cell_of": _cell}
    templates.globals["open"] = OPEN
    results = read(job)
    table = results.table
    runs = [read_run(job.results, run) for run in sorted(table["run"])]
    invalid = set(table.loc[table["status"] != "completed", "run"])
    bundle = files("itables").joinpath("html")
    script = bundle.joinpath("dt_bundle.js").read_text(encoding="utf-8")
    (default,) = re.findall(r"export\{.*?(\w+) as default.*?\}", script)
    script += f"\n;window.DataTable = {default};"  # its default export under a global name
    looks = bundle.joinpath("dt_bundle.css").read_text(encoding="utf-8")
    text = templates.get_template("page.html").render(
        headline=footnotes.headline(table),
        facts=footnotes.facts(table, job.preset),
        synthetic=footnotes.synthetic(table),
        method=caption(job.captions / "page.rst"),
        to_come=results.to_come,
        questions=results.answers,
        failures=[run for run in runs if run["record"].run in invalid],
        sections=results.sections,
        index=_index(table, job.labels),
        index_columns=[heading for heading, _, _ in _INDEX],
        packed=Markup(_packed(results, runs, templates.get_template("run.html"))),
        scripts={"tables": _inline(script), "page": _inline(_text_of("page.js"))},
        style={"tables": _inline(looks), "page": _inline(_text_of("page.css"))},
    )
    write_text(text, job.page)


def _text_of(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


# The first screen


def _color(label: str, job: PageJob) -> str:
    backends = {text: name for name, text in job.labels.items() if label.startswith(text)}
    backend = backends.get(max(backends, key=len, default=""), "")
    return job.palette.get(backend, "var(--muted)")


def _scale(values: Iterable[float | None], log: bool = False) -> Callable[[float], float]:
    turn: Callable[[float], float] = math.log if log else float
    finite = [turn(value) for value in values if value is not None and math.isfinite(value)]
    low, high = min(finite), max(finite)
    return lambda value: _EDGE + (100 - 2 * _EDGE) * (turn(value) - low) / ((high - low) or 1.0)


def _effects(picture: Picture) -> dict[str, Any]:
    margin, none = picture.margin, 1.0 if picture.ratio else 0.0
    edges = (1 / margin if picture.ratio else -margin, margin)
    ends = [end for row in picture.variants for end in (row.effect, row.low, row.high)]
    at = _scale([*ends, *edges], picture.ratio)
    return {"at": at, "band": [*map(at, edges)], "none": at(none)}


def _cell(number: PublishedNumber) -> dict[str, Any]:
    at = _scale([number.value, number.center, *(end for ends in number.ranges for end in ends)])
    return {"at": at, "published": at(number.value)}


# Figures, tables and runs


def _drawing(figure: Figure, place: str, palette: dict[str, str]) -> Markup:
    """Return a figure as SVG within the page: in the page's colors, with identifiers of its own."""
    svg = figure.drawing[figure.drawing.index("<svg") :]
    svg = re.sub("<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{place}.", svg)
    width, label = f"width:{1.5 * figure.width:.1f}cm", Markup.escape(figure.label)
    svg = svg.replace("<svg", f'<svg style="{width}" role="img" aria-label="{label}"', 1)
    colors = {name: f"color-mix(in srgb, {name} var(--tone), white)" for name in palette.values()}
    colors = {name.lower(): color for name, color in colors.items()} | _PAGE_COLORS
    return Markup(re.sub("#[0-9a-f]{6}\\b", lambda match: colors.get(match[0], match[0]), svg))


def _index(table: pd.DataFrame, labels: dict[str, str]) -> list[dict[str, str]]:
    # A search finds backends by the labels that figures and answers have.
    shown = table.replace({"backend": labels, "status": grouping.STATUSES})
    shown["batch"] = sentences.batches(table)
    return [
        {"run": row["run"], "status": row["status"]}
        | {
            heading: "" if pd.isna(row[column]) else form.format(row[column])
            for heading, column, form in _INDEX
        }
        for row in shown.to_dict("records")
    ]


def read_run(results: Path, run: str) -> dict[str, Any]:
    """Return what the section of a run shows: its record, what follows from it, and the end of its log.

    A run of a bundle is named `<run>@<label>`.
    """
    measured = replace(record.read(results / "runs" / run / "record.json"), run=run)
    parts = run_metrics.parts(measured) or {}
    whole = sum(parts.values())
    epochs = [
        {
            **asdict(epoch),
            "outcomes": run_metrics.outcomes(measured, epoch),
            "elapsed": seconds,
            "others": run_metrics.other_cpu_share(run_metrics.of_epoch(measured, epoch)),
        }
        for epoch, seconds in zip(measured.epochs, run_metrics.elapsed(measured), strict=True)
    ]
    log = results / f"logs/runs/{run}.log"  # records from elsewhere have none
    lines = log.read_text("utf-8", errors="replace").splitlines() if log.exists() else []
    specification = msgspec.to_builtins(measured.spec)
    return {
        "record": measured,
        "state": grouping.STATUSES.get(measured.status, measured.status),
        "timeline": [
            {"name": name, "seconds": seconds, "share": seconds / whole}
            for name, seconds in parts.items()
            if seconds
        ],
        "epochs": epochs,
        "epochs_speed": run_metrics.epochs_speed(measured),
        "specification": yaml.safe_dump(specification, sort_keys=False, width=100),
        "log": "\n".join(lines[-25:]),
    }


def _packed(results: Results, runs: list[dict[str, Any]], template: jinja2.Template) -> str:
    contents = {"runs.csv": results.table.to_csv(index=False)}
    for section in results.sections:
        for figure in section.figures:
            contents[f"{section.name}.{figure.name}.svg"] = figure.drawing
            contents[f"{section.name}.{figure.name}.csv"] = figure.points
        for table in section.tables:
            contents[f"{section.name}.{table.name}.csv"] = table.rows
    content = {"runs": {run["record"].run: template.render(run=run) for run in runs}}
    text = json.dumps(content | {"files": contents}, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _inline(text: str) -> Markup:
    """Return code for a script or style element, with the closing tags in it escaped."""
    return Markup(re.sub(r"</(script|style)", r"<\\/\1", text, flags=re.IGNORECASE))
