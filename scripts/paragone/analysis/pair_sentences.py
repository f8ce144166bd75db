"""Sentences on pairs of series that were compared: who is best, by how much, who is equal, what is open."""

import math
from collections.abc import Sequence

import pandas as pd

from paragone.analysis.metrics import Metric, margin_words, named
from paragone.analysis.pairwise import NOT_COMPARED, TUNING, UNDECIDED, best

PARTLY = "partly decided"
Row = dict  # of the table `differences`


def sentence(rows: pd.DataFrame) -> str:
    """What the pairs of one metric and the same work say. `rows`: of the table `differences`."""
    compared = rows[rows["verdict"] != NOT_COMPARED]
    gone = rows[rows["verdict"] == NOT_COMPARED]
    if compared.empty:
        return f"not compared ({_lacking(gone)})."
    metric, pairs = _metric(rows), compared.to_dict("records")
    decided = [row for row in pairs if is_won(row, metric)]
    if rows["division"].iloc[0] == TUNING:
        parts = [_wins([row], metric) for row in decided]
        parts += _equal([row for row in pairs if _is_equal(row)], metric)
        parts += _open([row for row in pairs if row["verdict"] == UNDECIDED])
    else:
        parts = _ranked(compared, decided, metric)
    parts += [f"not compared ({_lacking(gone)})"] if len(gone) else []
    return f"{'; '.join(parts)} ({_count(sorted(set(compared['n'])))})."


def of_single_pairs(groups: Sequence[pd.DataFrame]) -> str:
    """The same of groups that have one pair each: nothing can be decided, whatever the metric."""
    pairs = pd.concat(groups)
    names = list(dict.fromkeys(pairs[["first", "second"]].to_numpy().ravel()))
    return (
        f"one pair of runs each of {joined(names)}, and one pair has no variance: "
        f"at least {pairs['needed'].max():.0f} pairs are needed."
    )


def are_single(rows: pd.DataFrame) -> bool:
    """Whether all have one pair of runs, which decides nothing."""
    return bool((rows["n"] == 1).all() and (rows["verdict"] == UNDECIDED).all())


def is_decided(rows: pd.DataFrame) -> bool:
    """Whether any pair is: one is better, or they are equal."""
    return not rows["verdict"].isin([UNDECIDED, NOT_COMPARED]).all()


def verdict(rows: pd.DataFrame) -> str:
    """All of them in one: how the best is better, equal, undecided, not compared; partly decided where some
    are worse, and who of the others is best is open."""
    compared = rows[rows["verdict"] != NOT_COMPARED]
    metric, found = _metric(rows), set(compared["verdict"])
    if any(one.endswith(metric.words) for one in found):
        among = compared[compared[["first", "second"]].isin(_contenders(compared)).all(axis=1)]
        is_open = (among["verdict"] == UNDECIDED).any()
        return PARTLY if is_open and rows["division"].iloc[0] != TUNING else metric.words
    if found <= {UNDECIDED}:
        return UNDECIDED if found else NOT_COMPARED
    return PARTLY if UNDECIDED in found else "equal"


def joined(names: Sequence[str], word: str = "and") -> str:
    """Names as a list in words."""
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _metric(rows: pd.DataFrame) -> Metric:
    return named(rows["metric"].iloc[0])


def _is_equal(row: Row) -> bool:
    return str(row["verdict"]).startswith("equal")


def is_won(row: Row, metric: Metric) -> bool:
    """Whether one of the pair was shown to be better."""
    return str(row["verdict"]).endswith(metric.words)


def _contenders(compared: pd.DataFrame) -> list[str]:
    """Who may be the best: not shown worse, or equal to one of these and worse than none."""
    pairs, ahead = compared.to_dict("records"), best(compared)
    lost = {winner_and_other(row)[1] for row in pairs if is_won(row, _metric(compared))}
    near = {
        name for row in pairs if _is_equal(row) and {*_pair(row)} & {*ahead} for name in _pair(row)
    }
    names = dict.fromkeys(name for row in pairs for name in _pair(row))
    return [name for name in names if name in ahead or name in near - lost]


def _ranked(compared: pd.DataFrame, decided: list[Row], metric: Metric) -> list[str]:
    """Who may be the best, how these compare, and how much better they are than the others."""
    able = _contenders(compared)
    among = [row for row in compared.to_dict("records") if {*_pair(row)} <= {*able}]
    undecided = [row for row in among if row["verdict"] == UNDECIDED]
    parts = _equal([row for row in among if _is_equal(row)], metric) + _open(undecided)
    wins = {name: [row for row in decided if winner_and_other(row)[0] == name] for name in able}
    beyond = {
        name: [row for row in rows if winner_and_other(row)[1] not in able]
        for name, rows in wins.items()
    }
    if not any(beyond.values()):
        return parts or [_wins([row], metric) for row in decided]
    if len(able) == 1:
        return [f"{able[0]} is best: {_by_how_much(beyond[able[0]], metric)}"]
    headline = f"the best is {joined(able, 'or')}"
    whys = {row["why"] for row in undecided}
    if among == undecided and len(whys) == 1:
        headline, parts = f"{headline}, undecided: {whys.pop()}", []
    return [headline, *parts, *(_wins(rows, metric) for rows in beyond.values() if rows)]


