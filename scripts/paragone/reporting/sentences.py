"""Sentences of verdicts, and texts of verdicts and reasons in tables: a template each.

Verdicts are rows of the tables `differences` and `comparison`, and runs of `analysis.verdicts`. Nothing reads
a sentence back.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise as neighbors
from typing import Any

import pandas as pd

from paragone.analysis import pairwise, prediction
from paragone.analysis.grouping import CONTEST
from paragone.analysis.pairwise import BETTER, BOTH, EQUAL, NOT_COMPARED, PAIR, UNDECIDED
from paragone.analysis.statistics import FEWEST_EFFECTS, MOST_EFFECTS
from paragone.analysis.verdicts import Finding, PublishedRun, still_differing
from paragone.tasks import METRICS

Row = dict[str, Any]  # a row of a table

NOTHING_COMPARED = "No two variants could be compared."

# The best variant by a metric.
BEST = {
    "speed": "fastest",
    "end to end": "quickest from start to end",
    "time to target": "quickest to the target",
    "test accuracy": "most accurate",
    "peak memory": "smallest in memory",
    "energy": "lowest in energy",
}
QUICK = {"speed": "fast", "end to end": "quick", "time to target": "quick"}

NOT_BOTH = {PAIR: "no seed ran both", CONTEST: "no round timed both"}
UNITS = {PAIR: ("pair of runs", "pairs of runs"), CONTEST: ("contest", "contests")}

# A verdict on one published run, and on several.
JUDGED = {
    prediction.HOLDS: ("holds", "hold"),
    prediction.CONSISTENT: ("is consistent", "are consistent"),
    prediction.INCONCLUSIVE: ("is inconclusive", "are inconclusive"),
    prediction.DIFFERS: ("differs", "differ"),
    prediction.AT_CHANCE: ("is at chance", "are at chance"),
}

# Each kind of `analysis.prediction.Reason`; its values fill the places.
REASONS = {
    # There is nothing to compare.
    "no_quantity": "no measured quantity corresponds to this metric",
    "no_workload": "no run of workload {}",
    "no_batch": "no run with global batch {}, but with {}",
    "no_replicas": "no run with replica count {}",
    "none_completed": "no run was completed: {}",
    "no_epoch": "not measured: the runs had {} epochs",
    "no_parity": "parity is not proven: no speed",
    "not_finite": "no finite value",
    # The runs did something else.
    "synthetic": "SYNTHETIC DATA",
    "global_batch": "global batch {}, published {}",
    "precision": "{} arithmetic",
    "steps_per_epoch": "{} steps per epoch, published {}",
    "epoch_examples": "{:,} examples per epoch, published {:,}",
    "input_shape": "inputs of {}, published {}",
    "model": "{} {}, published {}",
    "replicas": "{} x batch {} per replica, published {} x {}",
    "edition": "edition {}",
    "flaw": "{}",
    "log_ends": "after {} of {} epochs, where the log ends",
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
    # How the number was judged.
    "few_runs": "no committed spread of this protocol: an interval takes {} runs",
    "apart": "runs of {} are kept apart; `--forcerun train` on one of them, with its number of `--cores`, "
    "trains all again",
    "other_program": "the runs here are of another program than the committed ones, and judge alone",
    "outliers": "interval without the outliers, seed {}",
    "their_spread": "the {} published runs vary {:.2g} times as much as ours",
    "target": "the runs had the published target",
    "other_target": "the runs had the target {:g}, published {}",
    "equal": "equal",
    "count": "{:,} {}",
    # Which value was measured.
    "at_epoch": " at epoch {}",
    "best_of": ", best of {} epochs",
    "extrapolated": ", extrapolated",
}


def joined(names: Sequence[object], word: str = "and") -> str:
    """Return names as a list in words."""
    *first, last = map(str, names)
    return f"{', '.join(first)} {word} {last}" if first else last


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def with_interval(form: str, value: float, low: float | None, high: float | None) -> str:
    """Return a value in a format, with its interval if both ends are finite."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return form.format(value)
    return f"{form.format(value)} [{form.format(low)}, {form.format(high)}]"


def batches(rows: pd.DataFrame) -> pd.Series:
    """Return the global batches of rows as text."""
    return rows["global_batch"].map("{:,}".format)


# Pairs of variants


