"""A record of a wrong shape, and one that cannot be right, is refused, whatever part of it is wrong."""

import copy
import json

import pytest
from msgspec import to_builtins
from msgspec.structs import replace
from unit.make_records import make_record

from paragone.base.clock_names import PARTS
from paragone.base.errors import UserError
from paragone.base.typed_json import digest_of_others, sealed, typed
from paragone.records import record
from paragone.records.run_record import FirstSteps, RunRecord
from paragone.training import results


def at(data: dict, path: str):
    """The container and the last key of a dotted path."""
    *parents, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    for key in parents:
        data = data[key]
    return data, last


VALID = {
    "of one start": make_record("torch"),
    "resumed": make_record("torch-xla", resumed_at=2, replicas=8, global_batch=1024, target=0.5),
    "of two workers": make_record("torch-ddp", replicas=2, resumed_at=2),
    "of one epoch": make_record("torch", epochs=1),
    "failed": make_record("torch", status="crashed"),
}


BASE = json.loads(json.dumps(make_record("torch", epochs=3, target=0.5)))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("processes.0.started", "2026-13-01T00:00:00+00:00", "started"),
        ("epochs.1.epoch", 3, "epochs"),
        ("epochs.0.train_accuracy", 1.5, "train_accuracy"),
        ("epochs.0.test_accuracy", -0.1, "test_accuracy"),
        ("devices.replicas", 2, "devices"),
        ("devices.kind", "gpu", "devices"),
        ("devices.workers", 2, "devices"),
        ("devices", None, "devices"),
        ("run", "../up", "run"),
        ("processes", [], "processes"),
    ],
)
def test_wrong_value(path, value, words):
    broken = copy.deepcopy(BASE)
    parent, key = at(broken, path)
    parent[key] = value
    with pytest.raises(ValueError, match=words):
        record.check(broken)


@pytest.mark.parametrize("prefix", ["", "processes.0.", "processes.0.load.", "epochs.0."])
def test_unknown_and_missing_keys_are_named(prefix):
    unknown, missing = copy.deepcopy(BASE), copy.deepcopy(BASE)
    parent, key = at(unknown, f"{prefix}colour")
    parent[key] = 1
    parent, _ = at(missing, f"{prefix}x")
    key = {"": "run", "processes.0.": "machine", "processes.0.load.": "before"}.get(prefix, "steps")
    del parent[key]
    for broken, word in ((unknown, "colour"), (missing, key)):
        with pytest.raises(ValueError, match=word):
            record.check(broken)


def test_what_is_not_known_is_null_and_a_run_that_failed_may_have_other_devices():
    unknown = copy.deepcopy(BASE)
    for path in ("processes.0.git", "processes.0.load.life"):
        parent, key = at(unknown, path)
        parent[key] = None
    record.check(unknown)
    other = make_record("torch", status="diverged")
    other["devices"] = {"kind": "cpu", "replicas": 2, "workers": 1}
    record.check(other)


# Writing and reading


def test_the_time_of_an_epoch_that_was_not_finished_is_not_lost():
    """A full memory ends a run in the middle of one: half a second of training, as much of evaluation."""
    made = results.clocks(dict.fromkeys(PARTS, 0.5), [])
    assert (made.window, made.other) == (0.5, 1.5)


@pytest.mark.parametrize("kind", VALID)
def test_a_record_is_read_as_it_was_written(tmp_path, kind):
    made = typed(RunRecord, VALID[kind])
    record.write(made, tmp_path / "new/record.json")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["record.json"]
    read = record.read(tmp_path / "new/record.json")
    assert read == sealed(made)
    assert read.digest == digest_of_others(read)
    assert to_builtins(read) == VALID[kind]
    before = (tmp_path / "new/record.json").read_bytes()
    record.write(read, tmp_path / "new/record.json")
    assert (tmp_path / "new/record.json").read_bytes() == before


def test_first_steps_that_nothing_bounds_are_refused():
    compared = FirstSteps(None, {"weights": 1e-9}, {"weights": 1e-6})
    assert compared.passed
    with pytest.raises(ValueError, match="nothing is allowed for 'weights'"):
        replace(compared, allowed={"inputs": 1e-6})


def test_a_broken_record_is_never_written(tmp_path):
    broken = typed(RunRecord, BASE)
    broken.clocks = replace(broken.clocks, window=-1.0)
    with pytest.raises(ValueError, match="clocks"):
        record.write(broken, tmp_path / "record.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [None, "", "{", "[]", json.dumps({**BASE, "run": 1})])
def test_an_unreadable_record_is_one_error_that_names_it(tmp_path, content):
    path = tmp_path / "record.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UserError, match=f"^{path}: not a valid record"):
        record.read(path)