def _pair(row: Row) -> tuple[str, str]:
    return row["first"], row["second"]


def winner_and_other(row: Row) -> tuple[str, str]:
    """The winner of a decided pair, and the other one."""
    first, second = _pair(row)
    return (second, first) if row["verdict"].startswith(f"{second} is") else (first, second)


def _wins(rows: list[Row], metric: Metric) -> str:
    """By how much the winner of these pairs, which is the same in all, is better than the others."""
    return f"{winner_and_other(rows[0])[0]} {'needs' if metric.saves else 'is'} {_by_how_much(rows, metric)}"


def _by_how_much(rows: list[Row], metric: Metric) -> str:
    words = f" less {metric.saves}" if metric.saves else f" {metric.words}"
    sizes = [
        f"{_lead(row, metric)}{'' if place else words} than {winner_and_other(row)[1]}"
        for place, row in enumerate(rows)
    ]
    return ", ".join(sizes)


def _lead(row: Row, metric: Metric) -> str:
    """How much better the winner is, with its interval: a multiple, a share that it saves, a difference."""
    values = _turned(row, winner_and_other(row)[0] != row["first"])
    if metric.saves:
        return _with_interval([100 * (1 - 1 / one) for one in values], "{:.0f}", " %")
    return _with_interval(values, *(("{:.2f}", " x") if row["ratio"] else ("{:.3f}", "")))


def _turned(row: Row, turned: bool) -> list[float]:
    """The effect and its interval; of the second over the first where `turned`."""
    values = [float(row[name]) for name in ("effect", "low", "high")]
    if turned:
        inverse = [(1 / one if one else math.inf) if row["ratio"] else -one for one in values]
        values = [inverse[0], inverse[2], inverse[1]]
    return values


def _with_interval(values: list[float], form: str, unit: str) -> str:
    """The first of them, and the others if they are ends: five pairs may show equality, and have none."""
    middle, low, high = map(form.format, values)
    text = f"{middle}{unit}"
    return f"{text} [{low}, {high}]" if all(map(math.isfinite, values)) else text


def _equal(rows: list[Row], metric: Metric) -> list[str]:
    """Those that are equal: all in one sentence where each is equal to each."""
    within = f"equal within {margin_words(metric)}"
    if len(rows) > 1 and _is_each_with_each(rows):
        names = list(dict.fromkeys(name for row in rows for name in _pair(row)))
        effect = max(_apart(row)[0] for row in rows)
        largest = f"{100 * (effect - 1):.1f} %" if metric.by_ratio else f"{effect:.4f}"
        return [f"{joined(names)} are {within}: their means are at most {largest} apart"]
    form = ("{:.2f}", " x") if metric.by_ratio else ("{:z.4f}", "")
    return [
        f"{joined(_pair(row))} are {within}: {_with_interval(_apart(row), *form)} apart"
        for row in rows
    ]


def _apart(row: Row) -> list[float]:
    """The effect, of the better one over the other, and its interval."""
    return _turned(row, float(row["effect"]) < (1 if row["ratio"] else 0))


def _open(rows: list[Row]) -> list[str]:
    """Those that are undecided, by the reason."""
    parts = []
    for why in dict.fromkeys(row["why"] for row in rows):
        same = [row for row in rows if row["why"] == why]
        names = list(dict.fromkeys(name for row in same for name in _pair(row)))
        each = _is_each_with_each(same)
        between = joined(names) if each else ", ".join(joined(_pair(row)) for row in same)
        parts.append(f"undecided between {between}: {why}")
    return parts


def _is_each_with_each(rows: list[Row]) -> bool:
    names = {name for row in rows for name in _pair(row)}
    return 2 * len(rows) == len(names) * (len(names) - 1)


def _count(counts: list[int]) -> str:
    return f"n = {' or '.join(map(str, counts))} {'pair' if counts == [1] else 'pairs'}"


def _lacking(rows: pd.DataFrame) -> str:
    """Why no pair was compared: each reason once, with all that it holds for."""
    reasons: dict[str, dict[str, None]] = {}
    for row in rows.to_dict("records"):
        first, comma, second = row["why"].partition(f", {row['second']}: ")
        for words in [first, f"{row['second']}: {second}"] if comma else [row["why"]]:
            label, _, reason = words.partition(": ")
            reasons.setdefault(reason or label, {})[label if reason else ""] = None
    return "; ".join(
        f"{', '.join(labels)}: {reason}" if all(labels) else reason
        for reason, labels in reasons.items()
    )
