"""Tables: functions of `Inputs` that return a `TextTable`. A plugin adds a module with `table(inputs)`."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from paragone.analysis import pairwise, prediction, tidy, verdicts
from paragone.analysis.grouping import shares_cores
from paragone.analysis.pairwise import CRITERIA, margin_words
from paragone.analysis.prediction import NOT_COMPARABLE, OUTCOMES, Judgement, spread_of
from paragone.analysis.product_tables import PEAK, medians, peaks, with_labels
from paragone.analysis.scaling import SHARED, scaling_kind, scaling_table
from paragone.analysis.statistics import INTERVAL, Estimate
from paragone.analysis.verdicts import Evidence, Finding, Measured, PublishedRun, summarized
from paragone.base import plugins
from paragone.base.atomic_files import write_json, write_text
from paragone.base.errors import UserError
from paragone.config.numbers import SPREAD, Protocol, Published, Row
from paragone.reporting import footnotes, sentences
from paragone.reporting.inputs import Inputs

__path__ = plugins.extended(__path__, "reporting/tables")


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


def save(table: TextTable, paths: Iterable[Path]) -> None:
    """Write each file, complete or not at all, in the format of its suffix.

    The texts of the JSON file are for answers, page and paper, those of the Markdown file for a reader.
    """
    for path in paths:
        match path.suffix:
            case ".csv":
                tidy.write(table.rows, path)
            case ".json":
                texts = {
                    "remarks": table.remarks,
                    "columns": [*table.cells.columns],
                    "lines": table.cells.fillna("").astype(str).to_numpy().tolist(),
                    "outcomes": [*table.outcomes],
                    "runs": [list(dict.fromkeys(names.split())) for names in table.runs],
                    "published_runs": msgspec.to_builtins(
                        table.published_runs, enc_hook=lambda value: value.item()
                    ),
                }
                write_json(texts, path)
            case ".md":
                cells = table.cells.replace({r"\|": r"\\|"}, regex=True)
                text = cells.to_markdown(index=False, disable_numparse=True) if len(cells) else ""
                remarks = "".join(f"- {remark}\n" for remark in table.remarks)
                write_text(f"# {table.title}\n\n{text}\n\n{remarks}", path)


# Published numbers and what was measured

# Columns of the CSV file only: the published value, and the numbers behind the verdict.
NUMBERS = ["family", "judge", "has_runs", "value", "n", "center", "low", "high", "margin", "p"]

OUTCOMES_JUDGED = (
    "A published run is judged by its final numbers, or the last ones of a log that breaks off. These come "
    "first; below, other epochs and training scores, for which the training loss stands, have no verdict. "
    "Measured: mean of the n runs here [where one more run would be, by these and the "
    "committed runs, at 5 % over the count of the run's numbers]. Differs: the number is outside. Holds: it "
    "is inside, and two one-sided tests at 5 % show that it is within the margin. Consistent: they do not. "
    "Inconclusive: our runs vary so much that they could not show it of any number."
)
PRODUCTS = (
    f"Measured: median [{INTERVAL}] of the timed runs (n) of one process, devices synchronized at both "
    "edges, after a warm-up."
)
PEAKS = f"Measured peak: {PEAK}; median [{INTERVAL}] (n timed runs), one device."


def comparison(inputs: Inputs) -> TextTable:
    """Compare each published number of an experiment with what was measured.

    There is one column per backend and machine, one of which judges. The rows of its verdicts come first.
    """
    numbers = inputs.numbers
    spreads = prediction.read_spreads(inputs.paper / SPREAD) if inputs.paper else {}
    evidence = Evidence(numbers.protocols, inputs.margins, spreads)
    compared = verdicts.compare_all(numbers.rows, evidence, inputs.sweeps(), inputs.epochs)
    lines = [
        _line(_claimed(part.row), part.findings, part.family, (part.judge, part.finding))
        for part in compared.lines
    ]
    lines += [_mean_line(run, number) for run in compared.samples for number in run.numbers]
    lines.sort(key=lambda line: ("final", "last", "", "curve").index(line["family"]))
    curves = filter(None, map(sentences.of_curve, compared.runs))
    remarks = footnotes.of_table(inputs.runs, OUTCOMES_JUDGED, *curves)
    table = _table(lines, inputs.title, [*remarks, *_of_source(numbers)])
    return replace(table, published_runs=[*compared.runs, *compared.samples])


def _of_source(numbers: Published) -> list[str]:
    """Return on what systems ran, by which version and when, as far as the source says, and its flaws."""
    systems: dict[str, list[str]] = {}
    for name, protocol in numbers.protocols.items():
        facts = filter(None, (protocol.hardware, protocol.version, protocol.date))
        systems.setdefault(", ".join(facts), []).append(name)
    texts = [f"{sentences.joined(names)}: {text}." for text, names in systems.items() if text]
    return [*texts, *numbers.flaws]


def _claimed(row: Row) -> dict[str, Any]:
    return {
        "metric": row.metric,
        "epoch": "best" if row.best else str(row.epoch or ""),
        "condition": row.condition,
        "system": row.system,
        "published": row.printed,
        "note": row.note,
        "value": row.number,
    }


def _line(
    claimed: dict[str, Any],
    findings: dict[str, Finding],
    family: str = "",
    judged: tuple[str, Finding] | None = None,
) -> dict[str, Any]:
    """Return one row: what the source claims, as of `_claimed`, and a finding by series.

    `judged` is the series whose finding is the verdict, and that finding; by default the first that can be
    compared.
    """
    label, finding = judged or verdicts.overall(findings)
    decisive = {label: finding} if finding.verdict != NOT_COMPARABLE else findings
    names = ("metric", "epoch", "condition", "system", "published")
    line = {name: claimed.get(name, "") for name in names}
    line |= {label: sentences.measured(side) for label, side in findings.items()}
    line |= {
        "verdict": "" if family == "curve" and finding.judgement else finding.verdict,
        "why": _why(decisive, len(findings)),
        "note": claimed.get("note", ""),
        "family": family,
        "judge": label,
        "has_runs": all(side.has_runs for side in findings.values()),
        "value": claimed.get("value", math.nan),
        "runs": " ".join(dict.fromkeys(run for side in findings.values() for run in side.runs)),
    }
    if number := finding.judgement:
        line |= {name: getattr(number, name) for name in ("n", "center", "low", "high", "p")}
        line["margin"] = number.claim.margin
    return line


def _mean_line(run: PublishedRun, number: Judgement) -> dict[str, Any]:
    claimed = {
        "metric": number.claim.metric,
        "epoch": "best" if number.claim.best else str(number.claim.epoch),
        "condition": f"mean of {run.count} published runs of one program",
        "system": run.system,
        "published": f"{number.claim.value:.4f}",
        "value": number.claim.value,
    }
    measured = verdicts.within(Measured(number.center, 4, number.n), number)
    mean = Finding(number.verdict, measured=measured, judgement=number)
    return _line(claimed, {run.judge: mean}, "final", (run.judge, mean))


def _why(findings: dict[str, Finding], columns: int) -> str:
    """Return the reason of the series that judges, or of each that cannot be compared, equal ones once."""
    reasons: dict[str, list[str]] = {}
    for label, finding in findings.items():
        reasons.setdefault(sentences.reasons(finding), []).append(label)
    if columns == 1 or (len(reasons) == 1 and len(findings) > 1):
        return "; ".join(reasons)
    return "; ".join(f"{', '.join(labels)}: {why}" for why, labels in reasons.items())


def _table(lines: list[dict[str, Any]], title: str, remarks: list[str]) -> TextTable:
    """Return lines of `_line` as a table; run names and the numbers of the verdict are in its CSV file only.

    Raises `UserError` if there is no line: no published experiment was named.
    """
    if not lines:
        raise UserError("published: missing; name the experiment whose published rows are shown")
    rows = pd.DataFrame(lines)
    if not rows["epoch"].any():
        del rows["epoch"]
    cells = rows.drop(columns=[*NUMBERS, "runs"], errors="ignore").fillna("-")
    title = f"{title}: published and measured"
    return TextTable(rows, title, remarks, cells, cells["verdict"], rows["runs"])


def matmul_comparison(inputs: Inputs) -> TextTable:
    """Compare published times of matrix products with measured ones: one column per series."""
    cases = with_labels(medians(inputs.products, "seconds"), inputs.labels)
    series = list(cases.groupby("label", sort=False))
    lines = []
    for row in inputs.numbers.rows:
        protocol = inputs.numbers.protocols.get(row.system)
        if protocol is None or row.metric != "wall_time":
            raise UserError(
                f"published row {row.system!r}, {row.condition!r}: not the wall time of a product of "
                "matrices; correct `published` in the config, or the paper's numbers"
            )
        findings = {label: _product_finding(protocol, part) for label, part in series}
        lines.append(_line(_claimed(row), findings))
    remarks = [*footnotes.where(inputs.products), PRODUCTS, *_of_source(inputs.numbers)]
    return _table(lines, inputs.title, remarks)


def _product_finding(published: Protocol, cases: pd.DataFrame) -> Finding:
    """Compare one published time with one series; times on other hardware are never a match."""
    device = cases["device"].iloc[0]
    if device != published.device:
        return Finding(NOT_COMPARABLE, (("other_device", device, published.device),))
    sides = ["precision", "m", "k", "n"]
    cases = cases[(cases[sides] == [getattr(published, side) for side in sides]).all(axis=1)]
    if cases.empty:
        return Finding(NOT_COMPARABLE, (("not_measured",),))
    case = cases.iloc[0]
    if case["runs"] == 0:
        return Finding(NOT_COMPARABLE, (("case_ended", case["reason"]),))
    return _product(case, "hardware_product", "s")


def _product(case: pd.Series, why: str, unit: str, factor: float = 1) -> Finding:
    """Return a measured product; `why` it is not compared is a kind of `sentences.REASONS`."""
    estimate = Estimate(case["runs"], *(factor * case[key] for key in ("median", "low", "high")))
    runs = tuple(case["names"].split())
    return Finding(NOT_COMPARABLE, ((why,),), summarized(estimate, 3, unit), runs=runs)


def accelerator_reference(inputs: Inputs) -> TextTable:
    """Show the published numbers of accelerators, and this machine's measured peaks after their peaks."""
    lines = []
    for row in inputs.numbers.rows:
        kind = "vendors_peak" if row.metric == "peak_throughput" else "hardware_elsewhere"
        lines.append(_line(_claimed(row), {"measured here": Finding(NOT_COMPARABLE, ((kind,),))}))
    metrics = [row.metric for row in inputs.numbers.rows]
    at = max((n for n, metric in enumerate(metrics, 1) if metric == "peak_throughput"), default=0)
    measured = with_labels(peaks(inputs.products), inputs.labels)
    lines[at:at] = [_peak_line(peak) for _, peak in measured.iterrows()]
    remarks = [*footnotes.where(inputs.products), PEAKS, *_of_source(inputs.numbers)]
    return _table(lines, inputs.title, remarks)


