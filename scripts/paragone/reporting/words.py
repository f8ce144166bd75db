"""Words of verdicts: all sentences of answers, and the texts of verdicts and reasons in tables.

Verdicts are rows of the tables `differences` and `comparison`. Sentences are made from their columns; nothing
reads a sentence back. A sentence has at most `MOST_WORDS` words: where names are long, it says less.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise as neighbors
from itertools import product
from typing import Any

import pandas as pd

from paragone.analysis import pairwise
from paragone.analysis.grouping import CONTEST
from paragone.analysis.metrics import margin_words, named
from paragone.analysis.pairwise import BETTER, BOTH, EQUAL, NOT_COMPARED, PAIR, UNDECIDED, loser
from paragone.analysis.prediction import (
    AT_CHANCE,
    CONSISTENT,
    DIFFERS,
    HOLDS,
    Claim,
    Judgement,
    Reason,
)
from paragone.analysis.statistics import FEWEST_EFFECTS
from paragone.analysis.verdicts import Finding, PublishedRun
from paragone.config.numbers import LOWER
from paragone.tasks import METRICS

Row = dict[str, Any]  # of one of the two tables

NOT_BOTH = {PAIR: "no seed ran both in the same hours", CONTEST: "no round timed both"}
# What a sample consists of, one and several: "pair" alone may also be one of variants.
UNITS = {PAIR: ("pair of runs", "pairs of runs"), CONTEST: ("contest", "contests")}
MOST_WORDS = 25  # of a sentence


def joined(names: Sequence[str], word: str = "and") -> str:
    """Names as a list in words."""
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def fitting(*sentences: str) -> str:
    """The first of these sentences that is short enough; the last one, if none is."""
    return next((text for text in sentences if len(text.split()) <= MOST_WORDS), sentences[-1])


def counted(number: int, noun: str) -> str:
    """A number and its noun, in the plural if there are several."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def with_interval(form: str, value: float, low: float | None, high: float | None) -> str:
    """Numbers in a format: a value, with its interval where that is known."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return form.format(value)
    return f"{form.format(value)} [{form.format(low)}, {form.format(high)}]"


# Pairs of series


def batches(rows: pd.DataFrame) -> pd.Series:
    """The global batches of rows, as readers see them."""
    return rows["global_batch"].map("{:,}".format)


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
    n, needed = row["n"], row["needed"]
    one, many = UNITS[row["unit"]]
    if n < FEWEST_EFFECTS:
        how = f"two {many} hardly tell how they vary" if n > 1 else f"one {one} has no variance"
        return f"{how}: at least {needed:.0f} are needed"
    if pd.isna(needed):
        return f"the {many} vary so much that no affordable number decides"
    if more := int(max(needed - n, 0)):
        text = f"{more} more {f'{many} are' if more > 1 else f'{one} is'} needed"
        minutes = more * row["unit_seconds"] / 60
        return text if pd.isna(minutes) else f"{text}, about {max(minutes, 1):.0f} minutes"
    margin = named(row["metric"]).margin
    effect = max(_apart(row), 0)
    within = "the effect lies between none and the margin: " if effect < margin else ""
    return f"{within}more {many} may decide"


def _apart(row: Row) -> float:
    """The effect of the better one over the other."""
    effect = float(row["effect"])
    if row["ratio"]:
        return max(effect, 1 / effect if effect else math.inf)
    return abs(effect)


def which_is_best(rows: pd.DataFrame, by_length: Sequence[tuple[str, float]] = ()) -> str:
    """Who is best by one metric, and who ends first in short runs.

    rows: of the table `differences`, of the same work on one machine. by_length: of `pairwise.quickest`.
    """
    metric = named(rows["metric"].iloc[0])
    compared = rows[rows["relation"] != NOT_COMPARED]
    if compared.empty:
        return "No two variants could be compared."
    if rows["tuning"].iloc[0] == BOTH:
        return _of_tuning(compared)
    pairs, able = compared.to_dict("records"), pairwise.contenders(compared)
    among = [row for row in pairs if {row["first"], row["second"]} <= {*able}]
    names = dict.fromkeys(name for row in pairs for name in (row["first"], row["second"]))
    best, rest = BESTS[metric.name], len(names) - len(able)
    if len(able) == 1:
        leads = [row for row in pairs if row["relation"] == BETTER and row["winner"] == able[0]]
        heads = [f"{able[0]} is {best}"]
        if leads:
            nearest = min(leads, key=_apart)
            by, alone = _by(nearest)
            heads = [f"{heads[0]}, {by} {loser(nearest)}", f"{heads[0]}, {alone}", *heads]
    elif any(row["relation"] == UNDECIDED for row in among):
        which = f"which of the {len(able)} is undecided"
        heads = [f"{joined(able, 'or')} is {best}; {which}"]
        heads += [f"{len(able)} of {len(names)} variants may be {best}; {which}"]
    else:
        equal = f"equal within {margin_words(metric)}{f' and {best}' if rest else ''}"
        count = f"{len(able)} of {len(names)}" if rest else f"All {len(able)}"
        heads = [f"{joined(able)} are {equal}", f"{count} variants are {equal}"]
    long = "In long runs " if len(by_length) > 1 else ""
    ends = _ends(by_length, able)
    # A single winner may lose the name of the next one; several are named before all else.
    order = (
        product(ends, heads)
        if len(able) == 1
        else ((end, head) for head, end in product(heads, ends))
    )
    said = (f"{long if end else ''}{head}{end}." for end, head in order)
    return fitting(*said, f"{heads[-1]}.")


# What the best one by a metric is.
BESTS = {
    "speed": "fastest",
    "end to end": "quickest from start to end",
    "time to target": "quickest to the target",
    "test accuracy": "most accurate",
    "peak memory": "smallest in memory",
    "energy": "lowest in energy",
}


def _by(row: Row) -> tuple[str, str]:
    """By how much the winner is better than the other, before its name and without it."""
    size, metric = _apart(row), named(row["metric"])
    if metric.saves:
        share = f"with {100 * (1 - 1 / size):.0f} % less {metric.saves}"
        return f"{share} than", share
    if row["ratio"]:
        return f"{size:.2f} times as {QUICK.get(metric.name, 'good')} as", f"by {size:.2f} times"
    return f"by {size:.3f} over", f"by {size:.3f}"


QUICK = {"speed": "fast", "end to end": "quick", "time to target": "quick"}


def _ends(by_length: Sequence[tuple[str, float]], able: Sequence[str]) -> list[str]:
    """Who ends first, by the length of a run, as ends of a sentence, the longest first."""
    if not by_length:
        return [""]
    (first, _), *later = by_length
    if not later:
        whom = ", and" if [first] == list(able) else f"; {first}"
        return [f"{whom} ends first at any length", ""]
    until = f"; below {later[0][1]:,.0f} examples {first} probably ends first"
    between = [f"then {name} up to {end:,.0f}" for (name, _), (_, end) in neighbors(later)]
    return [", ".join([until, *between]), until, ""]


def _of_tuning(compared: pd.DataFrame) -> str:
    """What tuning is worth: pairs that differ in nothing else."""
    parts = [_in_short(row) for row in compared.to_dict("records")]
    decided = int((compared["relation"] == BETTER).sum())
    return fitting(
        f"{joined(parts)}.", f"Tuning decides {decided} of {counted(len(compared), 'pair')}."
    )


def contradiction(able: Sequence[str], by_length: Sequence[tuple[str, float]]) -> list[str]:
    """A sentence where whole runs name another winner of long runs than the speeds do."""
    longest = by_length[-1][0] if by_length else ""
    if not able or not longest or longest in able:
        return []
    return [
        fitting(
            f"By the times of whole runs {longest} ends first in long runs, not {joined(able, 'or')}.",
            "By the times of whole runs another variant ends first in long runs.",
        )
    ]


def less_accurate(rows: pd.DataFrame) -> list[str]:
    """A sentence for each decided pair of accuracies that do not agree."""
    return [
        fitting(
            f"{row['winner']} is more accurate than {loser(row)}, by {_apart(row):.3f}.",
            f"Two variants differ in accuracy by {_apart(row):.3f}.",
        )
        for row in rows.to_dict("records")
        if row["relation"] == BETTER
    ]


def undecided(rows: pd.DataFrame) -> str:
    """Which pairs are open, and what would decide the one that takes most.

    rows: undecided ones of the table `differences`, of one experiment.
    """
    pairs = rows.to_dict("records")
    words = joined([*dict.fromkeys(named(row["metric"]).words for row in pairs)], "or")
    names = [*dict.fromkeys(f"{row['first']} or {row['second']}" for row in pairs)]
    most = max(pairs, key=lambda row: (row["n"] > 1 and pd.isna(row["needed"]), row["needed"]))
    takes = _what_it_takes(most)
    takes = f"{takes[0].upper()}{takes[1:]}."
    return fitting(
        *([f"{names[0]}: which is {words}? {takes}"] if len(names) == 1 else []),
        f"{counted(len(names), 'pair')} of variants: which is {words}? {takes}",
        f"{counted(len(names), 'pair')} of variants are undecided. {takes}",
    )


def no_speed(lacking: dict[str, list[str]]) -> list[str]:
    """Why variants have no speed: a sentence per reason; `lacking` has the labels by reason."""
    return [
        _of_variants(labels, ("has", "have"), f"no speed: {why}") for why, labels in lacking.items()
    ]


def not_run(labels: Sequence[str], states: Sequence[str]) -> str:
    """Which variants were not run, and why."""
    return _of_variants(labels, ("was", "were"), f"not run: {'; '.join(states)}")


def _of_variants(labels: Sequence[str], verbs: tuple[str, str], what: str) -> str:
    verb, count = verbs[len(labels) > 1], counted(len(labels), "variant")
    return fitting(f"{joined(labels)} {verb} {what}.", f"{count} {verb} {what}.")


def beside_baseline(row: Row, label: str) -> str:
    """The relation of a variant to the other one of a pair, or why it is not compared."""
    if row["relation"] == NOT_COMPARED:
        lacks = row["first_lacks"], row["second_lacks"]
        return str(lacks[label == row["second"]] or NOT_BOTH[row["unit"]])
    if row["relation"] != BETTER:
        return str(row["relation"])
    metric = named(row["metric"])
    if row["winner"] == label:
        return metric.words
    return "slower" if metric.name in QUICK else "worse"


def where_measured(rows: pd.DataFrame) -> str:
    """Return how many contests or pairs of runs are behind a picture."""
    counts = sorted(set(rows["n"]))
    text = f"{counts[-1]} {UNITS[rows['unit'].iloc[0]][counts[-1] > 1]}"
    if len(counts) > 1:
        text = f"{counts[0]} to {text}"
    return text


def _in_short(row: Row) -> str:
    """The verdict on one pair, without what an undecided one takes."""
    if row["relation"] == BETTER:
        return f"{row['winner']} is {_by(row)[0]} {loser(row)}"
    return f"{row['first']} and {row['second']} are {_verdict(row)}"


# Published numbers

# A verdict on one published run, and on several.
_JUDGED = {
    HOLDS: ("holds", "hold"),
    CONSISTENT: ("is consistent by a weak test", "are consistent by weak tests"),
    DIFFERS: ("differs", "differ"),
    AT_CHANCE: ("is at chance", "are at chance"),
}

# Words of each kind of reason, of `analysis.prediction.Reason`; its values fill the places.
REASONS = {
    # There is nothing to compare.
    "no_quantity": "no measured quantity corresponds to this metric",
    "no_workload": "no run of workload {}",
    "no_epoch": "not measured: the runs had {} epochs",
    "no_parity": "parity is not proven: no speed",
    "not_finite": "no finite value",
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
    "hardware": "other hardware",
    "hardware_training_time": "other hardware; measured with compilation and evaluation, a whole run also "
    "with its start",
    "hardware_training": "other hardware; measured: training alone",
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
        case (kind, *values):
            return REASONS[kind].format(*values)
    raise ValueError(f"{why}: no reason")


def reasons(finding: Finding) -> str:
    """Why a finding has its verdict, and in brackets what a reader must know of besides."""
    caveats = f" ({'; '.join(map(reason, finding.caveats))})" if finding.caveats else ""
    why = [reason(each) for each in finding.reasons]
    if finding.judgement and not why:
        why = [distance(finding.judgement)]
    return "; ".join(why) + caveats


def measured(finding: Finding) -> str:
    """The measured value with its interval and n; a dash where there is none."""
    value = finding.measured
    if value is None:
        return "-"
    form = f"{{:,.{value.digits}f}}"
    text = with_interval(form, value.value, value.low, value.high)
    unit = f" {value.unit}" if value.unit else ""
    remark = reason(value.remark) if value.remark else ""
    return f"{text}{unit} (n = {value.n}){remark}"


def noun(metric: str) -> str:
    """The name of a published metric for readers."""
    if metric == "parameters":
        return "number of parameters"
    split, _, name = metric.partition("_")
    if name in METRICS:
        metric = f"{split} {METRICS[name].words}"
    return metric.replace("_", " ").replace("train ", "training ")


def distance(one: Judgement) -> str:
    """How far a number is from the center of our runs, and what that says."""
    if one.verdict == AT_CHANCE:
        return "not above always guessing the most frequent class"
    if one.claim.bound:
        met = {
            HOLDS: "is beyond",
            DIFFERS: "falls short of",
            CONSISTENT: "may be on either side of",
        }
        return f"one more run {met[one.verdict]} the bound"
    apart = f"{abs(one.difference):.2g} {'above' if one.difference > 0 else 'below'}"
    noticed = f"{one.noticed:.2g} would have been noticed"
    if one.verdict == HOLDS:
        return f"{apart}, within the margin of {one.claim.margin:.2g}"
    if one.verdict == CONSISTENT and one.near and not one.low <= one.claim.value <= one.high:
        return f"{apart}, near {counted(len(one.near), 'outlier')} among our runs"
    if one.verdict == CONSISTENT:
        return f"{apart}, a weak test: only {noticed}"
    equal = ", equal within the margin" if one.is_equal else ""
    p = "p < 0.001" if one.p < 0.001 else f"p = {one.p:.3f}"
    return f"{apart}{equal}, {p}; {noticed}"


def of_curve(run: PublishedRun) -> str:
    """How the epochs of a published run lie together; empty where that is not known."""
    if (curve := run.curve) is None:
        return ""
    fewer = "none has fewer" if curve.as_few == 1 else f"{curve.as_few} have as few or fewer"
    return (
        f"{run.system}: {curve.inside} of {curve.inside_of} published outcomes are where one more of "
        f"the {curve.as_few_of - 1} committed runs would be: {curve.verdict}. Of these and the published "
        f"one {fewer}."
    )


def published(found: Sequence[PublishedRun]) -> str:
    """How many published runs have which verdict, how many agree with a second protocol instead, and what
    those are together that are judged as a sample."""
    runs = [run for run in found if run.count == 1]
    counts = Counter(run.verdict for run in runs)
    if not counts:
        return "No published run can be compared with these runs."
    parts = [
        f"{counts[name]} {_JUDGED[name][counts[name] > 1]}" for name in _JUDGED if counts[name]
    ]
    explained = sum(run.explanation is not None for run in runs)
    other = f"; {explained} would agree under another protocol" if explained else ""
    which = f"Of {len(runs)} comparable published runs"
    says = [f"{which}, {joined(parts)}"]
    if len(runs) == 1:
        says = [f"The only comparable published run {_JUDGED[runs[0].verdict][0]}"]
    elif not counts[HOLDS]:
        says.insert(0, f"{which}, {joined(['none holds', *parts])}")
    together = [
        f"; the mean of {run.count} {_JUDGED[run.verdict][0]}" for run in found if run.count > 1
    ]
    ends = [f"{other}{''.join(together)}", other, ""]
    return fitting(*(f"{text}{end}." for end in ends for text in says))


def verdict_on_run(run: PublishedRun) -> str:
    """The verdict on a published run, and that under its second protocol if this explains it."""
    if run.explanation is None:
        return run.verdict
    workload, verdict = run.explanation
    return f"{run.verdict}; {_JUDGED[verdict][0]} as {workload}"


def name_of_run(run: PublishedRun) -> str:
    """The name of a published run, or of several as a sample."""
    return run.system if run.count == 1 else f"{run.count} published runs as a sample"


def printed(one: Claim) -> str:
    """A published number as text."""
    return f"{'over ' if one.bound == LOWER else ''}{one.value:g}"


def differing(run: PublishedRun) -> str:
    """Which numbers of a published run do not hold, and to which side; empty if all do."""
    sides: dict[str, list[str]] = {"below": [], "above": []}
    for one in run.numbers:
        if one.verdict == DIFFERS:
            sides["above" if one.difference > 0 else "below"].append(noun(one.claim.metric))
    parts = [
        f"{joined(names)} {'is' if len(names) == 1 else 'are'} {side}"
        for side, names in sides.items()
        if names
    ]
    return f"Published {joined(parts)} what another run of this program gives." if parts else ""


def other_counts(rows: pd.DataFrame) -> Iterator[str]:
    """A sentence on each count of a published system that differs."""
    for row in rows[rows["family"].eq("") & rows["verdict"].eq(DIFFERS)].to_dict("records"):
        name = f"The published {noun(row['metric'])}"
        yield fitting(f"{name} of {row['system']} differs: {row['why']}.", f"{name} differs.")


def commonest(rows: pd.DataFrame) -> str:
    """The most frequent reason, or the first; of rows for which there are runs, if there are such rows."""
    tried = rows[rows["has_runs"].astype(bool)]
    whys = (tried if len(tried) else rows)["why"].tolist()
    return str(max(whys, key=whys.count))
