"""Tables: functions of `Inputs` that return a `TextTable`. A plugin adds a module with `table(inputs)`."""

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from paragone.analysis import tidy
from paragone.analysis.verdicts import PublishedRun
from paragone.base import plugins
from paragone.base.atomic_files import write_json, write_text
from paragone.base.errors import UserError
from paragone.reporting.inputs import Inputs

__path__ = plugins.extended(__path__, "reporting/tables")

# The module of each table of the project.
TABLES = {
    "comparison": "published",
    "matmul_comparison": "published",
    "accelerator_reference": "published",
    "differences": "measured",
    "scaling": "measured",
    "spread": "measured",
}


@dataclass(frozen=True)
class TextTable:
    """A table: tidy `rows` for its CSV file; title, remarks and `cells`, plain texts, for a reader.

    `outcomes` has the verdict of each line, which its cell `verdict` has as text; `runs` has the names of
    each line's runs, separated by spaces. Both may be empty. `published_runs` are the runs that it judges.
    """

    rows: pd.DataFrame
    title: str
    remarks: list[str]
    cells: pd.DataFrame
    outcomes: Iterable[str] = ()
    runs: Iterable[str] = ()
    published_runs: Sequence[PublishedRun] = ()

    def as_json(self) -> dict[str, Any]:
        """Return its texts for answers, page and paper; a line's runs are a list that names each once."""
        return {
            "remarks": self.remarks,
            "columns": [*self.cells.columns],
            "lines": self.cells.fillna("").astype(str).to_numpy().tolist(),
            "outcomes": [*self.outcomes],
            "runs": [list(dict.fromkeys(names.split())) for names in self.runs],
            "published_runs": msgspec.to_builtins(
                self.published_runs, enc_hook=lambda value: value.item()
            ),
        }

    def as_markdown(self) -> str:
        """Return it for a reader."""
        escaped = self.cells.replace({r"\|": r"\\|"}, regex=True)
        text = "" if escaped.empty else escaped.to_markdown(index=False, disable_numparse=True)
        remarks = "".join(f"- {remark}\n" for remark in self.remarks)
        return f"# {self.title}\n\n{text}\n\n{remarks}"


def load(name: str) -> Callable[[Inputs], TextTable]:
    """Return the function of a table of the project or of a plugin.

    Raises `UserError` that lists the known names.
    """
    table: Callable[[Inputs], TextTable]
    if name in TABLES:
        table = getattr(importlib.import_module(f"{__name__}.{TABLES[name]}"), name)
        return table
    names = {*plugins.names_in("reporting/tables")} - {*TABLES.values()}
    if name not in names:
        raise UserError(f"{name!r} is none of the tables: {', '.join(sorted({*TABLES} | names))}")
    table = plugins.load("reporting/tables", name, "table").table
    return table


def write(name: str, inputs: Inputs, folder: Path) -> None:
    """Write a table into a folder as CSV, Markdown and JSON."""
    save(load(name)(inputs), [folder / f"{name}.{end}" for end in ("csv", "md", "json")])


def save(table: TextTable, paths: Iterable[Path]) -> None:
    """Write each file, complete or not at all, in the format of its suffix."""
    for path in paths:
        match path.suffix:
            case ".csv":
                tidy.write(table.rows, path)
            case ".json":
                write_json(table.as_json(), path)
            case ".md":
                write_text(table.as_markdown(), path)
