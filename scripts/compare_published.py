"""Set measured values beside published ones, with a verdict a row: CSV, Markdown and LaTeX."""

from pathlib import Path

import pandas as pd

from paragone.analysis import published, run_states, tidy, verdicts
from paragone.analysis.grouping import series_of, sweeps_of
from paragone.base.atomic_files import write_text
from paragone.base.errors import entry_point
from paragone.reporting import footnotes
from paragone.reporting.markup import WIDE, booktabs
from paragone.reporting.options import pairs, table_parser

RUNS = "runs of "  # the column of a series' run names is called after that of its values


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Write the comparison of one experiment in three formats."""
    parser = table_parser(__doc__, published=True)
    parser.add_argument("--protocols", type=Path, required=True, help="published conditions, CSV")
    parser.add_argument("--epochs", type=Path, required=True)
    parser.add_argument("--ratios", type=Path, required=True, help="ratios to compare, CSV")
    parser.add_argument("--flaws", type=Path, required=True, help="known flaws of the sources, CSV")
    parser.add_argument("--published-experiment", required=True, help="whose published rows")
    options = parser.parse_args(arguments)

    runs, epochs = tidy.read(options.runs), tidy.read(options.epochs)
    labels = pairs(options.labels)
    experiment = options.published_experiment
    rows = published.read_rows(options.published, experiment)
    protocols = published.read_protocols(options.protocols, experiment)
    ratios = published.read_ratios(options.ratios, experiment, rows)
    table = comparison(rows, ratios, protocols, runs, epochs, labels)
    remarks = [
        footnotes.data(runs),
        *footnotes.weights(runs),
        footnotes.machine(runs),
        *footnotes.isolation(runs),
        *footnotes.violations(runs),
        footnotes.repeats([len(one.measured) for one in series_of(runs, labels)]),
        *published.read_flaws(options.flaws, experiment),
    ]
    if run_states.holds_synthetic(runs):
        remarks.insert(0, footnotes.SYNTHETIC + ".")
    tidy.write(table, options.csv)
    write_text(markdown(table, options.title, remarks), options.markdown)
    write_text(latex(table, options.title, remarks), options.latex)


def comparison(
    rows: list[published.Row],
    ratios: list[published.Ratio],
    protocols: dict[str, published.Protocol],
    runs: pd.DataFrame,
    epochs: pd.DataFrame,
    labels: dict[str, str],
) -> pd.DataFrame:
    """One row a published number or ratio; one column of measured values a backend and machine;
    verdict, why, note; and the names of the runs behind each measured value."""
    sweeps = sweeps_of(runs, labels)
    lines = []
    for row in rows:
        protocol = protocols.get(row.system)
        findings = {one.label: verdicts.compare(row, protocol, one.runs, epochs) for one in sweeps}
        lines.append(_line(row.quantity, row, findings, row.note))
    for ratio in ratios:
        findings = {
            one.label: verdicts.compare_ratio(ratio, protocols, one.runs, epochs) for one in sweeps
        }
        lines.append(_line(ratio.name, ratio, findings, ""))
    return pd.DataFrame(lines)


def _line(
    metric: str,
    about: published.Row | published.Ratio,
    findings: dict[str, verdicts.Finding],
    note: str,
) -> dict[str, str]:
    verdict, why = verdicts.overall(findings)
    return {
        "metric": metric,
        "condition": about.condition,
        "system": about.system,
        "published": about.printed,
        **{label: finding.measured for label, finding in findings.items()},
        "verdict": verdict,
        "why": why,
        "note": note,
        **runs_behind(findings),
    }


def runs_behind(findings: dict[str, verdicts.Finding]) -> dict[str, str]:
    """The runs behind each measured value, in columns of their own, for the CSV file."""
    return {f"{RUNS}{label}": " ".join(one.runs) for label, one in findings.items()}


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """The table without the columns that name runs: too long for a page."""
    return table.drop(columns=[name for name in table if name.startswith(RUNS)])


def markdown(table: pd.DataFrame, title: str, remarks: list[str]) -> str:
    """A heading, the table, and the remarks as a list."""
    cells = printed(table).replace({r"\|": r"\\|"}, regex=True)
    text = cells.to_markdown(index=False, disable_numparse=True)
    return f"# {title}: published and measured\n\n{text}\n\n" + "".join(
        f"- {remark}\n" for remark in remarks
    )


def latex(table: pd.DataFrame, title: str, remarks: list[str]) -> str:
    """A `table*` with booktabs rules. It needs the packages booktabs and tabularx."""
    table = printed(table)
    measured = list(table.columns[4:-3])
    shown = table.drop(columns=["system", "note"])
    shown["why"] = table["why"] + table["note"].map(lambda note: note and f"; source: {note}")
    systems = "; ".join(table["system"].unique())
    return booktabs(
        shown.style.hide(axis="index"),
        f"l{WIDE}l{WIDE * len(measured)}l{WIDE}",
        f"{title}. Published on: {systems}.",
        remarks,
    )


if __name__ == "__main__":
    main()
