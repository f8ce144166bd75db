"""Tables of text, and the one writer of their CSV, Markdown, LaTeX and JSON files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from paragone.analysis import tidy
from paragone.base.atomic_files import write_json, write_text

WIDE = r">{\raggedright\arraybackslash}X"
SMALL, TINY = "\\scriptsize", "\\tiny\\setlength{\\tabcolsep}{2pt}"


@dataclass(frozen=True)
class Block:
    """One table of texts; its columns may have two levels.

    `layout`: tabularx columns, one per column in LaTeX; `WIDE` is one that breaks its lines.
    `heading`: above it in Markdown, none if empty. `caption`: in LaTeX, the title of the table if empty.
    `for_latex`: other cells for LaTeX, where fewer columns fit on a page. Everything but `layout` and
    `size` is plain text.
    """

    cells: pd.DataFrame
    layout: str
    heading: str = ""
    caption: str = ""
    for_latex: pd.DataFrame | None = None
    size: str = SMALL


@dataclass(frozen=True)
class Table:
    """What a table module makes: tidy `rows` for the CSV file; title, blocks and remarks for a reader."""

    rows: pd.DataFrame
    title: str
    remarks: list[str]
    blocks: list[Block]


def write(table: Table, csv: Path, markdown: Path, latex: Path, cells: Path) -> None:
    """Write the four files, each complete or not at all. `cells`: JSON, for the page and the paper."""
    tidy.write(table.rows, csv)
    write_json(_cells(table), cells)
    write_text(_markdown(table), markdown)
    write_text("\n".join(_booktabs(block, table) for block in table.blocks), latex)


def _cells(table: Table) -> dict[str, Any]:
    """The texts of the table, and of each line the runs and the verdict behind it.

    Runs and verdicts are there if lines are rows of the CSV file: the verdict is its column `relation`, of
    pairs, or `verdict`.
    """
    blocks = [
        {
            "heading": block.heading,
            "columns": [_name(column) for column in block.cells.columns],
            "lines": block.cells.fillna("").astype(str).to_numpy().tolist(),
        }
        for block in table.blocks
    ]
    judged = next((name for name in ("relation", "verdict") if name in table.rows), None)
    one_to_one = len(table.blocks) == 1 and len(table.blocks[0].cells) == len(table.rows)
    runs = table.rows["runs"].fillna("").astype(str) if "runs" in table.rows else []
    return {
        "title": table.title,
        "remarks": table.remarks,
        "blocks": blocks,
        "runs": [list(dict.fromkeys(line.split())) for line in runs] if one_to_one else [],
        "verdicts": table.rows[judged].tolist() if one_to_one and judged else [],
    }


def _name(column: object) -> str:
    """The name of a column, of one level or two."""
    return ", ".join(filter(None, column)) if isinstance(column, tuple) else str(column)


def _markdown(table: Table) -> str:
    parts = [f"# {table.title}"]
    for block in table.blocks:
        parts += [f"## {block.heading}"] if block.heading else []
        parts.append(_pipes(block.cells))
    remarks = "".join(f"- {remark}\n" for remark in table.remarks)
    return "\n\n".join([*parts, remarks])


def _pipes(cells: pd.DataFrame) -> str:
    if cells.empty:
        return ""
    if isinstance(cells.columns, pd.MultiIndex):
        cells = cells.set_axis([_name(names) for names in cells.columns], axis=1)
    escaped = cells.replace({r"\|": r"\\|"}, regex=True)
    return escaped.to_markdown(index=False, disable_numparse=True)


def _booktabs(block: Block, table: Table) -> str:
    """A `table*` as wide as the page, with booktabs rules, caption and small remarks below."""
    cells = block.cells if block.for_latex is None else block.for_latex
    styler = cells.style.hide(axis="index").format(escape="latex")
    tabular = (
        styler.format_index(escape_latex, axis="columns")
        .to_latex(hrules=True, column_format=block.layout, multicol_align="l")
        .replace(r"\begin{tabular}", r"\begin{tabularx}{\textwidth}")
        .replace(r"\end{tabular}", r"\end{tabularx}")
    )
    remarks = "\n".join(rf"\par {escape_latex(remark)}" for remark in table.remarks)
    return (
        "% needs \\usepackage{booktabs,tabularx}\n"
        f"\\begin{{table*}}\n{block.size}\n"
        f"\\caption{{{escape_latex(block.caption or table.title)}}}\n"
        f"{tabular}\\smallskip\n{remarks}\n\\end{{table*}}\n"
    )


def escape_latex(text: str) -> str:
    """Plain text for LaTeX."""
    # pandas keeps its LaTeX escaping private; a one-cell Styler is its public door.
    cell = pd.DataFrame([[text]]).style.hide(axis="index").hide(axis="columns")
    lines = cell.format(escape="latex").to_latex().splitlines()
    return lines[1].removesuffix(r"\\").strip()
