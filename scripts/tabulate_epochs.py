"""Set the epochs that a source prints beside the measured ones: CSV, Markdown and LaTeX."""

from pathlib import Path

import pandas as pd

from paragone.analysis import published, run_states, tidy
from paragone.analysis.grouping import Series, series_of, sweeps_of
from paragone.analysis.match_runs import Missing, pick
from paragone.analysis.published import Protocol, Row
from paragone.analysis.quantities import QUANTITIES
from paragone.analysis.statistics import summarize
from paragone.base.atomic_files import write_text
from paragone.base.errors import UserError, entry_point
from paragone.reporting import footnotes
from paragone.reporting.markup import WIDE, booktabs
from paragone.reporting.options import pairs, table_parser

# As the sources print them, with the digits shown.
METRICS = {
    "step_time": ("ms/step", 1),
    "train_loss": ("training loss", 4),
    "train_accuracy": ("training accuracy", 4),
    "test_loss": ("test loss", 4),
    "test_accuracy": ("test accuracy", 4),
}
PUBLISHED = "published"


@entry_point
def main(arguments: list[str] | None = None) -> None:
    """Write the table of epochs of one experiment in three formats."""
    parser = table_parser(__doc__, published=True)
    parser.add_argument("--protocols", type=Path, required=True, help="published conditions, CSV")
    parser.add_argument("--epochs", type=Path, required=True)
    parser.add_argument("--published-experiment", required=True, help="whose published rows")
    options = parser.parse_args(arguments)
    runs, epochs = tidy.read(options.runs), tidy.read(options.epochs)
    experiment, labels = options.published_experiment, pairs(options.labels)
    rows = [
        row
        for row in published.read_rows(options.published, experiment)
        if row.metric in METRICS and row.epoch is not None
    ]
    if not rows:
        raise UserError(f"{options.published}: {experiment!r} has no values by epoch")
    protocols = published.read_protocols(options.protocols, experiment)
    table, missing = long_table(rows, protocols, sweeps_of(runs, labels), epochs)
    remarks = [
        "Measured: medians over runs (seeds); the CSV file has intervals, n and names of runs.",
        *missing,
        footnotes.data(runs),
        *footnotes.weights(runs),
        footnotes.machine(runs),
        *footnotes.isolation(runs),
        *footnotes.violations(runs),
        footnotes.repeats([len(one.measured) for one in series_of(runs, labels)]),
    ]
    if run_states.holds_synthetic(runs):
        remarks.insert(0, footnotes.SYNTHETIC + ".")
    tidy.write(table, options.csv)
    blocks = {system: wide(part) for system, part in table.groupby("system", sort=False)}
    write_text(markdown(blocks, options.title, remarks), options.markdown)
    write_text(latex(blocks, options.title, remarks), options.latex)


def long_table(
    rows: list[Row], protocols: dict[str, Protocol], sweeps: list[Series], epochs: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """One row a published or measured value, with `n`, interval and runs; and what has no value."""
    found, missing = [], {}
    for row in rows:
        about = {"system": row.system, "epoch": row.epoch, "metric": row.metric}
        found.append({**about, "source": PUBLISHED, "value": float(row.value)})
        for one in sweeps:
            quantity = QUANTITIES[row.metric]
            try:
                cell = pick(row, protocols[row.system], one.runs, epochs, exact=quantity.exact)
                values = quantity.values(cell, row)
            except Missing as reason:
                missing[f"{one.label}, beside {row.system}: {reason}."] = None
                continue
            if quantity.remark(cell, row):  # a value of another epoch
                continue
            if other := cell.other_replicas(row):
                missing[f"{one.label}, beside {row.system}: {other}."] = None
            summary = {**vars(summarize(values)), "runs": " ".join(cell.runs["run"])}
            summary["value"] = summary.pop("median")
            found.append({**about, "source": one.label, **summary})
    columns = ["system", "epoch", "metric", "source", "value", "low", "high", "n", "runs"]
    return pd.DataFrame(found).reindex(columns=columns), list(missing)


def wide(table: pd.DataFrame) -> pd.DataFrame:
    """One row an epoch; columns (metric, source), published first; values as text."""
    metrics = [name for name in METRICS if (table["metric"] == name).any()]
    sources = list(dict.fromkeys(table["source"]))  # published first
    values = table.pivot_table(
        index="epoch", columns=["metric", "source"], values="value", sort=False, dropna=False
    )
    columns = [(name, source) for name in metrics for source in sources if (name, source) in values]
    shown = pd.DataFrame(index=values.index.astype(int))
    for name, source in columns:
        title, digits = METRICS[name]
        shown[title, source] = [
            "-" if pd.isna(value) else f"{value:,.{digits}f}" for value in values[name, source]
        ]
    shown.columns = pd.MultiIndex.from_tuples(shown.columns)
    return shown.sort_index()


def markdown(blocks: dict[str, pd.DataFrame], title: str, remarks: list[str]) -> str:
    """A heading and a table a published system, and the remarks as a list."""
    text = f"# {title}: epoch by epoch\n\n"
    for system, block in blocks.items():
        flat = block.set_axis([f"{metric}, {source}" for metric, source in block.columns], axis=1)
        table = flat.rename_axis("epoch").reset_index().to_markdown(
            index=False, disable_numparse=True
        )  # fmt: skip
        text += f"## Published: {system}\n\n{table}\n\n"
    return text + "".join(f"- {remark}\n" for remark in remarks)


def latex(blocks: dict[str, pd.DataFrame], title: str, remarks: list[str]) -> str:
    """A `table*` a published system. It needs the packages booktabs and tabularx."""
    parts = []
    for system, block in blocks.items():
        styler = block.reset_index(names="epoch").style.hide(axis="index")
        layout = "r" + WIDE * block.shape[1]
        parts.append(booktabs(styler, layout, f"{title}. Published on: {system}.", remarks))
    small = "\\tiny\\setlength{\\tabcolsep}{2pt}"  # many columns
    return "\n".join(parts).replace("\\scriptsize", small)


if __name__ == "__main__":
    main()
