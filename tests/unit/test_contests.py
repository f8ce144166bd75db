"""Contests: when they end, steps of a window, and verdicts; what is not proven has no speed."""

import json
from argparse import Namespace
from copy import deepcopy
from itertools import chain, count, repeat
from pathlib import Path

import pandas as pd
import pytest
from make_contests import valid_contests, windows
from make_records import make_record, speed
from make_records import typed as typed_runs
from msgspec.structs import replace
from workspace import CONFIG, ROOT, config_of

import hold_contests
from paragone.analysis import contests, tidy
from paragone.analysis.contests import rounds
from paragone.analysis.pairwise import NOT_COMPARED, UNDECIDED, all_decided, verdicts
from paragone.base.typed_json import typed
from paragone.config.expand import Question, expand, timed_in_turn
from paragone.plan.plan import Plan
from paragone.records.contest_record import Contest, ContestsRecord
from paragone.records.run_record import Activity
from paragone.reporting.answers import of_contests
from paragone.timing import calm as calm_module
from paragone.timing.calm import Calm
from paragone.timing.turns import LiveVariant, Trained, Turns

ASKED = {
    "title": "t",
    "tables": [],
    "figures": [],
    "workload": "fashion-cnn",
    "repeats": 2,
    "contests": 3,
    "matrix": [
        {"backend": ["torch", "jax"], "replicas": 1, "global_batch": [64, 128]},
        {"backend": "torch", "replicas": 1, "global_batch": 256},
    ],
}
LABELS = {"torch": "PyTorch", "jax": "JAX"}


def record_of(speeds: dict[str, list[list[float]]]) -> ContestsRecord:
    """A valid record of contests with such speeds."""
    return typed(ContestsRecord, valid_contests(speeds))


def rows_of(speeds: dict[str, list[list[float]]]) -> list[dict]:
    """The verdicts on such windows."""
    return verdicts(windows(speeds), LABELS).to_dict("records")


def test_contests_are_the_unit_and_the_median_over_rounds_is_their_effect():
    """A hundred rounds of three contests decide no more than their medians."""
    speeds, spent = (110, 120, 150), {"contest_seconds": 9.0}
    few = windows({"torch": [[speed] for speed in speeds], "jax": [[100]] * 3}, **spent)
    rounds = [[speed, 500, speed] * 30 for speed in speeds]
    many = windows({"torch": rounds, "jax": [[100] * 90] * 3}, **spent)
    few, many = (verdicts(table, LABELS) for table in (few, many))
    pd.testing.assert_frame_equal(few, many)
    (row,) = few.to_dict("records")
    assert row["effect"] == pytest.approx(1.2)  # the median of the contests
    assert (row["n"], row["unit"], row["relation"]) == (3, "contest", UNDECIDED)


def test_no_effect_lies_outside_of_an_interval_exactly_where_a_pair_has_a_winner():
    """One pair has a p value of 0.04 alone, and of more than 0.05 among three pairs."""
    speeds = {"torch": [[100]] * 4, "tensorflow-mirrored": [[105], [102], [108], [103]]}
    rows = rows_of(speeds | {"jax": [[130], [128], [139], [133]]})
    assert [bool(row["winner"]) for row in rows].count(True) == 2
    for row in rows:
        assert bool(row["winner"]) is not (row["low"] <= 1 <= row["high"])


def test_a_round_that_one_variant_lacks_is_left_out():
    rows = rows_of({"torch": [[100, None, 200, 300]], "jax": [[100] * 4]})
    assert rows[0]["effect"] == pytest.approx(2)


def test_a_variant_that_has_no_speed_is_not_compared_and_the_others_are():
    table = windows({"torch": [[200]] * 3, "jax": [[None]] * 3})
    table.loc[table["backend"] == "jax", "status"] = "out_of_memory"
    (row,) = verdicts(table, LABELS).to_dict("records")
    assert row["relation"] == NOT_COMPARED
    assert row["second_lacks"] == "out of memory (all 3 contests)"


