"""A record of a wrong shape, and one that cannot be right, is refused, whatever part of it is wrong."""

import copy
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from unit.make_records import make_record
from workspace import make_spec

from paragone.base.clock_names import PARTS
from paragone.base.engine_reports import Devices, FlopCount
from paragone.base.errors import UserError
from paragone.records import assemble, record, run_metrics
from paragone.records.outcome import Outcome
from paragone.records.run_record import DataRead, FirstSteps, RunRecord, Schedule, Timed, from_json

COUNTER = "torch.utils.flop_counter"
EXAMPLE = Path(__file__).with_name("record.example.json")


def at(data: dict, path: str):
    """The container and the last key of a dotted path."""
    *parents, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    for key in parents:
        data = data[key]
    return data, last


VALID = [
    make_record("torch"),
    make_record("torch-xla", resumed_at=2, replicas=8, global_batch=1024, target=0.5),
    make_record("torch", target=0.99),
    make_record("torch", epochs=1),
    make_record("torch", status="diverged"),
    make_record("torch", status="out_of_memory"),
    make_record("torch-ddp", status="unavailable"),
    make_record("torch-ddp", replicas=2, resumed_at=2),
    make_record("tensorflow-mirrored", status="crashed"),
]


@pytest.mark.parametrize("valid", VALID, ids=lambda made: made["run"] + made["status"])
def test_valid_records_pass(valid):
    record.check(valid)


