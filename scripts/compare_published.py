"""Set measured values beside published ones, with a verdict a row: CSV, Markdown and LaTeX."""

import argparse
import os
from pathlib import Path

import pandas as pd

from paragone import notes, published, tables
from paragone.errors import entry_point
from paragone.options import pairs
from paragone.series import series_of


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Write the comparison of one experiment in three formats."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--epochs", type=Path, required=True)
    parser.add_argument("--published", type=Path, required=True, help="published.csv")
    parser.add_argument("--flaws", type=Path, required=True, help="known flaws of the sources, CSV")
    parser.add_argument("--published-experiment", required=True, help="whose published rows")
    parser.add_argument("--labels", nargs="*", default=[], metavar="backend=Label")
    parser.add_argument("--title", required=True)
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--markdown", type=Path, required=True)
    parser.add_argument("--latex", type=Path, required=True)
    options = parser.parse_args(arguments)

    runs, epochs = tables.read(options.runs), tables.read(options.epochs)
    labels = pairs(options.labels)
    rows = published.read_rows(options.published, options.published_experiment)
    table = comparison(rows, options.published_experiment, runs, epochs, labels)
    remarks = [
        notes.data(runs),
        notes.machine(runs),
        notes.repeats([len(one.measured) for one in series_of(runs, labels)]),
        *published.read_flaws(options.flaws, options.published_experiment),
    ]
    if notes.holds_synthetic(runs):
        remarks.insert(0, notes.SYNTHETIC + ".")
    tables.write(table, options.csv)
    _write(options.markdown, markdown(table, options.title, remarks))
    _write(options.latex, latex(table, options.title, remarks))


def comparison(
    rows: list[published.Row],
    experiment: str,
    runs: pd.DataFrame,
    epochs: pd.DataFrame,
    labels: dict[str, str],
) -> pd.DataFrame:
    """One row a published number; one column of measured values a series; verdict, why, note."""
    series = series_of(runs, labels)
    lines = []
    for row in rows:
        findings = {
            one.label: published.compare(row, experiment, one.measured, epochs) for one in series
        }
        verdict, why = published.overall(findings)
        lines.append(
            {
                "metric": row.metric,
                "condition": row.condition,
                "system": row.system,
                "published": row.printed,
                **{label: finding.measured for label, finding in findings.items()},
                "verdict": verdict,
                "why": why,
                "note": row.note,
            }
        )
    return pd.DataFrame(lines)


def markdown(table: pd.DataFrame, title: str, remarks: list[str]) -> str:
    """A heading, the table, and the remarks as a list."""
    cells = table.replace({r"\|": r"\\|"}, regex=True)
    text = cells.to_markdown(index=False, disable_numparse=True)
    return f"# {title}: published and measured\n\n{text}\n\n" + "".join(
        f"- {remark}\n" for remark in remarks
    )


def latex(table: pd.DataFrame, title: str, remarks: list[str]) -> str:
    """A `table*` with booktabs rules. It needs the packages booktabs and tabularx."""
    measured = list(table.columns[4:-3])
    shown = table.drop(columns=["system", "note"])
    shown["why"] = table["why"] + table["note"].map(lambda note: note and f"; source: {note}")
    styler = shown.style.hide(axis="index").format(escape="latex")
    styler = styler.format_index(_escape, axis="columns")
    wide = r">{\raggedright\arraybackslash}X"
    tabular = (
        styler.to_latex(hrules=True, column_format=f"l{wide}l{wide * len(measured)}l{wide}")
        .replace(r"\begin{tabular}", r"\begin{tabularx}{\textwidth}")
        .replace(r"\end{tabular}", r"\end{tabularx}")
    )
    systems = "; ".join(table["system"].unique())
    caption = _escape(f"{title}. Published on: {systems}.")
    small = "\n".join(rf"\par {_escape(remark)}" for remark in remarks)
    return (
        "% needs \\usepackage{booktabs,tabularx}\n"
        "\\begin{table*}\n\\scriptsize\n"
        f"\\caption{{{caption}}}\n{tabular}\\smallskip\n{small}\n\\end{{table*}}\n"
    )


def _escape(text: str) -> str:
    # pandas keeps its LaTeX escaping private; a one-cell Styler is its public door.
    cell = pd.DataFrame([[text]]).style.hide(axis="index").hide(axis="columns")
    lines = cell.format(escape="latex").to_latex().splitlines()
    return lines[1].removesuffix(r"\\").strip()


def _write(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.partial")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial.write_text(text)
    os.replace(partial, path)


if __name__ == "__main__":
    main()