def test_the_first_answer_is_of_speeds_alone():
    """Without a contest there is one sentence that says so."""
    table = windows({"torch": [[100.0, 101.0]] * 3, "jax": [[50.0, 50.5]] * 3})
    table["contest_seconds"] = 21.0
    table.loc[0, ["busy", "other_cpu_share"]] = True, 0.4
    (answer,) = of_contests("Which?", table, LABELS, "jax").answers
    assert (answer.lead, answer.picture.sample) == ("Which?", "3 contests")
    assert answer.picture.baseline == "JAX"
    speeds = {one.label: one.speed for one in answer.picture.variants}
    assert speeds == pytest.approx({"PyTorch": 100.5, "JAX": 50.25})
    assert answer.cautions[0].startswith("BUSY MACHINE")
    assert "no speed" not in answer.cautions[0]  # `contest.load` allowed it
    table.loc[0, "examples_per_second"] = None
    (answer,) = of_contests("Which?", table, LABELS, "jax").answers
    assert answer.cautions[0].endswith("these have no speed.")
    table.loc[0, "examples_per_second"] = 100.0
    (nothing,) = of_contests("Which?", table[:0], LABELS).answers
    assert nothing.text == "No contest times two of its variants."


def test_the_effect_of_a_disturbed_contest_is_that_of_the_speeds_beside_it():
    """The first of three contests took place beside much other work: the mean ratio would be 3.65."""
    speeds = {"torch": [[5.0], [63.0], [65.0]], "jax": [[100.0]] * 3}
    table = windows(speeds, contest_seconds=21.0)
    (answer,) = of_contests("Which?", table, LABELS, "torch").answers
    slow, fast = sorted(answer.picture.variants, key=lambda one: one.speed)
    assert (slow.effect, slow.speed) == (1, 63)
    assert fast.effect == pytest.approx(fast.speed / slow.speed)
    assert fast.low < fast.effect < fast.high


def test_what_compares_nothing_is_not_decided():
    """Variants that no round has together, or of which none is quiet; one variant has nothing to decide."""
    fast = {"torch": [[200, 201]] * 3, "jax": [[100, 99]] * 3}
    assert all_decided(record_of(fast))
    assert all_decided(record_of({"torch": fast["torch"]}))
    loud = record_of(fast)
    for contest in loud.contests:
        contest.windows[:] = [replace(window, sleeping=1.0) for window in contest.windows]
    assert not all_decided(loud)
    assert not all_decided(record_of({"torch": [[140], [90], [120]], "jax": [[100]] * 3}))


def test_runs_have_the_speed_of_their_contests_or_else_of_their_epochs():
    backends = ("torch", "torch-xla")
    made = [make_record(backend, seed=seed) for backend in backends for seed in (0, 1)]
    proven = {("fashion-conv", backend): True for backend in backends}
    alone, _ = tidy.tables(typed_runs(made), "one", proven)
    table = windows({"torch": [[100, 120], [130, 130]], "torch-xla": [[None] * 2] * 2})
    for column in ("workload", "global_batch", "machine", "data_edition"):
        table[column] = alone[column].iloc[0]
    runs, _ = tidy.tables(typed_runs(made), "one", proven, rounds=table)
    assert alone["steady_examples_per_second"].tolist() == [speed(record) for record in made]
    assert {*alone["steady_source"]} == {"its epochs"}
    assert runs["steady_source"].dropna().tolist() == ["contests"] * 2
    speeds = runs.set_index("backend")["steady_examples_per_second"]
    assert speeds["torch"].tolist() == pytest.approx([120, 120])
    assert speeds["torch-xla"].isna().all()


