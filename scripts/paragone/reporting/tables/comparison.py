"""Measured values beside published ones: one row per published number or ratio, with a verdict."""

from paragone.analysis import verdicts
from paragone.analysis.grouping import Series
from paragone.analysis.published import OUTCOMES, Row
from paragone.reporting import footnotes
from paragone.reporting.beside_published import line, table_of
from paragone.reporting.inputs import Inputs
from paragone.reporting.markup import Table

METHOD = (
    "A published loss or accuracy is one run. Measured: mean of n runs ± half the 95 % prediction "
    "interval of one more run, by the committed spread over seeds. Reproduced: half-width and "
    "difference are within the margin; differs: the difference is beyond both."
)


def table(inputs: Inputs) -> Table:
    """The comparison of one experiment: one column per backend and machine, one of which judges."""
    evidence, sweeps = inputs.evidence, inputs.sweeps()
    found = [
        {one.label: verdicts.compare(row, evidence, one.runs, inputs.epochs) for one in sweeps}
        for row in inputs.published
    ]
    judged = [
        verdicts.overall(findings, _judge(inputs, row, sweeps))
        for row, findings in zip(inputs.published, found, strict=True)
    ]
    families = _families(inputs.published, judged)
    lines = [
        line(
            (row.metric, row.condition, row.system, row.printed),
            findings,
            row.note,
            families[index],
            judged[index],
            (row.number, row.unit),
        )
        for index, (row, findings) in enumerate(zip(inputs.published, found, strict=True))
    ]
    for ratio in inputs.ratios:
        findings = {
            one.label: verdicts.compare_ratio(ratio, evidence, one.runs, inputs.epochs)
            for one in sweeps
        }
        lines.append(line((ratio.name, ratio.condition, ratio.system, ratio.printed), findings))
    for each in lines:
        each["experiment"] = inputs.published_experiment
    remarks = footnotes.about(inputs.runs, METHOD, *_together(inputs, judged))
    return table_of(lines, inputs.title, [*remarks, *inputs.flaws])


def _judge(inputs: Inputs, row: Row, sweeps: list[Series]) -> str | None:
    """The series that judges a row: that of the backend which the committed spread is of."""
    protocol = inputs.evidence.protocols.get(row.system)
    spread = inputs.evidence.spreads.get(protocol.workload) if protocol else None
    return next((one.label for one in sweeps if spread and one.backend == spread.backend), None)


def _families(rows: list[Row], judged: list[tuple[str, verdicts.Finding]]) -> list[str]:
    """Which rows are their system's primary ones; their verdicts in `judged` are adjusted together."""
    families = ["outcome" if row.metric in OUTCOMES else "" for row in rows]
    for members in verdicts.primary(rows).values():
        places = [rows.index(row) for row in members]
        adjusted = verdicts.adjusted([judged[place][1] for place in places])
        for place, finding in zip(places, adjusted, strict=True):
            judged[place] = (judged[place][0], finding)
            families[place] = "primary"
    return families


def _together(inputs: Inputs, judged: list[tuple[str, verdicts.Finding]]) -> list[str]:
    """Of each system that was judged by a spread: its outcomes over all epochs as one."""
    remarks = []
    for system, protocol in inputs.protocols.items():
        spread = inputs.evidence.spreads.get(protocol.workload)
        published = {
            (row.metric, row.epoch): row.number
            for row, (_, finding) in zip(inputs.published, judged, strict=True)
            if row.system == system and finding.judgement and not row.bound
            if spread and row.epoch and row.epoch <= spread.rows["epoch"].max()
        }
        if spread and len(published) > len(verdicts.PRIMARY):
            count, share = spread.inside(published)
            remarks.append(
                f"{system}: {count} of {len(published)} published outcomes are where one more of the "
                f"{spread.rows['seed'].nunique()} committed runs would be; of these runs and the "
                f"published one {share:.0%} have as few or fewer."
            )
    return remarks
