"""Profiles of training steps, by each framework's own profiler, and what cannot be profiled."""

import copy
from dataclasses import replace

import pytest
from make_profiles import make_profile
from workspace import INDUCTOR, call, command, make_spec, refused

from paragone.base.errors import Unavailable
from paragone.base.ranks import ALONE
from paragone.config.profilers import profiler_of
from paragone.engines.profiles import Line, Operation, Profile, of_device, operations_of
from paragone.records import measurements
from paragone.records.profiles import check_profile
from paragone.training import profiling
from paragone.workers.rendezvous import Rendezvous

FULL = pytest.mark.full
NIGHTLY = pytest.mark.nightly  # by the profiler of another engine, on more devices or workers
OF_TENSORFLOW = "Conv2D|MaxPool|MatMul"
OF_XLA = "fusion|convolution|dot"
# Backend, replicas, and names of which one is among the costliest operations.
CASES = [
    pytest.param("torch", 1, "aten::", marks=FULL),
    pytest.param("tensorflow-mirrored", 1, OF_TENSORFLOW, marks=FULL),
    pytest.param("jax", 1, OF_XLA, marks=FULL),
    pytest.param("torch-xla", 1, OF_XLA, marks=FULL),
    pytest.param("torch-compile", 1, "aten::|mkldnn|graph", marks=NIGHTLY),
    pytest.param("torch-ddp", 2, "aten::", marks=FULL),
    pytest.param("torch-fsdp", 2, "aten::", marks=NIGHTLY),
    pytest.param("keras-fit", 1, OF_TENSORFLOW, marks=NIGHTLY),
    pytest.param("tensorflow-multiworker", 2, OF_TENSORFLOW, marks=NIGHTLY),
    pytest.param("jax", 2, OF_XLA, marks=NIGHTLY),
    pytest.param("jax-multiprocess", 2, OF_XLA, marks=NIGHTLY),
]


def profiling_line(spec, arrays, output):
    return command(
        "profile_steps",
        spec=spec.to_json(),
        manifest=arrays.manifest,
        data_folder=arrays.folder,
        threads=2,
        output=output,
    )


def profiled(spec, arrays, folder):
    """The result of the program, checked, and what it printed; nothing else is left in the folder."""
    done = call(profiling_line(spec, arrays, folder / "one.json"), **INDUCTOR)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in folder.iterdir()] == ["one.json"]
    return measurements.read(folder / "one.json", check_profile), done.stdout


@pytest.mark.parametrize(("backend", "replicas", "names"), CASES)
def test_the_costliest_operations_of_a_step(small, tmp_path, backend, replicas, names):
    spec = make_spec("fashion-conv", backend, replicas, 64)
    found, printed = profiled(spec, small, tmp_path)
    assert (found.status, found.reason, found.spec) == ("completed", None, spec)
    assert len(found.operations) == min(10, found.all_operations.names)
    assert any(word in one.name for one in found.operations for word in names.split("|"))
    assert sum(one.share for one in found.operations) <= 1 + 1e-9
    # The calls of the costliest are all there, but for some at the edges of the epoch; of cheap ones
    # profilers lose some per cent on a busy machine.
    first = found.operations[0]
    assert first.calls == pytest.approx(round(first.calls), abs=10 / found.steps), first.name
    assert found.operations[0].name in printed


def test_a_device_that_is_not_here_is_a_status(small, tmp_path):
    spec = make_spec("fashion-conv", "torch")
    spec = replace(spec, backend={**spec.backend, "device": "tpu"})
    found, printed = profiled(spec, small, tmp_path)
    assert (found.status, found.operations, found.profiler) == ("unavailable", [], None)
    assert found.reason == "1 replica(s) on tpu asked for; PyTorch sees no tpu here"
    assert f"unavailable: {found.reason}" in printed


def test_an_engine_without_a_profiler_has_a_status(small, tmp_path):
    spec = make_spec("fashion-conv", "torch")
    spec = replace(spec, backend={**spec.backend, "engine": "other"})
    found, _ = profiled(spec, small, tmp_path)
    assert (found.status, found.reason) == ("no_profiler", "engine other has no profiler")


def test_missing_data_are_one_message(small, tmp_path):
    line = profiling_line(make_spec("fashion-conv", "torch", 1, 64), small, tmp_path / "one.json")
    line[line.index("--data-folder") + 1] = str(tmp_path / "nowhere")
    refused(call(line), "nowhere")
    assert not (tmp_path / "one.json").exists()


def test_every_engine_of_the_project_has_one():
    for engine in ("jax", "keras_fit", "tensorflow", "torch_xla_multiprocess"):
        assert profiler_of(engine)
    assert {profiler_of(f"torch_{name}") for name in ("compile", "ddp", "fsdp")} == {
        "torch_profile"
    }
    assert profiler_of("reference") is None


