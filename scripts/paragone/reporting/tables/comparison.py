"""Measured values beside published ones: one row per published number or ratio, with a verdict."""

from paragone.analysis import verdicts
from paragone.reporting import footnotes
from paragone.reporting.beside_published import line, table_of
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import Table


def table(inputs: Inputs) -> Table:
    """The comparison of one experiment: one column per backend and machine."""
    epochs, protocols = inputs.epochs, inputs.protocols
    sweeps, lines = inputs.sweeps(), []
    for row in inputs.published:
        protocol = protocols.get(row.system)
        findings = {one.label: verdicts.compare(row, protocol, one.runs, epochs) for one in sweeps}
        about = row.quantity, row.condition, row.system, row.printed
        lines.append(line(about, findings, row.note))
    for ratio in inputs.ratios:
        findings = {
            one.label: verdicts.compare_ratio(ratio, protocols, one.runs, epochs) for one in sweeps
        }
        about = ratio.name, ratio.condition, ratio.system, ratio.printed
        lines.append(line(about, findings))
    counts = [len(one.measured) for one in inputs.series]
    remarks = [*footnotes.about(inputs.runs), footnotes.repeats(counts), *inputs.flaws]
    return table_of(lines, inputs.title, remarks)
