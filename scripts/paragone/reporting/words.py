"""Words of verdicts: who is better, who is equal, what is open, and which published numbers hold.

Verdicts are rows of the tables `differences` and `comparison`. Sentences are made from their columns; nothing
reads a sentence back.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from paragone.analysis import pairwise
from paragone.analysis.grouping import CONTEST
from paragone.analysis.metrics import Metric, margin_words, named
from paragone.analysis.pairwise import BETTER, BOTH, EQUAL, NOT_COMPARED, PAIR, UNDECIDED, loser
from paragone.analysis.prediction import (
    AT_CHANCE,
    CONSISTENT,
    DIFFERS,
    HOLDS,
    NOT_COMPARABLE,
    Reason,
)
from paragone.analysis.states import States
from paragone.analysis.statistics import FEWEST_EFFECTS
from paragone.analysis.verdicts import VERDICTS, Finding, Number, PublishedRun, runs_in

Row = dict[str, Any]  # of one of the two tables

NOT_BOTH = {PAIR: "no seed ran both in the same hours", CONTEST: "no round timed both"}
MOST_WORDS = 25  # of a sentence
# A verdict on one published run or number, and on several.
_JUDGED = {
    HOLDS: ("holds", "hold"),
    CONSISTENT: ("is consistent", "are consistent"),
    DIFFERS: ("differs", "differ"),
    AT_CHANCE: ("is at chance", "are at chance"),
}


def joined(names: Sequence[str], word: str = "and") -> str:
    """Names as a list in words."""
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


# Pairs of series


def with_words(differences: pd.DataFrame) -> pd.DataFrame:
    """The rows of `pairwise.differences` with the columns `verdict` and `why` for readers."""
    rows = differences.to_dict("records")
    return differences.assign(
        verdict=[_verdict(row) for row in rows], why=[_why(row) for row in rows]
    )


def _verdict(row: Row) -> str:
    metric = named(row["metric"])
    if row["relation"] == BETTER:
        return f"{row['winner']} is {metric.words}"
    return f"equal within {margin_words(metric)}" if row["relation"] == EQUAL else row["relation"]


def _why(row: Row) -> str:
    """What is lacking of a pair that is not compared or undecided, and who is ahead of one that is equal."""
    if row["relation"] == NOT_COMPARED:
        sides = (row["first"], row["first_lacks"]), (row["second"], row["second_lacks"])
        return ", ".join(f"{label}: {why}" for label, why in sides if why) or NOT_BOTH[row["unit"]]
    if row["relation"] == EQUAL and row["winner"]:
        return f"{row['winner']} is {named(row['metric']).words}, within the margin"
    return _what_it_takes(row) if row["relation"] == UNDECIDED else ""


def _what_it_takes(row: Row) -> str:
    """What would decide an undecided pair."""
    n, needed, unit = row["n"], row["needed"], row["unit"]
    if n < FEWEST_EFFECTS:
        how = f"two {unit}s hardly tell how they vary" if n > 1 else f"one {unit} has no variance"
        return f"{how}: at least {needed:.0f} are needed"
    if pd.isna(needed):
        return f"the {'runs' if unit == PAIR else 'contests'} vary so much that no affordable number decides"
    if more := int(max(needed - n, 0)):
        text = f"{more} more {unit}{'s are' if more > 1 else ' is'} needed"
        minutes = more * row["unit_seconds"] / 60
        return text if pd.isna(minutes) else f"{text}, about {max(minutes, 1):.0f} minutes"
    margin = named(row["metric"]).margin
    effect = max(_apart(row)[0], 0)
    within = "the effect lies between none and the margin: " if effect < margin else ""
    return f"{within}more {unit}s may decide"


def sentence(rows: pd.DataFrame) -> str:
    """What the pairs of one metric and the same work say. `rows`: of the table `differences`."""
    compared = rows[rows["relation"] != NOT_COMPARED]
    others = rows[rows["relation"] == NOT_COMPARED]
    if compared.empty:
        return f"not compared ({_lacking(others)})."
    metric, pairs = named(rows["metric"].iloc[0]), compared.to_dict("records")
    if rows["tuning"].iloc[0] == BOTH:
        parts = [_wins([row], metric) for row in _of(BETTER, pairs)]
        parts += _equal(_of(EQUAL, pairs), metric) + _undecided(_of(UNDECIDED, pairs))
    else:
        parts = _ranked(compared, metric)
    parts += [f"not compared ({_lacking(others)})"] if len(others) else []
    counts, unit = sorted(set(compared["n"])), compared["unit"].iloc[0]
    of_pairs = f"n = {' or '.join(map(str, counts))} {unit if counts == [1] else f'{unit}s'}"
    return f"{'; '.join(parts)} ({of_pairs}{_when(compared)})."


def _when(rows: pd.DataFrame) -> str:
    """The hours that times were measured in, as the end of a remark; may be empty."""
    match rows["sessions"].max():
        case 1 if (rows["unit"] == CONTEST).all():
            return ", in this hour"
        case 2:
            return ", in these two hours: it takes three to speak of the machine"
        case hours if hours > 2:
            return f", over {hours:.0f} hours"
    return ""


def of_single_pairs(groups: Sequence[pd.DataFrame]) -> str:
    """What groups of one pair each say: nothing can be decided, whatever the metric."""
    pairs = pd.concat(groups)
    names = list(dict.fromkeys(pairs[["first", "second"]].to_numpy().ravel()))
    units = joined(sorted(set(pairs["unit"])), "or")
    return (
        f"one {units} each of {joined(names)}, and one has no variance: "
        f"at least {pairs['needed'].max():.0f} are needed."
    )


def relation(rows: pd.DataFrame) -> str:
    """The relation of all pairs of one metric together; if one series is better, how."""
    found = pairwise.overall(rows)
    return named(rows["metric"].iloc[0]).words if found == BETTER else found


def quickest(found: list[tuple[str, float]]) -> str:
    """Who is quickest for short and for long training, from `pairwise.quickest`; empty if not known."""
    if not found:
        return ""
    (first, _), *later = found
    if not later:
        return f" By medians {first} is quickest at any length."
    until = f" up to about {later[0][1]:,.0f} examples"
    then = joined([f"from {begin:,.0f} on {name}" for name, begin in later], "then")
    return f" By medians, evaluation aside, {first} is quickest{until}, {then}."


def of_states(found: States) -> str:
    """What a disturbed machine cost the variants: those that lost most, as many as 25 words name."""
    text = f"In {len(found.disturbed)} of {found.rounds} rounds the machine was slower"
    by_loss = sorted(found.losses.items(), key=lambda item: -item[1])
    for number, (label, lost) in enumerate(by_loss):
        more = f", {label} {100 * lost:.0f} %" if number else f": {label} lost {100 * lost:.0f} %"
        if len(f"{text}{more}".split()) > MOST_WORDS:
            break
        text += more
    return f"{text}."


def in_calm_rounds(rows: pd.DataFrame, calm: pd.DataFrame) -> list[str]:
    """Where the verdicts of calm rounds alone differ: a sentence each, or one that says that none does.

    rows, calm: of the table `differences`, on speed; of all rounds, and of calm ones.
    """
    of_all = {_pair(row): row for row in rows.to_dict("records")}
    changed = [
        row
        for row in calm.to_dict("records")
        if (before := of_all.get(_pair(row)))
        and (row["relation"], row["relation"] == BETTER and row["winner"])
        != (before["relation"], before["relation"] == BETTER and before["winner"])
    ]
    alone = "In calm rounds alone"
    return [f"{alone} {_in_short(row)}." for row in changed] or [
        f"{alone} the verdict is the same."
    ]


def _in_short(row: Row) -> str:
    """The verdict on one pair, without what an undecided one takes."""
    metric = named(row["metric"])
    match row["relation"]:
        case pairwise.BETTER:
            return _wins([row], metric)
        case pairwise.EQUAL:
            return _equal([row], metric)[0]
    return f"{joined(_pair(row))} are {row['relation']}"


def _ranked(compared: pd.DataFrame, metric: Metric) -> list[str]:
    """Who may be the best, how these compare, and how much better they are than the others."""
    able, pairs = pairwise.contenders(compared), compared.to_dict("records")
    among = [row for row in pairs if {*_pair(row)} <= {*able}]
    undecided = _of(UNDECIDED, among)
    parts = _equal(_of(EQUAL, among), metric) + _undecided(undecided)
    beyond: dict[str, list[Row]] = {name: [] for name in able}
    for row in _of(BETTER, pairs):
        if row["winner"] in beyond and loser(row) not in able:
            beyond[row["winner"]].append(row)
    if not any(beyond.values()):
        return parts or [_wins([row], metric) for row in _of(BETTER, pairs)]
    if len(able) == 1:
        return [f"{able[0]} is best: {_by_how_much(beyond[able[0]], metric)}"]
    headline = f"the best is {joined(able, 'or')}"
    whys = {_what_it_takes(row) for row in undecided}
    if among == undecided and len(whys) == 1:
        headline, parts = f"{headline}, undecided: {whys.pop()}", []
    return [headline, *parts, *(_wins(rows, metric) for rows in beyond.values() if rows)]


def _of(relation: str, rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["relation"] == relation]


def _pair(row: Row) -> tuple[str, str]:
    return row["first"], row["second"]


def _wins(rows: list[Row], metric: Metric) -> str:
    """By how much the winner of these pairs, which is the same in all, is better than the others."""
    return f"{rows[0]['winner']} {'needs' if metric.saves else 'is'} {_by_how_much(rows, metric)}"


def _by_how_much(rows: list[Row], metric: Metric) -> str:
    words = f" less {metric.saves}" if metric.saves else f" {metric.words}"
    sizes = [
        f"{_lead(row, metric)}{'' if place else words} than {loser(row)}"
        for place, row in enumerate(rows)
    ]
    return ", ".join(sizes)


def _lead(row: Row, metric: Metric) -> str:
    """How much better the winner is, with its interval: a multiple, a share that it saves, a difference."""
    values = _turned(row, row["winner"] != row["first"])
    if metric.saves:
        return _with_interval([100 * (1 - 1 / value) for value in values], "{:.0f}", " %")
    return _with_interval(values, *(("{:.2f}", " x") if row["ratio"] else ("{:.3f}", "")))


def _turned(row: Row, turned: bool) -> list[float]:
    """The effect and its interval; of the second over the first where `turned`."""
    values = [float(row[name]) for name in ("effect", "low", "high")]
    if turned:
        inverse = [
            (1 / value if value else math.inf) if row["ratio"] else -value for value in values
        ]
        values = [inverse[0], inverse[2], inverse[1]]
    return values


def _with_interval(values: list[float], form: str, unit: str) -> str:
    """The effect, with its interval if that is finite: five pairs may show equality and have none."""
    middle, low, high = map(form.format, values)
    text = f"{middle}{unit}"
    return f"{text} [{low}, {high}]" if all(map(math.isfinite, values)) else text


def _equal(rows: list[Row], metric: Metric) -> list[str]:
    """Pairs that are equal, as one sentence where every name is equal to every other."""
    within = f"equal within {margin_words(metric)}"
    if len(rows) > 1 and _are_all_pairs(rows):
        effect = max(_apart(row)[0] for row in rows)
        largest = f"{100 * (effect - 1):.1f} %" if metric.by_ratio else f"{effect:.4f}"
        return [f"{joined(_names(rows))} are {within}: their means are at most {largest} apart"]
    form = ("{:.2f}", " x") if metric.by_ratio else ("{:z.4f}", "")
    return [
        f"{joined(_pair(row))} are {within}: {_with_interval(_apart(row), *form)} apart"
        for row in rows
    ]


def _apart(row: Row) -> list[float]:
    """The effect of the better one over the other, and its interval."""
    return _turned(row, float(row["effect"]) < (1 if row["ratio"] else 0))


def _undecided(rows: list[Row]) -> list[str]:
    """Undecided pairs, by what would decide them."""
    by_why: dict[str, list[Row]] = {}
    for row in rows:
        by_why.setdefault(_what_it_takes(row), []).append(row)
    parts = []
    for why, same in by_why.items():
        pairs = ", ".join(joined(_pair(row)) for row in same)
        between = joined(_names(same)) if _are_all_pairs(same) else pairs
        parts.append(f"undecided between {between}: {why}")
    return parts


def _names(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in _pair(row)))


def _are_all_pairs(rows: list[Row]) -> bool:
    count = len(_names(rows))
    return 2 * len(rows) == count * (count - 1)


def _lacking(rows: pd.DataFrame) -> str:
    """Why no pair was compared: each reason once, with all series that it holds for."""
    reasons: dict[str, dict[str, None]] = {}
    for row in rows.to_dict("records"):
        sides = (row["first"], row["first_lacks"]), (row["second"], row["second_lacks"])
        for label, why in [side for side in sides if side[1]] or [("", NOT_BOTH[row["unit"]])]:
            reasons.setdefault(why, {})[label] = None
    return "; ".join(
        f"{', '.join(labels)}: {why}" if all(labels) else why for why, labels in reasons.items()
    )


# Published numbers

# Words of each kind of reason, of `analysis.prediction.Reason`; its values fill the places.
REASONS = {
    # There is nothing to compare.
    "no_quantity": "no measured quantity corresponds to this metric",
    "no_workload": "no run of workload {}",
    "no_epoch": "not measured: the runs had {} epochs",
    "no_parity": "parity is not proven: no speed",
    "not_finite": "no finite value",
    "no_pair": "no seed ran both",
    # What was done differs.
    "synthetic": "SYNTHETIC DATA",
    "global_batch": "global batch {}, published {}",
    "precision": "{} arithmetic",
    "steps_per_epoch": "{} steps per epoch, published {}",
    "epoch_examples": "{:,} examples per epoch, published {:,}",
    "input_shape": "inputs of {}, published {}",
    "model": "{} {}, published {}",
    "replicas": "{} x batch {} per replica, published {} x {}",
    "edition": "edition {}",
    "epochs": "only {} of the published {} epochs were run",
    "shared_cores": "the replicas share the cores of one machine: they add no hardware",
    "hardware": "other hardware",
    "hardware_fit": "other hardware; measured: compilation, training and evaluation",
    "hardware_whole_run": "other hardware; measured from process start to the end of the run",
    "hardware_training": "other hardware; measured: training alone",
    "hardware_extrapolated": "other hardware; {:,} examples at the steady throughput",
    "hardware_later_epochs": "other hardware; measured: training alone, mean of the epochs after the first",
    "hardware_steps": "other hardware; measured without compilation and evaluation",
    "hardware_product": "other hardware; the source prints the time of day (1 s resolution) around drawing "
    "the operands, the product and its sum, here the product alone is timed",
    "hardware_elsewhere": "other hardware, not measured here",
    "vendors_peak": "other hardware; the vendor's peak, no measured product",
    "measured_peak": "other hardware; a measured product, no vendor's peak",
    "other_device": "measured on a {}, published for a {}",
    "not_measured": "not measured",
    "case_ended": "{}",
    # What was judged, and how.
    "few_runs": "no committed spread of this protocol: an interval takes {} runs",
    "other_program": "the runs here are of another program than the committed ones, and judge alone",
    "target": "the runs had the published target",
    "other_target": "the runs had the target {:g}, published {}",
    "equal": "equal",
    "count": "differs by {:+,}",
    # Which value was measured.
    "at_epoch": " at epoch {}",
    "extrapolated": ", extrapolated",
}


def reason(why: Reason) -> str:
    """A reason in words."""
    match why:
        case ("no_batch", batch, sizes):
            there = f"{', '.join(map(str, sizes))} {'is' if len(sizes) == 1 else 'are'}"
            return f"no run with global batch {batch} ({there} there)"
        case ("no_replicas", count):
            return f"no run with {count} replica{'s' if count > 1 else ''}"
        case ("none_completed", states):
            return f"no run was completed: {'; '.join(states)}"
        case ("stuck", seeds):
            return f"left out as stuck: seed{'s' if len(seeds) > 1 else ''} {joined([*map(str, seeds)])}"
        case ("times", times, opposite):
            direction = ", in the opposite direction" if opposite else ""
            return f"published is {times:.2f} times the measured ratio{direction}"
        case ("vocabulary", count, words, published, each):
            return (
                f"{abs(count):,} {'more' if count > 0 else 'fewer'}: the vocabulary has {words:,} words, "
                f"published {published:,}, and each word has {each} parameters; all others are equal"
            )
        case (kind, *values):
            return REASONS[kind].format(*values)
    raise ValueError(f"{why}: no reason")


def reasons(finding: Finding) -> str:
    """Why a finding has its verdict, and in brackets what a reader must know of besides."""
    caveats = f" ({'; '.join(map(reason, finding.caveats))})" if finding.caveats else ""
    why = [reason(each) for each in finding.reasons]
    if finding.judgement and not why:
        why = [distance(Number.of(finding.judgement))]
    return "; ".join(why) + caveats


def measured(finding: Finding) -> str:
    """The measured value with its interval and n; a dash where there is none."""
    value = finding.measured
    if value is None:
        return "-"
    low, middle, high = (
        f"{each:,.{value.digits}f}" for each in (value.low, value.value, value.high)
    )
    if math.isfinite(value.low):
        middle += f" [{low}, {high}]"
    unit = f" {value.unit}" if value.unit else ""
    remark = reason(value.remark) if value.remark else ""
    return f"{middle}{unit} (n = {value.n}){remark}"


def overview(comparisons: Sequence[pd.DataFrame]) -> str:
    """Published runs counted by their verdicts, and what else can be judged; may be empty."""
    tables = [table for table in comparisons if len(table)]
    runs = [run.verdict for table in tables for run in runs_in(table) if run.count == 1]
    judged = [verdict for verdict in runs if verdict != NOT_COMPARABLE]
    others = [
        verdict
        for table in tables
        for verdict in table.loc[table["family"] == "", "verdict"]
        if verdict != NOT_COMPARABLE
    ]
    run = "run" if len(judged) == 1 else "runs"
    parts = [f"Of {len(judged)} published {run} {_counted(judged)}."] if judged else []
    parts += [f"Of {len(others)} other numbers and ratios {_counted(others)}."] if others else []
    if parts and (left := len(runs) - len(judged)):
        parts.append(f"{left} published runs cannot be compared.")
    return " ".join(parts)


def of_system(rows: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Sentences on one published system, each with its verdict. `rows`: of the table `comparison`."""
    system = rows["system"].iloc[0]
    counted = rows[rows["family"].eq("") & rows["verdict"].ne(NOT_COMPARABLE)]
    for row in counted.to_dict("records"):
        yield f"{system}, {noun(row['metric'])}: {row['verdict']} ({row['why']}).", row["verdict"]
    runs = [run for run in runs_in(rows) if run.numbers]
    if not runs and counted.empty:
        outcomes = rows[rows["family"] != ""]
        why = _commonest(outcomes if len(outcomes) else rows)
        yield f"{system}: not comparable ({why}).", NOT_COMPARABLE
    for run in runs:
        who = system if run.count == 1 else f"{run.count} published runs of one program"
        numbers = [
            f"{noun(one.metric)} {one.published:g}: {one.verdict} ({distance(one)})"
            for one in run.numbers
        ]
        text = f"{who}, judged by {run.judge}: {'; '.join(numbers)}."
        if other := run.explanation:
            text += f" As a run of {other.workload}, its second protocol, it {_JUDGED[other.verdict][0]}."
        yield text, run.verdict


