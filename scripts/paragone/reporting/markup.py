"""Tables of text, and their files in CSV, Markdown, LaTeX and JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from paragone.analysis import tidy
from paragone.analysis.verdicts import PublishedRun
from paragone.base.atomic_files import write_json, write_text

_COLUMN = r">{\raggedright\arraybackslash}X"  # of tabularx, which breaks its lines


@dataclass(frozen=True)
class Block:
    """One table of plain texts.

    `heading` is written above the block. `outcomes` has the verdict of each line, which its cell `verdict`
    has in words; `runs` has the names of each line's runs, separated by spaces. Both may be empty.
    """

    cells: pd.DataFrame
    heading: str = ""
    outcomes: Iterable[str] = ()
    runs: Iterable[str] = ()


@dataclass(frozen=True)
class Table:
    """A table: tidy `rows` for its CSV file; title, blocks and remarks for a reader; for `answers` the
    published runs that it judges."""

    rows: pd.DataFrame
    title: str
    remarks: list[str]
    blocks: list[Block]
    published_runs: Sequence[PublishedRun] = ()


def write(table: Table, paths: Iterable[Path]) -> None:
    """Write each file, complete or not at all, in the format of its suffix; JSON is for answers, page and
    paper."""
    for path in paths:
        match path.suffix:
            case ".csv":
                tidy.write(table.rows, path)
            case ".json":
                write_json(_cells(table), path)
            case ".md":
                write_text(_markdown(table), path)
            case ".tex":
                write_text("\n".join(_latex(block, table) for block in table.blocks), path)


def _cells(table: Table) -> dict[str, Any]:
    """Return the texts of a table as JSON; the names of a line's runs are a list without repetitions."""
    blocks = [
        {
            "heading": block.heading,
            "columns": [*block.cells.columns],
            "lines": block.cells.fillna("").astype(str).to_numpy().tolist(),
            "outcomes": [*block.outcomes],
            "runs": [list(dict.fromkeys(names.split())) for names in block.runs],
        }
        for block in table.blocks
    ]
    runs = msgspec.to_builtins(table.published_runs, enc_hook=float)
    about = {"title": table.title, "remarks": table.remarks, "blocks": blocks}
    return about | ({"published_runs": runs} if runs else {})


def _markdown(table: Table) -> str:
    parts = [f"# {table.title}"]
    for block in table.blocks:
        parts += [f"## {block.heading}"] if block.heading else []
        escaped = block.cells.replace({r"\|": r"\\|"}, regex=True)
        text = "" if escaped.empty else escaped.to_markdown(index=False, disable_numparse=True)
        parts.append(text)
    remarks = "".join(f"- {remark}\n" for remark in table.remarks)
    return "\n\n".join([*parts, remarks])


def _latex(block: Block, table: Table) -> str:
    """Return a `table*` as wide as the page; it needs the packages booktabs and tabularx."""
    styler = block.cells.style.hide(axis="index").format(escape="latex")
    tabular = (
        styler.format_index(escape="latex", axis="columns")
        .to_latex(hrules=True, column_format=_COLUMN * block.cells.shape[1])
        .replace(r"\begin{tabular}", r"\begin{tabularx}{\textwidth}")
        .replace(r"\end{tabular}", r"\end{tabularx}")
    )
    title = ". ".join(filter(None, (table.title, block.heading)))
    remarks = "\n".join(rf"\par {_escaped(remark)}" for remark in table.remarks)
    caption = f"\\caption{{{_escaped(title)}}}"
    return f"\\begin{{table*}}\\scriptsize\n{caption}\n{tabular}{remarks}\n\\end{{table*}}\n"


def _escaped(text: str) -> str:
    """Return plain text with LaTeX's special characters escaped."""
    # The escaping of pandas is public only as that of a Styler, here of one cell.
    cell = pd.DataFrame([[text]]).style.hide(axis="index").hide(axis="columns")
    lines = cell.format(escape="latex").to_latex().splitlines()
    return lines[1].removesuffix(r"\\").strip()