def _peak_line(peak: pd.Series) -> dict[str, Any]:
    claimed = {
        "metric": "peak_throughput",
        "condition": f"{peak['precision']}, square product of {peak['size']:,}, {peak['label']}",
        "system": f"this machine ({peak['device']})",
        "published": "-",
    }
    return _line(claimed, {"measured here": _product(peak, "measured_peak", "TFLOP/s", 1e-12)})


# What was measured

PAIRED = (
    "Speeds of variants that are timed in turn are compared by contest: the effect of a contest is the "
    "median log ratio of its rounds. All other values are compared by pairs of runs with the same seed, by "
    "log ratio, accuracies by difference. The table has the median effect, that of a typical contest or "
    "pair, its 95 % interval and its p value by Student's t. Two variants are equal by two one-sided tests. "
    "Interval and p are adjusted by Holm's method over the pairs of a metric, those of contests also for "
    "the looks, because contests end once all are decided. A verdict has p <= 0.05. The effect is by how "
    "much the first variant is better: a ratio below 1, or a difference below 0, speaks for the second."
)
MARGINS = f"Margins: {', '.join(f'{metric.name} {margin_words(metric)}' for metric in CRITERIA.values())}."
EXPLORATORY = "All rows are exploratory: the primary family is of another experiment."
SPEED_UP = (
    "Speed-up: examples/s over those of one replica, by contest or seed. "
    "Efficiency: speed-up over replicas."
)
_PRINTED = ["metric", "workload", "batch", "first", "second", "n", "effect", "p", "verdict", "why"]