def with_verdicts(differences: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `pairwise.differences` with the columns `verdict` and `why` as text."""
    rows = differences.to_dict("records")
    return differences.assign(verdict=[*map(_verdict, rows)], why=[*map(_why, rows)])


def _verdict(row: Row) -> str:
    metric = pairwise.CRITERIA[row["metric"]]
    if row["relation"] == BETTER:
        return f"{row['winner']} is {metric.comparative}"
    if row["relation"] == EQUAL:
        return f"equal within {pairwise.margin_words(metric)}"
    return str(row["relation"])


def _why(row: Row) -> str:
    match row["relation"]:
        case "not compared":
            sides = (row["first"], row["first_lacks"]), (row["second"], row["second_lacks"])
            lacks = [f"{label}: {why}" for label, why in sides if why]
            return ", ".join(lacks) or NOT_BOTH[row["unit"]]
        case "equal" if row["winner"]:
            ahead = pairwise.CRITERIA[row["metric"]].comparative
            return f"{row['winner']} is {ahead}, within the margin"
        case "undecided":
            return takes(row)
    return ""


def takes(row: Row) -> str:
    """Return what would decide an undecided pair."""
    n, needed, (unit, units) = row["n"], row["needed"], UNITS[row["unit"]]
    if n < FEWEST_EFFECTS:
        few = f"one {unit} has no variance" if n == 1 else f"two {units} are too few for a variance"
        return f"{few}, and it takes at least {needed:.0f}"
    if pd.isna(needed):
        return f"the {units} vary so much that no affordable number decides"
    if more := int(max(needed - n, 0)):
        minutes = more * row["unit_seconds"] / 60
        duration = "" if pd.isna(minutes) else f", about {max(minutes, 1):.0f} minutes"
        return f"it takes {more} more {unit if more == 1 else units}{duration}"
    if _size(row) < pairwise.CRITERIA[row["metric"]].margin:
        return f"the effect lies between none and the margin, and more {units} may decide"
    return f"more {units} may decide"


def _size(row: Row) -> float:
    """Return by how much the better one of a pair is better: a ratio from 1, or a difference from 0."""
    effect = float(row["effect"])
    if row["ratio"]:
        return max(effect, 1 / effect if effect else math.inf)
    return abs(effect)


def _effect(row: Row) -> str:
    size, metric = _size(row), pairwise.CRITERIA[row["metric"]]
    if metric.saves:
        return f"{100 * (1 - 1 / size):.0f} % below"
    if row["ratio"]:
        return f"{size:.2f} times as {QUICK.get(metric.name, 'good')} as"
    return f"{size:.3f} above"


def superlative(metric: str) -> str:
    """Return what the best variant by a metric is called."""
    return BEST.get(metric, f"best in {metric}")


def which_is_best(rows: pd.DataFrame) -> str:
    """Return which variant is best by one metric.

    rows: of the table `differences`, of the same work on one machine.
    """
    metric = pairwise.CRITERIA[rows["metric"].iloc[0]]
    compared = rows[rows["relation"] != NOT_COMPARED]
    if compared.empty:
        return NOTHING_COMPARED
    pairs = compared.to_dict("records")
    if rows["tuning"].iloc[0] == BOTH:
        return " ".join(on_pairs(compared))
    best = pairwise.contenders(compared)
    best_of_all = superlative(metric.name)
    if len(best) == 1:
        beaten = [row for row in pairs if row["relation"] == BETTER and row["winner"] == best[0]]
        nearest = min(beaten, key=_size, default=None)
        effect = f", {_effect(nearest)} {pairwise.loser(nearest)}" if nearest else ""
        return f"{best[0]} is {best_of_all}{effect}."
    among = [row for row in pairs if {row["first"], row["second"]} <= {*best}]
    if any(row["relation"] == UNDECIDED for row in among):
        return f"{joined(best, 'or')} is {best_of_all}; which one is undecided."
    equal = f"equal within {pairwise.margin_words(metric)}"
    if {*best} == {name for row in pairs for name in (row["first"], row["second"])}:
        return f"{joined(best)} are {equal}."
    return f"{joined(best)} are {best_of_all}, and {equal}."


def on_pairs(rows: pd.DataFrame) -> list[str]:
    """Return a sentence for each pair: by how much which one is better, or its verdict."""
    return [
        f"{row['winner']} is {_effect(row)} {pairwise.loser(row)}."
        if row["relation"] == BETTER
        else f"{row['first']} and {row['second']} are {_verdict(row)}."
        for row in rows.to_dict("records")
    ]


def by_length(turns: Sequence[tuple[str, float]]) -> list[str]:
    """Return which variant ends first by the length of a run. `turns`: of `pairwise.quickest`."""
    if not turns:
        return []
    last = turns[-1][0]
    if len(turns) == 1:
        return [f"{last} ends first at any length of a run."]
    first, *later = [
        (name, f"below {end:,.0f} examples") for (name, _), (_, end) in neighbors(turns)
    ]
    lengths = [" probably ends first ".join(first), *map(" ".join, later)]
    return [f"{', '.join(lengths)}, {last} in longer runs."]


def contradiction(best: Sequence[str], turns: Sequence[tuple[str, float]]) -> list[str]:
    """Return a sentence where whole runs name another winner of long runs than the speeds do."""
    if not best or not turns or turns[-1][0] in best:
        return []
    return ["Speeds and times of whole runs name different winners of long runs."]


def less_accurate(rows: pd.DataFrame) -> list[str]:
    """Return a sentence for each decided pair of accuracies."""
    return [
        f"{row['winner']} is more accurate than {pairwise.loser(row)}, by {_size(row):.3f}."
        for row in rows.to_dict("records")
        if row["relation"] == BETTER
    ]


def undecided(rows: pd.DataFrame) -> list[str]:
    """Return which variants are undecided, and what decides the pair that takes most.

    rows: undecided ones of the table `differences`, of the same work.
    """
    metrics: dict[tuple[str, str], list[str]] = {}
    for metric, part in rows.groupby("metric", sort=False):
        names = dict.fromkeys(part[["first", "second"]].to_numpy().ravel())
        pairs = part.to_dict("records")
        most = max(pairs, key=lambda row: (row["n"] > 1 and pd.isna(row["needed"]), row["needed"]))
        better = pairwise.CRITERIA[metric].comparative
        metrics.setdefault((joined([*names]), takes(most)), []).append(better)
    return [
        f"Which of {names} is {joined(better, 'or')} is undecided: {condition}."
        for (names, condition), better in metrics.items()
    ]


def without(labels: Sequence[str], verbs: tuple[str, str], what: str) -> str:
    """Return what variants have not, and why. `verbs`: of one variant, and of several."""
    return f"{joined(labels)} {verbs[len(labels) > 1]} {what}."


def beside_baseline(row: Row, label: str) -> str:
    """Return the relation of a variant to the other one of a pair, or why it is not compared."""
    if row["relation"] == NOT_COMPARED:
        lacks = row["first_lacks"], row["second_lacks"]
        return str(lacks[label == row["second"]] or NOT_BOTH[row["unit"]])
    if row["relation"] != BETTER:
        return str(row["relation"])
    metric = pairwise.CRITERIA[row["metric"]]
    if row["winner"] == label:
        return metric.comparative
    return "slower" if metric.name in QUICK else "worse"


# Published numbers


def reason(why: prediction.Reason) -> str:
    """Return a reason as text."""
    kind, *values = why
    listed = [
        ", ".join(map(str, value)) if isinstance(value, list | tuple) else value for value in values
    ]
    return REASONS[kind].format(*listed)


def reasons(finding: Finding) -> str:
    """Return why a finding has its verdict, and in brackets its caveats."""
    caveats = f" ({'; '.join(map(reason, finding.caveats))})" if finding.caveats else ""
    why = [*map(reason, finding.reasons)]
    if finding.judgement and not why:
        why = [distance(finding.judgement)]
    return "; ".join(why) + caveats


def measured(finding: Finding) -> str:
    """Return the measured value with its interval and n; a dash where there is none."""
    value = finding.measured
    if value is None:
        return "-"
    text = with_interval(f"{{:,.{value.digits}f}}", value.value, value.low, value.high)
    unit = f" {value.unit}" if value.unit else ""
    remark = reason(value.remark) if value.remark else ""
    return f"{text}{unit} (n = {value.n}){remark}"


def noun(metric: str) -> str:
    """Return the name of a published metric as text."""
    if metric == "parameters":
        return "number of parameters"
    if metric.startswith("best_"):
        return f"best {noun(metric.removeprefix('best_'))}"
    split, _, name = metric.partition("_")
    if name in METRICS:
        metric = f"{split} {METRICS[name].label}"
    return metric.replace("_", " ").replace("train ", "training ")


def distance(number: prediction.Judgement) -> str:
    """Return how far a published number is from the center of our runs, and what that says."""
    if number.verdict == prediction.AT_CHANCE:
        return "not above always guessing the most frequent class"
    if number.claim.bound:
        relation = {
            prediction.HOLDS: "is beyond",
            prediction.DIFFERS: "falls short of",
            prediction.CONSISTENT: "may be on either side of",
        }
        return f"{_another(number)} {relation[number.verdict]} the bound"
    apart = f"{abs(number.difference):.2g} {'above' if number.difference > 0 else 'below'}"
    margin = f"the margin of {number.claim.margin:.2g}"
    inside = number.low <= number.claim.value <= number.high
    if number.near and not inside:
        apart += f", as {len(number.near)} of our {len(number.outcomes)} runs"
    if number.verdict == prediction.HOLDS:
        return f"{apart}, within {margin}"
    if number.verdict == prediction.INCONCLUSIVE:
        left = f"{apart}; runs and printed digits leave {number.uncertainty:.2g} open, more than {margin}"
        if math.isinf(number.lacking):
            return f"{left}; {MOST_EFFECTS} seeds could not decide"
        return f"{left}; {counted(int(number.lacking), 'more seed')} could decide"
    noticed = f"{number.noticed:.2g} would have been noticed"
    if number.verdict == prediction.CONSISTENT:
        return f"{apart}, not shown to be within {margin}; {noticed}"
    equal = ", equal within the margin" if number.is_equal else ""
    p = "p < 0.001" if number.p < 0.001 else f"p = {number.p:.3f}"
    return f"{apart}{equal}, {p}; {noticed}"


def _another(number: prediction.Judgement) -> str:
    """Return what a published number is compared with: another run, or mean of so many."""
    runs = number.claim.runs
    return "one more run" if runs == 1 else f"the mean of {runs} more runs"


def _at_epochs(numbers: Iterable[tuple[str, int]]) -> str:
    """Return metrics and their epochs as a list in words: "training loss of epochs 1 and 3 to 5"."""
    by_metric: dict[str, list[int]] = {}
    for metric, epoch in sorted(numbers, key=lambda pair: pair[1]):
        by_metric.setdefault(metric, []).append(epoch)
    texts = []
    for metric, epochs in by_metric.items():
        firsts = [epoch for epoch in epochs if epoch - 1 not in epochs]
        lasts = [epoch for epoch in epochs if epoch + 1 not in epochs]
        spans = zip(firsts, lasts, strict=True)
        names = [f"{low}{f' to {high}' * (low < high)}" for low, high in spans]
        texts.append(f"{noun(metric)} of epoch{'s' * (len(epochs) > 1)} {joined(names)}")
    return "; ".join(texts)


def of_curve(run: PublishedRun) -> str:
    """Return how the epochs of a published run lie together; empty where that is not known."""
    if (curve := run.curve) is None:
        return ""
    inside = f"{curve.many - len(curve.outside)} of {curve.many} published outcomes"
    outside = f" Not there: {_at_epochs(curve.outside)}." if curve.outside else ""
    return (
        f"{run.system}: {inside} are where one more of the {curve.as_few_of - 1} committed runs would be: "
        f"{curve.verdict}. So few or fewer are there for {curve.as_few} of {curve.as_few_of} runs, the "
        f"published one included.{outside}"
    )


def published(runs: Sequence[PublishedRun]) -> str:
    """Return how many published runs have which verdict, how many still differ if all are adjusted for each
    other, how many would not under another protocol, and the verdict on several as a sample."""
    alone = [run for run in runs if run.count == 1]
    verdicts = Counter(run.verdict for run in alone)
    if not verdicts:
        return "No published run can be compared with these runs."
    counts = [
        f"{verdicts[name] or 'none'} {verbs[verdicts[name] > 1]}"
        for name, verbs in JUDGED.items()
        if verdicts[name] or name == prediction.HOLDS
    ]
    texts = [f"{counted(verdicts.total(), 'published run')} can be compared: {joined(counts)}."]
    if verdicts.total() > 1 and verdicts[prediction.DIFFERS]:
        still = sum(run.count == 1 for run in still_differing(runs))
        verb = JUDGED[prediction.DIFFERS][still > 1]
        texts.append(f"Adjusted for the number of runs, {still or 'none'} still {verb}.")
    if explained := sum(run.explanation is not None for run in alone):
        texts.append(f"{explained} of them would not differ under another protocol.")
    means = [run for run in runs if run.count > 1]
    texts += [f"The mean of {run.count} of them {JUDGED[run.verdict][0]}." for run in means]
    if verdicts[prediction.INCONCLUSIVE]:
        texts.append(
            "Inconclusive: our runs leave more open than the margin, so that no number could hold."
        )
    return " ".join(texts)


def inconclusive(runs: Sequence[PublishedRun]) -> str:
    """Return how many published runs are inconclusive, and what could decide them; empty if none is."""
    unsure = [run for run in runs if run.count == 1 and run.verdict == prediction.INCONCLUSIVE]
    lacking = [max(n.lacking for n in run.numbers if n.verdict == run.verdict) for run in unsure]
    able = [seeds for seeds in lacking if math.isfinite(seeds)]
    texts = [
        f"{counted(len(unsure), 'published run')} {JUDGED[prediction.INCONCLUSIVE][len(unsure) > 1]}."
    ]
    if able:
        texts.append(f"{counted(int(max(able)), 'more seed')} could decide {len(able)} of them.")
    if hopeless := len(lacking) - len(able):
        texts.append(f"{hopeless} of them would stay open even with {MOST_EFFECTS} seeds.")
    return " ".join(texts) if unsure else ""


def epochs_lacking(lacks: Sequence[prediction.Reason]) -> list[int]:
    """Return the epochs of a published run where ours, as reasons say, were shorter."""
    return [values[-1] for kind, *values in lacks if kind in ("epochs", "no_epoch")]


def not_compared(runs: Sequence[PublishedRun], seconds: float) -> str:
    """Return why published runs, which lack the same, were not compared, and what would compare them.

    `seconds`: what runs of as many epochs take, NaN where that is not known.
    """
    text = "; ".join(map(reason, runs[0].lacks))
    for epochs in epochs_lacking(runs[0].lacks):
        if not math.isnan(seconds):
            minutes = counted(max(round(seconds / 60), 1), "minute")
            text += f"; all {epochs} take about {minutes} more"
    verb = "was" if len(runs) == 1 else "were"
    return f"{counted(len(runs), 'published run')} {verb} not compared: {text}."


def differing(run: PublishedRun) -> str:
    """Return which numbers of a published run, of other epochs too, differ and how; empty if none does."""
    sides: dict[str, list[str]] = {}
    for number in sorted(run.numbers, key=lambda number: number.difference > 0):
        if number.verdict == prediction.DIFFERS:
            side = "above" if number.difference > 0 else "below"
            sides.setdefault(side, []).append(noun(number.claim.name))
    parts = [
        f"{joined(names)} {'is' if len(names) == 1 else 'are'} {side}"
        for side, names in sides.items()
    ]
    again = {_another(number).replace("one more", "another") for number in run.numbers}
    gives = f"what {joined(sorted(again))} of this program gives"
    text = f"Published {joined(parts)} {gives}." if parts else ""
    if run.varied:
        names, metric, times = run.varied
        wide = f"{times:.1f} times as much as ours in {noun(metric)}"
        text += f" The {names} vary {wide}, so that a replicate may differ."
    if run.astray:
        epochs = _at_epochs((number.claim.name, number.claim.epoch) for number in run.astray)
        far = min(run.astray, key=lambda number: number.alone)
        text += (
            f" Other published numbers lie outside of what our runs give: {epochs}. The farthest is "
            f"{far.claim.printed}, {_at_epochs([(far.claim.name, far.claim.epoch)])}, where ours is "
            f"{far.center:.4g}."
        )
    return text.lstrip()


def differing_counts(rows: pd.DataFrame) -> list[str]:
    """Return a sentence for each count of a published system that differs."""
    counts = rows[rows["family"].eq("") & rows["verdict"].eq(prediction.DIFFERS)]
    return [
        f"The published {noun(row.metric)} of {row.system} differs: {row.why}."
        for row in counts.itertuples()
    ]


def commonest(rows: pd.DataFrame) -> str:
    """Return the most frequent reason, or the first; of rows for which there are runs, if any."""
    tried = rows[rows["has_runs"].astype(bool)]
    reasons = (tried if len(tried) else rows)["why"].tolist()
    return str(max(reasons, key=reasons.count))