def test_variants_of_one_work_are_timed_together():
    config = {**CONFIG, "seed": 0, "experiments": {"asked": ASKED}}

    def questions(config: dict) -> list[Question]:
        decoded = config_of(config)
        return timed_in_turn(decoded, "asked", expand(decoded, "asked"))

    asked = questions(config)
    assert [question.contests for question in asked] == [3, 3, 3]
    batches = [{spec.global_batch for spec in question.variants} for question in asked]
    assert batches == [{64}, {128}, {256}]
    assert {spec.seed for question in asked for spec in question.variants} == {0}
    others = [
        {**config, "contest": {**CONFIG["contest"], key: value}}
        for key, value in (("rounds", 7), ("window_seconds", 2), ("minutes", 60))
    ]
    names = {questions(each)[0].name for each in others}
    assert len({asked[0].name, *names}) == 4


def asked_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict, str, Path]:
    """A config that asks one experiment in a folder, the name of its first record, and the file's path."""
    monkeypatch.chdir(folder)
    config = {**deepcopy(CONFIG), "experiments": {"asked": {"published": "", **ASKED}}}
    config["primary"]["experiment"] = "asked"
    (record, *_) = Plan(deepcopy(config), ROOT).timings("asked")
    path = folder / record.replace("<results>", "results")
    path.parent.mkdir(parents=True)
    return config, record, path


def test_from_records_alone_contests_are_those_that_are_there(tmp_path, monkeypatch):
    config, record, path = asked_in(tmp_path, monkeypatch)
    path.touch()
    assert Plan(deepcopy({**config, "records_only": True}), ROOT).timings("asked") == [record]


@pytest.mark.parametrize(
    ("ended", "again"),
    [("decided", False), ("contests", False), ("minutes", True), ("busy", True), ("", False)],
)
def test_a_question_that_time_left_undecided_is_taken_up_again_by_the_next_call(
    tmp_path, monkeypatch, ended, again
):
    config, first, path = asked_in(tmp_path, monkeypatch)
    path.write_text(json.dumps({"ended": ended} if ended else {}))
    second = first.replace("record.json", "again.json")
    plan = Plan(deepcopy(config), ROOT)
    assert plan.timings("asked")[0] == (second if again else first)
    assert plan.timings("asked", again=False)[0] == first
    path.with_name("again.json").write_text("{}")  # it stays the record, also of the first answer
    assert plan.timings("asked")[0] == plan.timings("asked", again=False)[0] == second
    assert Plan({**config, "records_only": True}, ROOT).timings("asked") == [second]


def disturbed(record: ContestsRecord, *places: int) -> ContestsRecord:
    """Return the same contests; others had half of the machine in the windows at `places`."""
    for contest in record.contests:
        for place in places:
            window = contest.windows[place]
            host = replace(window.host, busy=window.host.run + window.host.idle)
            contest.windows[place] = replace(window, host=host)
    return record


def test_a_disturbed_window_has_no_speed_and_a_contest_needs_three_calm_rounds():
    """What others do decides, not how fast a window was."""
    speeds = {"torch": [[100.0, 100, 100, 500]], "jax": [[100.0] * 4]}
    proven = dict.fromkeys([("fashion-cnn", name) for name in speeds], True)
    record = disturbed(record_of(speeds), 6)
    table = rounds([record], "asked", proven)
    lost = table[table["examples_per_second"].isna()]
    assert [*zip(lost["backend"], lost["round"], strict=True)] == [("torch", 4)]
    assert lost["violations"].tolist() == ["calm"]
    assert contests.counts(record.contests[0])
    assert not contests.counts(disturbed(record, 1).contests[0])
    assert rounds([record], "asked", proven)["examples_per_second"].isna().all()


@pytest.mark.parametrize(
    ("held", "busy", "lost", "reason"),
    [
        (4, 0, 0, None),  # a fifth of their mean length ends at 500 s
        (4, 1, 900, None),
        (5, 0, 0, "minutes"),
        (3, 1, 1080, None),
        (3, 1, 1081, "busy"),
        (4, 1, 1081, "busy"),
    ],
)
def test_the_time_that_others_take_does_not_count_up_to_twice_the_minutes(held, busy, lost, reason):
    """Contests take 100 s each, without the `lost` ones of others in the `busy` ones, which do not count."""
    record = held_for([100.0] * (held - busy) + [100.0 + lost] * busy, 8)
    for place in range(held - busy, held):
        made = disturbed(replace(record, contests=[record.contests[place]]), 0).contests[0]
        record.contests[place] = replace(made, lost=lost)
    assert hold_contests.ended(record, minutes=9) == reason