def test_an_operation_has_the_time_that_others_inside_it_have_not():
    one = Line(
        "/host:CPU",
        "a thread",
        [("inner", 2.0, 3.0), ("outer", 0.0, 10.0), ("inner", 6.0, 1.0), ("innermost", 3.0, 1.0)],
    )
    after = Line("/host:CPU", "a thread", [("outer", 10.0, 2.0), ("outer", 12.0, 2.0)])
    beside = Line("/host:CPU", "another", [("inner", 0.0, 5.0)])
    found = {each.name: each for each in operations_of([one, after, beside])}
    assert found == {
        "outer": Operation("outer", 3, 6.0 + 4.0),
        "inner": Operation("inner", 3, 2.0 + 1.0 + 5.0),
        "innermost": Operation("innermost", 1, 1.0),
    }


def test_of_a_device_the_lines_of_whole_steps_and_programs_are_left_out():
    names = [
        ("/host:CPU", "python"),
        ("/device:TPU:0", "Steps"),
        ("/device:TPU:0", "XLA Modules"),
        ("/device:TPU:0", "XLA Ops"),
        ("/device:GPU:0", "Stream #13(Compute)"),
    ]
    lines = [Line(plane, name, []) for plane, name in names]
    assert of_device(lines) == lines[3:]


class Counting:
    """An engine whose steps take a tenth of a second of a clock of its own."""

    shard = None

    def __init__(self, spec, monkeypatch):
        self.devices, self.now, self.epochs, self.cost = profiling.requested(spec), 0.0, [], 1.0
        monkeypatch.setattr(profiling.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(profiling, "starting", lambda weights, *_: (weights, "keras"))
        monkeypatch.setattr(profiling, "noise_batches", lambda *_: ((), ()))
        monkeypatch.setattr(profiling, "train_batches", lambda *about: iter(range(about[-1])))

    build = weights = set_weights = warm_up = lambda *_: None

    def train_epoch(self, seed, rate, batches, steps):
        self.epochs.append([*batches])
        assert len(self.epochs[-1]) == steps
        self.now += 0.1 * self.cost * steps

    def profile(self, work, kind):
        """A profiler that doubles the time of a step; at the end twelve operations."""
        self.cost = 2.0
        seconds = work()
        self.cost = 1.0
        operations = [Operation(f"op{n}", 20, seconds * n / 100) for n in range(12)]
        return Profile("a profiler", "1.0", f"things on {kind}", seconds, operations)


def measured(spec, engine):
    meeting = Rendezvous(None, 1, 1.0)
    return profiling.profile_steps(engine, engine.profile, spec, None, 1, meeting, ALONE)


def test_a_second_of_steps_is_profiled_between_as_many_that_are_not(monkeypatch):
    spec = make_spec("fashion-conv", "torch", 1, 64)
    engine = Counting(spec, monkeypatch)
    found = measured(spec, engine)
    assert [len(one) for one in engine.epochs] == [2, 10, 10, 10, 10]
    assert all(one == [*range(len(one))] for one in engine.epochs)  # the same batches each time
    assert found["steps"] == 10
    assert found["step_milliseconds"] == pytest.approx({"alone": 100, "profiled": 200})
    assert [one["name"] for one in found["operations"]] == [f"op{n}" for n in range(11, 1, -1)]
    first = {"name": "op11", "calls": 2, "milliseconds": 22, "share": 11 / 66}
    assert found["operations"][0] == pytest.approx(first)
    assert found["all_operations"] == pytest.approx({"names": 12, "milliseconds": 132})
    assert found["operations_are"] == "things on cpu"


def test_a_profiler_that_sees_nothing_is_not_available(monkeypatch):
    spec = make_spec("fashion-conv", "torch", 1, 64)
    engine = Counting(spec, monkeypatch)
    engine.profile = lambda work, kind: Profile("blind", "1.0", "", work(), [])
    with pytest.raises(Unavailable, match=r"blind 1\.0 sees no operations"):
        measured(spec, engine)


def test_how_many_steps_are_profiled_has_limits():
    assert [profiling.planned(step) for step in (1e-6, 0.01, 30.0)] == [300, 100, 2]


def planted(path, value):
    """A profile with one value changed."""
    made = copy.deepcopy(make_profile())
    *places, last = path
    inside = made
    for place in places:
        inside = inside[place]
    inside[last] = value
    return made


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("run",), "fashion-conv.torch.r1.b1000.s0.00000000", "the specification is that of"),
        (("spec", "seed"), 1, "the specification is that of"),
        (("operations", 1, "milliseconds"), 9.0, "costliest first"),
        (("operations", 1, "share"), 0.5, "the share of aten::add"),
        (("operations", 0, "more"), 1, "Additional properties"),
        (("status",), "unavailable", "is not of type"),
        (("reason",), "because", "is not of type"),
        (("steps",), None, "is not of type"),
        (("operations",), [], "should be non-empty"),
    ],
)
def test_a_profile_that_contradicts_itself_is_refused(path, value, words):
    check_profile(make_profile())
    with pytest.raises(ValueError, match=words):
        check_profile(planted(path, value))
