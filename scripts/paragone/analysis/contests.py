"""From the records of contests to the effects by which speeds differ, with contests as the unit.

Rounds within a contest share processes, memory layout and a stretch of the machine's time; contests do not.
So the effect of a contest is one value, the median over its rounds of the log ratio of two speeds, and
intervals and tests count contests (Kalibera and Jones, "Rigorous benchmarking in reasonable time", 2013).
"""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from paragone.analysis import columns, compliance
from paragone.analysis.compliance import Violation, is_disturbed
from paragone.analysis.grouping import SETTING
from paragone.config.questions import CELL
from paragone.records.contest_record import Contest, ContestsRecord
from paragone.records.measurements import Parity
from paragone.records.run_metrics import other_cpu_share

# Columns that a window shares with the runs, so that both are grouped and labelled alike.
_SHARED = (
    "run experiment dataset device workers seed status reason parity violations data_source data_edition "
    "machine machine_name machines other_cpu_share busy started"
)
CALM_ROUNDS = 3  # that a contest needs to count, if it has as many
# What the speed of a run is taken from, the column `steady_source`.
OF_CONTESTS, OF_EPOCHS = "contests", "its epochs"
COLUMNS = {
    **{name: columns.RUN_COLUMNS[name] for name in [*CELL, *_SHARED.split()]},
    **columns.typed(
        (columns.TEXT, "busiest"),
        ("Int64", "contest round place steps"),
        ("float64", "contest_seconds seconds examples_per_second"),
        (columns.FLAG, "together"),
    ),
}


def rounds(
    records: Iterable[ContestsRecord],
    experiment: str,
    parity: Parity,
    violations: Sequence[Violation] = (),
) -> pd.DataFrame:
    """Return one row per window; a variant without one, because it failed, has one row.

    `parity`: by workload and backend. A variant that has not passed the gate, or failed its first steps, has
    no speed; nor has one, or a window, that breaks a measurement rule which is more than a remark.
    `violations`: those that `compliance.find` found in all records of the experiment.
    """
    rows = [row for record in records for row in _rows(record, experiment, parity, violations)]
    frame = pd.DataFrame(rows).reindex(columns=[*COLUMNS]).astype(COLUMNS)
    return frame.sort_values(["run", "contest", "round", "place"], ignore_index=True, kind="stable")


def _rows(
    record: ContestsRecord, experiment: str, parity: Parity, violations: Sequence[Violation]
) -> Iterator[dict[str, Any]]:
    of_record = (row for row in violations if row.run == record.question)
    broken = [*compliance.of_contests(record), *of_record]
    for number, contest in enumerate(record.contests):
        enough, busiest, places = counts(contest), _busiest(contest), [*enumerate(contest.windows)]
        for index, contestant in enumerate(contest.contestants):
            spec = contestant.spec
            proven = columns.is_proven(contestant, parity)
            shared = {
                "contest": number + 1,
                "experiment": experiment,
                "contest_seconds": contest.seconds,
                "started": contest.started,
                "run": record.question,
                **columns.columns_of_spec(spec),
                "dataset": record.data.dataset,
                "status": contestant.status,
                "reason": contestant.reason,
                "parity": columns.PARITY[proven],
                "data_source": record.data.source,
                "data_edition": record.data.edition,
                "machines": 1,
                "together": contest.together,
                "busiest": busiest,
            }
            if contestant.processes:
                label = columns.machine_label(contestant.processes[0])
                shared |= {"machine": label, "machine_name": label}
            windows = [(place, window) for place, window in places if window.contestant == index]
            where = f"contests[{number}].contestants[{index}]"
            if not windows:
                yield shared | {"violations": " ".join(compliance.at_places(broken, where))}
                continue
            # The start of an epoch is the same in each window: its median is less noisy than each.
            first = median(window.first for _, window in windows)
            for place, window in windows:
                rules = compliance.at_places(broken, where, f"contests[{number}].windows[{place}]")
                row = shared | {
                    "round": window.round,
                    "place": place,
                    "steps": window.steps,
                    "seconds": window.seconds,
                    **columns.of_others([other_cpu_share([window.host])]),
                    "violations": " ".join(rules),
                }
                sound = (compliance.table().loc[rules, "severity"] == compliance.REMARK).all()
                if proven is True and sound and enough and window.seconds > first:
                    examples = window.steps * spec.global_batch
                    row["examples_per_second"] = examples / (window.seconds - first)
                yield row


def _busiest(contest: Contest) -> str:
    """Return what else was seen on the machine, with the largest share of each program."""
    shares = sorted((contest.busiest or {}).items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares[:2])


def counts(contest: Contest) -> bool:
    """Return whether enough rounds of a contest were calm for all variants that were timed to the end."""
    timed = {window.contestant for window in contest.windows}
    whole = {place for place in timed if contest.contestants[place].status == "completed"} or timed
    calm = {(at.round, at.contestant) for at in contest.windows if not is_disturbed(contest, at)}
    rounds = {window.round for window in contest.windows}
    quiet = [number for number in rounds if all((number, place) in calm for place in whole)]
    return len(quiet) >= min(CALM_ROUNDS, len(rounds))


def effects(first: pd.DataFrame, second: pd.DataFrame) -> pd.Series:
    """Return by contest the median over its rounds of log(first / second speed).

    `first`, `second`: the windows of two variants. A round that only one of them has is left out.
    """
    keys = ["run", "contest", "round"]
    speeds = [windows.set_index(keys)["examples_per_second"] for windows in (first, second)]
    return np.log(speeds[0] / speeds[1]).dropna().groupby(level="contest").median()


def with_speeds(runs: pd.DataFrame, rounds: pd.DataFrame) -> pd.DataFrame:
    """Return the runs; those of a cell that contests timed have its median speed over its contests.

    Runs of such a cell have no other speed, also where the contests have none.
    """
    keys, speed = [*CELL, *SETTING], "steady_examples_per_second"
    windows = rounds.dropna(subset="examples_per_second")
    by_contest = windows.groupby([*keys, "contest"])["examples_per_second"].median()
    medians = by_contest.groupby(keys).median().rename("median").reset_index()
    timed = runs[keys].merge(medians, how="left", on=keys)["median"].set_axis(runs.index)
    cells = pd.MultiIndex.from_frame(rounds[CELL])
    in_contests = pd.MultiIndex.from_frame(runs[CELL]).isin(cells)
    return runs.assign(
        steady_examples_per_second=timed.where(in_contests, runs[speed]),
        steady_source=runs["steady_source"].mask(in_contests, OF_CONTESTS),
    )