def numbers(data, prefix=""):
    """Dotted paths of all leaves."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        if isinstance(value, dict | list) and value:
            yield from numbers(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


BASE = json.loads(json.dumps(make_record("torch", epochs=3, target=0.5)))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("window.0.steps", 0, "window"),
        ("window.0.seconds", 0.0, "window"),
        ("processes.0.machine.fingerprint", "abc", "fingerprint"),
        ("processes.0.load.life.heat_throttles", -1, "life"),
        ("processes.0.epochs.0.run", -1, "run"),
        ("processes.0.started", "2026-13-01T00:00:00+00:00", "started"),
        ("processes.0.age", "1", "age"),
        ("processes.0.git.dirty", "yes", "dirty"),
        ("processes.0.memory.peak_host_bytes", 0, "peak_host_bytes"),
        ("processes.0.window.0.cpu_joules", -1.0, "cpu_joules"),
        ("efficiency.counter", "", "counter"),
        ("epochs.1.epoch", 3, "epochs"),
        ("epochs.0.epoch", 0, "epochs"),
        ("epochs.0.train_accuracy", 1.5, "train_accuracy"),
        ("epochs.0.test_accuracy", -0.1, "test_accuracy"),
        ("epochs.0.train_seconds", -1.0, "train_seconds"),
        ("epochs.0.train_loss", "nan", "train_loss"),
        ("devices.replicas", 2, "devices"),
        ("devices.kind", "gpu", "devices"),
        ("devices.workers", 2, "devices"),
        ("devices", None, "devices"),
        ("devices.kind", "abacus", "kind"),
        ("status", "fine", "status"),
        ("schema", 2, "schema"),
        ("run", "../up", "run"),
        ("schedule.place", 0, "schedule"),
        ("data.source", "auto", "source"),
        ("data.manifest_sha256", "abc", "manifest_sha256"),
        ("data.train_examples", 0, "train_examples"),
        ("model.parameters", 1.5, "parameters"),
        ("model.final_weights", 3, "final_weights"),
        ("processes", [], "processes"),
        ("processes.0.threads", 0, "threads"),
        ("processes.0.first_epoch", 0, "first_epoch"),
        ("clocks.cold.imports", "2", "imports"),
        ("clocks.window", -1.0, "window"),
    ],
)
def test_wrong_value(path, value, words):
    broken = copy.deepcopy(BASE)
    parent, key = at(broken, path)
    parent[key] = value
    with pytest.raises(ValueError, match=words):
        record.check(broken)


CONTAINERS = [
    "",
    "schedule.",
    "data.",
    "model.",
    "devices.",
    "processes.0.",
    "processes.0.machine.",
    "processes.0.load.",
    "processes.0.git.",
    "processes.0.memory.",
    "processes.0.epochs.0.",
    "processes.0.window.0.",
    "efficiency.",
    "clocks.",
    "clocks.cold.",
    "window.0.",
    "epochs.0.",
]


@pytest.mark.parametrize("prefix", CONTAINERS)
def test_unknown_key_at_each_level(prefix):
    broken = copy.deepcopy(BASE)
    parent, key = at(broken, f"{prefix}colour")
    parent[key] = 1
    with pytest.raises(ValueError, match="colour"):
        record.check(broken)


@pytest.mark.parametrize("prefix", CONTAINERS)
def test_no_key_may_be_missing(prefix):
    parent, _ = at(BASE, f"{prefix}x")
    for name in parent:
        broken = copy.deepcopy(BASE)
        del at(broken, f"{prefix}{name}")[0][name]
        with pytest.raises(ValueError, match=name):
            record.check(broken)


@pytest.mark.parametrize("path", ["processes.0.git", "processes.0.load.life"])
def test_what_is_not_known_is_null(path):
    unknown = copy.deepcopy(BASE)
    parent, key = at(unknown, path)
    parent[key] = None
    record.check(unknown)


@pytest.mark.parametrize("index", [0, 1])
def test_missing_epoch(index):
    broken = copy.deepcopy(BASE)
    broken["epochs"].pop(index)
    with pytest.raises(ValueError, match="epochs: not every epoch"):
        record.check(broken)


def test_run_that_failed_may_have_other_devices():
    other = make_record("torch", status="diverged")
    other["devices"] = {"kind": "cpu", "replicas": 2, "workers": 1}
    record.check(other)


# Writing and reading


def assembled(small_rows: list[dict], **outcome) -> RunRecord:
    """A record as `train.py` assembles it, of the epochs and the process of a made one."""
    seconds = dict.fromkeys(PARTS, 0.5)
    for part in ("train", "evaluate") if small_rows else ():
        seconds[part] = math.fsum(row[f"{part}_seconds"] for row in small_rows)
    spec = make_spec("fashion-conv", "torch", global_batch=1000)
    processes = [{**one, "config_sha256": spec.sha256} for one in BASE["processes"]]
    return assemble.assemble(
        spec,
        Schedule(2, 3),
        from_json(DataRead, BASE["data"]),
        Outcome(processes, epochs=small_rows, model=BASE["model"], **outcome),
        Devices("cpu", 1, 1),
        seconds,
    )


def test_assembled_record_is_valid(tmp_path):
    window = [Timed(2, 0.2), Timed(16, 0.3)]
    made = assembled(copy.deepcopy(BASE["epochs"]), window=window, flop=FlopCount(10, COUNTER))
    record.write(made, tmp_path / "new/record.json")
    assert record.read(tmp_path / "new/record.json") == made.sealed()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["record.json"]
    assert made.window == window
    assert run_metrics.flop_per_second(made) == pytest.approx(10 * 1000 * 14 / 0.1)
    spent = {"imports": 0.5, "train": math.fsum(row["train_seconds"] for row in BASE["epochs"])}
    assert {part: run_metrics.parts(made)[part] for part in spent} == pytest.approx(spent)


def test_the_time_of_an_epoch_that_was_not_finished_is_not_lost():
    """A full memory ends a run in the middle of one: half a second of training, as much of evaluation."""
    made = assembled([], status="out_of_memory", reason="full")
    assert (made.clocks.window, made.clocks.other) == (0.5, 1.5)
    assert math.fsum(run_metrics.parts(made).values()) == 0.5 * len(PARTS)


def test_losses_that_are_not_finite_become_null(tmp_path):
    rows = copy.deepcopy(BASE["epochs"][:1])
    rows[0] |= {"train_loss": math.nan, "test_loss": math.inf}
    made = assembled(rows, status="diverged", reason="the loss is not finite")
    record.write(made, tmp_path / "record.json")
    (epoch,) = record.read(tmp_path / "record.json").epochs
    assert epoch.train_loss is epoch.test_loss is None


def test_a_record_is_written_as_it_was_read(tmp_path):
    """Byte by byte: the file is one that the workflow wrote."""
    record.write(record.read(EXAMPLE), tmp_path / "record.json")
    assert (tmp_path / "record.json").read_bytes() == EXAMPLE.read_bytes()


@pytest.mark.parametrize("valid", VALID, ids=lambda made: made["run"] + made["status"])
def test_types_keep_every_value(valid):
    assert RunRecord.from_json(valid).to_json() == valid


def test_first_steps_that_nothing_bounds_are_refused():
    found = FirstSteps(None, {"weights": 1e-9}, {"weights": 1e-6})
    assert found.passed
    with pytest.raises(ValueError, match="nothing is allowed for 'weights'"):
        replace(found, allowed={"inputs": 1e-6})


def test_a_specification_of_nothing_is_refused():
    with pytest.raises(ValueError, match="colour"):
        record.check({**BASE, "spec": {**BASE["spec"], "colour": "red"}})


def test_broken_record_is_never_written(tmp_path):
    broken = RunRecord.from_json(BASE)
    broken.clocks = replace(broken.clocks, window=-1.0)
    with pytest.raises(ValueError, match="clocks"):
        record.write(broken, tmp_path / "record.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [None, "", "{", "[]", json.dumps({**BASE, "run": 1})])
def test_unreadable_record_is_one_error_that_names_it(tmp_path, content):
    path = tmp_path / "record.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UserError, match="not a valid record") as caught:
        record.read(path)
    assert str(path) in str(caught.value)