class Busy:
    """The counters of a host of two cores; others have both in its first `seconds`."""

    def __init__(self, seconds: int) -> None:
        self.left = seconds

    def mark(self) -> None:
        return None

    def since(self, _mark: None) -> list[Activity]:
        self.left -= 1
        used = 2.0 if self.left >= 0 else 0.0
        return [Activity(seconds=1, run=0, busy=used, idle=2 - used, stolen=0)]


@pytest.mark.parametrize(
    ("seconds", "patience", "calm"), [(0, 9, True), (4, 9, True), (9, 3, False)]
)
def test_a_contest_waits_for_a_calm_second_as_long_as_its_patience(
    monkeypatch, capfd, seconds, patience, calm
):
    monkeypatch.setattr("time.sleep", lambda _: None)
    used = count(0, 1.5)
    monkeypatch.setattr(
        calm_module, "_cpu_seconds", lambda _: {1: ("yes", next(used)), 2: ("sleep", 9.0)}
    )
    waiting = Calm("made", 0.1, patience)
    assert waiting.wait(Busy(seconds), []) is calm
    assert waiting.lost == min(seconds, patience)
    assert waiting.busiest == ({"yes": 0.75} if seconds else {})
    assert capfd.readouterr().out.count("[made] busy: yes 75 %, waiting") == (seconds > 0)


# The coordinator: when it ends, what it does where memory lacks, how many steps fill a window


def held_for(seconds: list[float], planned: int, ratio: float = 1.0) -> ContestsRecord:
    """Contests so far, which have taken these times; their ratios vary by 30 % around this one."""
    factors = [1.0, 0.7, 1.3, *[1.0] * len(seconds)]
    torch = [[1e4 * ratio * factor] for factor, _ in zip(factors, seconds, strict=False)]
    made = valid_contests({"torch": torch, "jax": [[1e4]] * len(seconds)})
    for contest, value in zip(made["contests"], seconds, strict=True):
        contest["seconds"] = value
    return typed(ContestsRecord, made | {"planned": planned})


@pytest.mark.parametrize(
    ("seconds", "planned", "ratio", "reason"),
    [
        ([20], 1, 1, "contests"),
        ([100, 100], 8, 9, None),  # less than three decide nothing, however long they take
        ([100, 100, 100], 8, 1, "minutes"),
        ([40, 50, 60], 8, 1, None),  # a fourth of their mean length ends at 200 s
        ([40, 60, 81], 8, 1, "minutes"),  # at 241 s
        ([40, 50, 60], 8, 9, "decided"),
    ],
)
def test_contests_end_when_pairs_are_decided_all_are_held_or_the_minutes_are_over(
    seconds, planned, ratio, reason
):
    assert hold_contests.ended(held_for(seconds, planned, ratio), minutes=4) == reason


@pytest.mark.parametrize(
    ("seconds", "ratio", "reason"),
    [
        ([100, 100, 100], 1, None),
        ([100, 100, 100, 100, 100], 1, "minutes"),  # a third of their length ends at 300 s
        ([100, 100, 100, 100], 1, None),
        ([100, 100, 100], 9, "decided"),
        ([20] * 8, 1, "contests"),
    ],
)
def test_a_question_that_is_taken_up_again_has_the_minutes_once_more(seconds, ratio, reason):
    assert hold_contests.ended(held_for(seconds, 8, ratio), minutes=4, begun=3) == reason