def of_curve(run: PublishedRun) -> str:
    """How the epochs of a published run lie together; empty where that is not known."""
    if (curve := run.curve) is None:
        return ""
    fewer = "none has fewer" if curve.as_few == 1 else f"{curve.as_few} have as few or fewer"
    return (
        f"{run.system}: {curve.inside} of {curve.count} published outcomes are where one more of the "
        f"{curve.of - 1} committed runs would be: {curve.verdict}. Of these and the published one {fewer}."
    )


def _commonest(rows: pd.DataFrame) -> str:
    """The most frequent reason, or the first; of rows for which there are runs, if there are such rows."""
    tried = rows[rows["has_runs"].astype(bool)]
    whys = (tried if len(tried) else rows)["why"].tolist()
    return str(max(whys, key=whys.count))


def _counted(verdicts: list[str]) -> str:
    counts = Counter(verdicts)
    given = [name for name in VERDICTS if counts[name]]
    return joined([f"{counts[name]} {_JUDGED[name][min(counts[name], 2) - 1]}" for name in given])


def noun(metric: str) -> str:
    """The name of a published metric for readers."""
    return metric.replace("_", " ").replace("train ", "training ")


def distance(one: Number) -> str:
    """How far a number is from the center of our runs, and what that says."""
    if one.verdict == AT_CHANCE:
        return "not above always guessing the most frequent class"
    if one.bound:
        met = {
            HOLDS: "is beyond",
            DIFFERS: "falls short of",
            CONSISTENT: "may be on either side of",
        }
        return f"one more run {met[one.verdict]} the bound"
    away = one.published - one.center
    apart = f"{abs(away):.2g} {'above' if away > 0 else 'below'}"
    noticed = f"{one.noticed:.2g} would have been noticed"
    if one.verdict == HOLDS:
        return f"{apart}, within the margin of {one.margin:.2g}"
    if one.verdict == CONSISTENT:
        return f"{apart}, a weak test: only {noticed}"
    equal = ", equal within the margin" if one.is_equal else ""
    p = "p < 0.001" if one.p < 0.001 else f"p = {one.p:.3f}"
    return f"{apart}{equal}, {p}; {noticed}"
