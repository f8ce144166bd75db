"""The coordinator's side of a contest, without processes: how many steps fill a window."""

import pytest
from make_contests import valid_contests

from paragone.base.typed_json import typed
from paragone.records.contest_record import ContestsRecord
from paragone.timing.messages import Trained
from paragone.timing.turns import Turns, Variant


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
    record = typed(ContestsRecord, valid_contests({"torch": [[100.0]]}))
    variant = Variant(record.contests[0].contestants[0], tmp_path, [])
    monkeypatch.setattr(Variant, "playing", True)
    left = [*delays]

    def turn(self, variant, steps):
        spent = (1 + steps) * step + (left.pop(0) if left else 0.01)
        return Trained(steps, 0.01 + step, spent, steps + 2, steps + 2)

    monkeypatch.setattr(Turns, "_turn", turn)
    Turns([variant], [0], seed=1, rounds=1, length=0.5)._calibrate(variant)
    assert fewest <= variant.state.steps <= most
