"""Tables of text, and their files in CSV, Markdown and JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from paragone.analysis import tidy
from paragone.analysis.verdicts import PublishedRun
from paragone.base.atomic_files import write_json, write_text


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


def write(table: TextTable, paths: Iterable[Path]) -> None:
    """Write each file, complete or not at all, in the format of its suffix; JSON is for answers, page and
    paper."""
    for path in paths:
        match path.suffix:
            case ".csv":
                tidy.write(table.rows, path)
            case ".json":
                write_json(_texts(table), path)
            case ".md":
                write_text(_markdown(table), path)


def _texts(table: TextTable) -> dict[str, Any]:
    """Return the texts of a table as JSON; the names of a line's runs are a list without repetitions."""
    return {
        "remarks": table.remarks,
        "columns": [*table.cells.columns],
        "lines": table.cells.fillna("").astype(str).to_numpy().tolist(),
        "outcomes": [*table.outcomes],
        "runs": [list(dict.fromkeys(names.split())) for names in table.runs],
        "published_runs": msgspec.to_builtins(
            table.published_runs, enc_hook=lambda value: value.item()
        ),
    }


def _markdown(table: TextTable) -> str:
    escaped = table.cells.replace({r"\|": r"\\|"}, regex=True)
    text = "" if escaped.empty else escaped.to_markdown(index=False, disable_numparse=True)
    remarks = "".join(f"- {remark}\n" for remark in table.remarks)
    return f"# {table.title}\n\n{text}\n\n{remarks}"