def differences(inputs: Inputs) -> TextTable:
    """Compare the variants of an experiment with each other: one row per metric and pair."""
    runs, windows, primary = inputs.runs, inputs.rounds, inputs.settings["primary"]
    rows = sentences.with_verdicts(pairwise.differences(runs, inputs.labels, windows))
    rows["family"] = "exploratory"
    notes = [
        "No two variants trained the same workload at the same global batch with the same tuning. "
        "There is nothing to compare."
    ]
    if len(rows):
        notes = [PAIRED, footnotes.speeds(inputs.series), MARGINS, EXPLORATORY]
        if primary["experiment"] in set(runs["experiment"]):
            rows.loc[rows["metric"] == primary["metric"], "family"] = "primary"
            notes[-1] = (
                f"The rows of {primary['metric']} are the primary family. The others are exploratory."
            )
    if windows is not None:
        notes += footnotes.isolation(windows) + footnotes.violations(windows)
    cells = rows.assign(
        batch=sentences.batches(rows),
        effect=[*map(_effect, rows.to_dict("records"))],
        p=["" if pd.isna(p) else f"{p:.3f}" for p in rows["p_adjusted"]],
    )
    machine = ["machine"] if len(set(rows["machine"])) > 1 else []
    title, remarks = f"{inputs.title}: variants compared", footnotes.of_table(runs, *notes)
    shown = cells[[*machine, *_PRINTED]]
    return TextTable(rows, title, remarks, shown, rows["relation"], rows["runs"])