def contest(*without_memory: int, together: bool = True) -> Contest:
    """A contest of two variants, of which these ran out of memory."""
    (made,) = held_for([20], 8).contests
    states = [
        replace(one, status="out_of_memory", reason="full") if place in without_memory else one
        for place, one in enumerate(made.contestants)
    ]
    windows = [window for window in made.windows if window.contestant not in without_memory]
    return replace(made, contestants=states, windows=windows, together=together)


@pytest.mark.parametrize(
    ("before", "attempts", "held"),
    [
        ([], [contest()], 0),
        ([], [contest(1), contest(together=False)], 1),
        ([], [contest(1), contest(0, together=False)], 1),  # another one is too large alone
        ([], [contest(1), contest(1, together=False)], 0),  # the same: the other had its turns
        ([contest(1)], [contest(0), contest(together=False)], 1),
        ([contest(together=False)], [contest(together=False)], 0),  # not tried again
    ],
)
def test_variants_that_do_not_fit_together_are_timed_one_at_a_time(
    monkeypatch, before, attempts, held
):
    asked = []

    def attempt(job, number, calm, *, together):
        asked.append((number, together))
        return attempts[len(asked) - 1]

    monkeypatch.setattr(hold_contests, "attempt", attempt)
    made = hold_contests.hold(
        Namespace(question="made", specs=[None] * 2, minutes=4, load=0.1), before
    )
    assert asked == [(len(before) + 1, one.together) for one in attempts]
    kept = {"seconds": 20, "lost": 0.0, "busiest": {}}
    assert replace(made, **kept) == replace(attempts[held], **kept)


@pytest.mark.parametrize(
    ("disturbed_turns", "patience", "taken"),
    [
        (0, 9999, 6),
        (2, 9999, 8),  # two turns are repeated
        (99, 9999, 12),  # as many as there are without repeats
        (99, 0, 6),  # no time is left to wait
    ],
)
def test_a_disturbed_turn_is_repeated(monkeypatch, disturbed_turns, patience, taken):
    """Of two variants and three rounds; the first turns are disturbed."""
    (held,) = disturbed(record_of({"torch": [[100.0]], "jax": [[100.0]]}), 0).contests
    left = chain(repeat(held.windows[0], disturbed_turns), repeat(held.windows[1]))
    monkeypatch.setattr(Turns, "_take_window", lambda *_: next(left))
    monkeypatch.setattr(Calm, "wait", lambda self, *_: self.lost < patience)
    monkeypatch.setattr(LiveVariant, "playing", False)
    variants = [LiveVariant(state, Path(), []) for state in held.contestants]
    turns = Turns(variants, [0], 1, 3, 0.5, Calm("made", 0.1, patience))
    for number in (1, 2, 3):
        for index in (0, 1):
            turns._window(number, index)
    assert len(turns.windows) == taken


@pytest.mark.parametrize(
    ("step", "delays", "fewest", "most"),
    [
        (0.006, [], 70, 90),
        (0.006, [0.3], 70, 90),  # the first epoch of a process takes longer
        (0.006, [0.01, 0.3], 40, 90),  # something disturbs the second turn
        (2.0, [0.3], 1, 1),  # a step is longer than a window
        (1e-5, [0.05] * 20, 40_000, 50_000),  # every turn begins an epoch
    ],
)
def test_a_window_has_as_many_steps_as_fill_it(monkeypatch, tmp_path, step, delays, fewest, most):
    """`step`: seconds of each; `delays`: of what else the turns take, in order."""
    (held,) = record_of({"torch": [[100.0]]}).contests
    variant = LiveVariant(held.contestants[0], tmp_path, [])
    monkeypatch.setattr(LiveVariant, "playing", True)
    left = [*delays]

    def turn(self, variant, steps):
        spent = (1 + steps) * step + (left.pop(0) if left else 0.01)
        return Trained(steps, 0.01 + step, spent, steps + 2, steps + 2)

    monkeypatch.setattr(Turns, "_turn", turn)
    Turns([variant], [0], 1, 1, 0.5, Calm("made", 0.1, 0))._calibrate(variant)
    assert fewest <= variant.state.steps <= most
