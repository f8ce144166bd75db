"""Tables as Markdown and LaTeX text."""

from pathlib import Path

import pandas as pd
from pandas.io.formats.style import Styler

from paragone.base.atomic_files import write_text

WIDE = r">{\raggedright\arraybackslash}X"


def write_documents(
    shown: pd.DataFrame,
    title: str,
    layout: str,
    remarks: list[str],
    markdown: Path,
    latex: Path,
) -> None:
    """A table of texts with title and remarks, as Markdown and as LaTeX; `layout`: see `booktabs`."""
    text = shown.to_markdown(index=False, disable_numparse=True) if len(shown) else ""
    listed = "".join(f"- {remark}\n" for remark in remarks)
    write_text(f"# {title}\n\n{text}\n\n{listed}", markdown)
    write_text(booktabs(shown.style.hide(axis="index"), layout, title, remarks), latex)


def booktabs(styler: Styler, layout: str, caption: str, remarks: list[str]) -> str:
    """A `table*` as wide as the page, with booktabs rules, caption and small remarks below.

    `layout`: tabularx columns, one a column of `styler`; `WIDE` is one that breaks its lines. Captions
    and remarks are plain text.
    """
    styler = styler.format(escape="latex").format_index(escape_latex, axis="columns")
    tabular = (
        styler.to_latex(hrules=True, column_format=layout, multicol_align="l")
        .replace(r"\begin{tabular}", r"\begin{tabularx}{\textwidth}")
        .replace(r"\end{tabular}", r"\end{tabularx}")
    )
    small = "\n".join(rf"\par {escape_latex(remark)}" for remark in remarks)
    return (
        "% needs \\usepackage{booktabs,tabularx}\n"
        "\\begin{table*}\n\\scriptsize\n"
        f"\\caption{{{escape_latex(caption)}}}\n{tabular}\\smallskip\n{small}\n\\end{{table*}}\n"
    )


def escape_latex(text: str) -> str:
    """Plain text for LaTeX."""
    # pandas keeps its LaTeX escaping private; a one-cell Styler is its public door.
    cell = pd.DataFrame([[text]]).style.hide(axis="index").hide(axis="columns")
    lines = cell.format(escape="latex").to_latex().splitlines()
    return lines[1].removesuffix(r"\\").strip()