def _effect(row: dict[str, Any]) -> str:
    if not row["n"]:
        return "-"
    if not row["ratio"]:
        return sentences.with_interval("{:+.4f}", row["effect"], row["low"], row["high"])
    # A ratio of 0 is the log of no bound.
    return sentences.with_interval("{:.3f} x", row["effect"], row["low"] or None, row["high"])


def scaling(inputs: Inputs) -> TextTable:
    """Show step time, speed-up and efficiency: one row per backend and number of replicas."""
    runs = inputs.runs
    rows = scaling_table(runs, inputs.labels, inputs.rounds)
    notes = [SPEED_UP, footnotes.speeds(inputs.series), *([SHARED] if shares_cores(runs) else [])]
    cells = pd.DataFrame(
        {
            "backend": rows["series"],
            "replicas": rows["replicas"].astype(str),
            "batch": sentences.batches(rows),
            "per replica": rows["per_replica_batch"].map("{:,}".format),
            "step (ms)": _intervals(rows, "step_seconds", "{:,.1f}", 1e3),
            "speed-up": _intervals(rows, "speed_up", "{:,.2f}"),
            "efficiency": _intervals(rows, "efficiency", "{:,.2f}"),
            "ideal": rows["ideal"].astype(str),
            "devices": rows["devices"],
        }
    )
    title = f"{inputs.title} ({scaling_kind(runs)} scaling)"
    remarks = [*footnotes.of_table(runs, *notes), footnotes.repeats(rows["n"], inputs.series)]
    return TextTable(rows, title, remarks, cells, runs=rows["runs"])


def _intervals(rows: pd.DataFrame, column: str, form: str, factor: float = 1) -> list[str]:
    texts = []
    for row in rows.to_dict("records"):
        value, low, high = (factor * row[f"{column}{end}"] for end in ("", "_low", "_high"))
        if pd.isna(value):
            texts.append(row["words"] or "-")
        else:
            ends = (None, None) if low == high else (low, high)
            texts.append(sentences.with_interval(form, value, *ends))
    return texts


def spread(inputs: Inputs) -> TextTable:
    """Show outcomes of runs that differ by seed: mean and standard deviation over seeds.

    The CSV file has one row per run and epoch, as spread.csv of a paper.
    """
    rows = spread_of(inputs.runs, inputs.epochs)
    groups = rows.groupby(["workload", "epoch"])
    cells = groups["seed"].count().rename("n").to_frame()
    for name in [name for name in OUTCOMES if name in rows]:
        mean, deviation = groups[name].mean(), groups[name].std()
        cells[name] = mean.map("{:.4f}".format) + " ± " + deviation.map("{:.4f}".format)
    remarks = footnotes.of_table(inputs.runs, "Mean ± standard deviation over n seeds.")
    return TextTable(rows, inputs.title, remarks, cells.reset_index().astype(str))


TABLES: dict[str, Callable[[Inputs], TextTable]] = {
    "comparison": comparison,
    "matmul_comparison": matmul_comparison,
    "accelerator_reference": accelerator_reference,
    "differences": differences,
    "scaling": scaling,
    "spread": spread,
}


def load(name: str) -> Callable[[Inputs], TextTable]:
    """Return the function of a table of the project or of a plugin.

    Raises `UserError` that lists the known names.
    """
    names = sorted([*TABLES, *plugins.names_in("reporting/tables")])
    if name not in names:
        raise UserError(f"{name!r} is none of the tables: {', '.join(names)}")
    return TABLES.get(name) or plugins.load("reporting/tables", name, "table").table


def write(name: str, inputs: Inputs, folder: Path) -> None:
    """Write a table into a folder as CSV, Markdown and JSON."""
    save(load(name)(inputs), [folder / f"{name}.{end}" for end in ("csv", "md", "json")])
