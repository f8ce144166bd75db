"""The coordinator of contests: when it ends, and what it does where memory lacks."""

from argparse import Namespace

import pytest
from make_contests import valid_contests
from msgspec.structs import replace

import hold_contests
from paragone.base.errors import UserError
from paragone.base.typed_json import typed
from paragone.records.contest_record import Contest, ContestsRecord

OPTIONS = Namespace(question="made")


def record_of(seconds: list[float], planned: int, ratio: float = 1.0) -> ContestsRecord:
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
        ([40, 60, 81], 3, 1, "contests"),
        ([40, 50, 60], 8, 9, "decided"),
        ([40, 60, 81], 3, 9, "decided"),
    ],
)
def test_contests_end_when_pairs_are_decided_all_are_held_or_the_minutes_are_over(
    seconds, planned, ratio, reason
):
    assert hold_contests.ended(record_of(seconds, planned, ratio), minutes=4) == reason


def contest(*without_memory: int, together: bool = True) -> Contest:
    """A contest of two variants, of which these ran out of memory."""
    (made,) = record_of([20], 8).contests
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
        ([contest(1)], [contest(1)], 0),  # which is known from then on
        ([contest(1)], [contest(0), contest(together=False)], 1),
        ([contest(together=False)], [contest(together=False)], 0),  # not tried again
    ],
)
def test_variants_that_do_not_fit_together_are_timed_one_at_a_time(
    monkeypatch, before, attempts, held
):
    asked = []

    def attempt(options, specs, number, *, together):
        asked.append((number, together))
        return attempts[len(asked) - 1]

    monkeypatch.setattr(hold_contests, "attempt", attempt)
    made = hold_contests.hold(OPTIONS, [], before)
    assert asked == [(len(before) + 1, one.together) for one in attempts]
    assert replace(made, seconds=20) == replace(attempts[held], seconds=20)


def test_a_variant_runs_with_the_python_of_its_environment(tmp_path):
    spec = contest().contestants[0].spec
    other = tmp_path / "jax.txt"
    own = tmp_path / "torch.txt"
    other.write_text("/somewhere/else\n")
    own.write_text(f"{tmp_path}\n")
    options = Namespace(pythons=[other, own])
    assert hold_contests.python_of(options, spec) == str(tmp_path)
    own.write_text("/nowhere/python\n")
    with pytest.raises(UserError, match=r"torch\.txt: there is no /nowhere/python here"):
        hold_contests.python_of(options, spec)
