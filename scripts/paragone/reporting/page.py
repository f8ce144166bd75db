"""The page of results: one HTML file that answers first, and needs neither network nor server."""

import base64
import gzip
import json
import re
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
import msgspec
import pandas as pd
import yaml
from markupsafe import Markup
from msgspec.structs import asdict, replace

from paragone.analysis import run_states
from paragone.base.atomic_files import write_text
from paragone.records import record, run_metrics
from paragone.records.run_record import RunRecord
from paragone.reporting import exhibits, footnotes, screen, sentences
from paragone.reporting.exhibits import Figure, PageJob, Results

_LOG_LINES = 25  # shown of the end of a log
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


@dataclass(frozen=True)
class Run:
    """What the section of a run shows: its record, and what follows from it or is in its log."""

    record: RunRecord
    state: str
    timeline: list[dict[str, Any]]  # name, seconds and share of the whole, of each part of its time
    epochs_speed: float | None
    specification: str
    log: str

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics of an epoch."""
        return list(run_metrics.outcomes(self.record, self.record.epochs[0]))

    @property
    def epochs(self) -> list[dict[str, Any]]:
        """The epochs, with the seconds at their end, and the share of the machine that others used."""
        elapsed = run_metrics.elapsed(self.record)
        return [
            {
                **asdict(epoch),
                **run_metrics.outcomes(self.record, epoch),
                "elapsed": seconds,
                "others": run_metrics.other_cpu_share(run_metrics.of_epoch(self.record, epoch)),
            }
            for epoch, seconds in zip(self.record.epochs, elapsed, strict=True)
        ]


def write(job: PageJob) -> None:
    """Write the page, whole or not at all; the same results give the same bytes.

    Raises `UserError` if a file of the results is missing.
    """
    results, templates = exhibits.read(job), screen.templates()
    table = results.table
    logs = job.results / "logs/runs"
    runs = [read_run(job.results, run, logs) for run in sorted(table["run"])]
    invalid = set(table.loc[table["status"] != "completed", "run"])
    text = templates.get_template("page.html").render(
        headline=footnotes.headline(table),
        facts=footnotes.facts(table, job.preset),
        synthetic=footnotes.synthetic(table),
        method=exhibits.caption(job.captions / "page.rst"),
        to_come=results.to_come,
        first_screen=screen.render(results.answers, job),
        failures=[run for run in runs if run.record.run in invalid],
        sections=results.sections,
        drawing=partial(_drawing, palette=job.palette),
        index=_index(table, job.labels),
        index_columns=[heading for heading, _, _ in _INDEX],
        packed=Markup(_packed(results, runs, templates.get_template("run.html"))),
        scripts={
            "tables": _inline(_tables_script()),
            "page": _inline(screen.text_of("page.js")),
        },
        style={
            "tables": _inline(_bundled("dt_bundle.css")),
            "page": _inline(screen.text_of("page.css")),
        },
    )
    write_text(text, job.page)


def _index(table: pd.DataFrame, labels: dict[str, str]) -> list[dict[str, str]]:
    rows = []
    # A search finds backends by the labels that figures and answers have.
    shown = table.assign(backend=table["backend"].replace(labels), batch=sentences.batches(table))
    for row in shown.to_dict("records"):
        row_cells = {"run": row["run"], "status": run_states.words_of(row["status"])}
        for heading, column, form in _INDEX:
            row_cells[heading] = "" if pd.isna(row[column]) else form.format(row[column])
        rows.append(row_cells)
    return rows


def _packed(results: Results, runs: list[Run], template: jinja2.Template) -> str:
    """Return sections of runs and files as compressed JSON in base64."""
    content: dict[str, dict[str, Any]] = {
        "runs": {run.record.run: template.render(run=run) for run in runs},
        "files": {"runs.csv": results.table.to_csv(index=False)},
    }
    for section in results.sections:
        for figure in section.figures:
            content["files"][f"{section.name}.{figure.name}.svg"] = figure.drawing
            content["files"][f"{section.name}.{figure.name}.csv"] = figure.points
        for table in section.tables:
            content["files"][f"{section.name}.{table.name}.csv"] = table.rows
    packed = gzip.compress(json.dumps(content, separators=(",", ":")).encode(), 9, mtime=0)
    return base64.b64encode(packed).decode()


def _drawing(figure: Figure, place: str, palette: dict[str, str]) -> Markup:
    """Return a figure as SVG within the page: in the page's colors, with identifiers of its own."""
    svg = figure.drawing[figure.drawing.index("<svg") :]
    svg = re.sub("<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{place}.", svg)
    width, label = f"width:{1.5 * figure.size[0]:.1f}cm", Markup.escape(figure.label)
    svg = svg.replace("<svg", f'<svg style="{width}" role="img" aria-label="{label}"', 1)
    colors = {name: f"color-mix(in srgb, {name} var(--tone), white)" for name in palette.values()}
    colors = {name.lower(): color for name, color in colors.items()} | _PAGE_COLORS
    return Markup(re.sub("#[0-9a-f]{6}\\b", lambda match: colors.get(match[0], match[0]), svg))


def _bundled(name: str) -> str:
    """Return a file of DataTables, which the package itables brings."""
    return files("itables").joinpath("html", name).read_text(encoding="utf-8")


def _tables_script() -> str:
    """Return the module of DataTables with its default export under a global name."""
    script = _bundled("dt_bundle.js")
    (name,) = re.findall(r"export\{.*?(\w+) as default.*?\}", script)
    return f"{script}\n;window.DataTable = {name};"


def _inline(text: str) -> Markup:
    """Return code for a script or style element, with the closing tags in it escaped."""
    return Markup(re.sub(r"</(script|style)", r"<\\/\1", text, flags=re.IGNORECASE))


def read_run(results: Path, run: str, logs: Path) -> Run:
    """Read a run and the end of its log, if it has one. A run of a bundle is named `<run>@<label>`."""
    measured = replace(record.read(results / "runs" / run / "record.json"), run=run)
    parts = run_metrics.parts(measured) or {}
    whole = sum(parts.values())
    timeline = [
        {"name": name, "seconds": seconds, "share": seconds / whole}
        for name, seconds in parts.items()
        if seconds
    ]
    log = logs / f"{measured.run}.log"  # records from elsewhere have none
    lines = log.read_text("utf-8", errors="replace").splitlines() if log.exists() else []
    specification = yaml.safe_dump(msgspec.to_builtins(measured.spec), sort_keys=False, width=100)
    return Run(
        measured,
        run_states.words_of(measured.status),
        timeline,
        run_metrics.epochs_speed(measured),
        specification,
        "\n".join(lines[-_LOG_LINES:]),
    )
