"""All-reduces: measured through the program, proven right, and never a process left behind."""

import json
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from make_scaling import all_reduce_result
from workspace import CONFIG, ROOT, call, command, refused, succeed

from paragone.analysis import all_reduce_tables
from paragone.base.errors import UserError
from paragone.base.ranks import ALONE
from paragone.config import measurement_plans
from paragone.config.expand import expand
from paragone.microbenchmarks.all_reduces import group, measure
from paragone.records import measurements


def program(output, engine, strategy, device="cpu", **options):
    backend = {"name": f"a-{strategy}", "engine": engine, "strategy": strategy, "device": device}
    given = {"replicas": [1, 2], "bytes": [4096, 65_536], "repeats": 3, "threads": 2, **options}
    return command("measure_all_reduces", backend=json.dumps(backend), output=output, **given)


@pytest.mark.parametrize(
    ("engine", "strategy"),
    [
        ("torch_ddp", "ddp"),
        pytest.param("tensorflow", "mirrored", marks=pytest.mark.full),  # the smoke run has it
        pytest.param("tensorflow", "multiworker", marks=pytest.mark.nightly),
        pytest.param("torch_xla", "spmd", marks=pytest.mark.nightly),
        ("jax", "spmd"),
        pytest.param("jax", "multiprocess", marks=pytest.mark.full),
    ],
)
def test_small_all_reduces_are_measured(tmp_path, engine, strategy):
    printed = succeed(program(tmp_path / "r.json", engine, strategy), timeout=120)
    made = measurements.read(tmp_path / "r.json", measurements.check_all_reduces)
    each = 2 if strategy in ("ddp", "multiworker", "multiprocess") else 1
    assert [(one.replicas, one.workers) for one in made.groups] == [(1, 1), (2, each)]
    for one in made.groups:
        assert [case.bytes for case in one.cases] == [4096, 65_536]
        for case in one.cases:
            assert len(case.runs) == 3
            assert 1e-7 < min(case.runs) / case.calls < 1
    assert printed.count("fastest all-reduce") == 2
    times = all_reduce_tables.table([made])
    assert len(times) == 2 * 2 * 3
    case = made.groups[1].cases[0]
    assert times["seconds"].iloc[6] == case.runs[0] / case.calls


def test_a_missing_device_is_a_status(tmp_path):
    succeed(program(tmp_path / "r.json", "torch_ddp", "ddp", device="tpu"))
    made = measurements.read(tmp_path / "r.json", measurements.check_all_reduces)
    assert [one.status for one in made.groups] == ["unavailable"] * 2
    assert all_reduce_tables.table([made])["seconds"].isna().all()


def test_messages_for_people(tmp_path):
    output = tmp_path / "r.json"
    refused(
        call(program(output, "mxnet", "spmd")),
        "mxnet",
        "scripts/paragone/microbenchmarks/all_reduces/mxnet.py",
    )
    refused(call(program(output, "torch_ddp", "ddp", bytes=[6])), "--bytes", "multiple of 4")
    refused(call(program(output, "torch_ddp", "ddp", timeout=0.1)), "no result of 1", "0.1 s")
    assert not output.exists()


class Vectors:
    """A group of two replicas in this process whose sum can be made wrong."""

    device_names = ("here",)

    def __init__(self, factor=1):
        self.factor, self.calls = factor, 0

    def put(self, elements):
        return [np.full(elements, 1.0, np.float32), np.full(elements, 2.0, np.float32)]

    def all_reduce(self, vectors):
        self.calls += 1
        return [self.factor * sum(vectors)] * 2

    def wait(self, sums):
        pass

    def fetch(self, sums):
        return sums


def test_a_wrong_sum_gets_no_time(monkeypatch):
    def measured(vectors):
        framework = SimpleNamespace(open_group=lambda *_: vectors)
        monkeypatch.setitem(sys.modules, "framework_of_vectors", framework)
        return measure.measure("framework_of_vectors", {}, 2, ALONE, [4096, 1 << 22], 5, 1)

    right = Vectors()
    cases = measured(right)["cases"]
    assert [case["calls"] for case in cases] == [20, 1]
    assert right.calls == sum(1 + (3 + 5) * case["calls"] for case in cases)
    with pytest.raises(UserError, match="not the sum"):
        measured(Vectors(1.5))


# A process of a group that does what the body of its function `work` says.
PROCESS = """
import os, sys, time
from pathlib import Path
from paragone.base.errors import UserError, entry_point
from paragone.microbenchmarks.all_reduces import group

def work(world):
    {body}

folder = Path(sys.argv[-1].partition("=")[2])
entry_point(group.take_part)(folder, {workers}, 30, work)
"""


@pytest.fixture
def together(monkeypatch, tmp_path):
    """Run a group of processes whose `work` has this body; its result."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "scripts"))

    def run(body, workers, seconds=30):
        line = [sys.executable, "-c", PROCESS.format(body=body, workers=workers)]
        return group.run(line, workers, seconds, tmp_path)

    own = psutil.Process()
    before = own.children(recursive=True)  # the process that serves dry runs, perhaps
    yield run
    assert set(own.children(recursive=True)) <= set(before)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("workers", [1, 3])
def test_the_first_process_answers_and_all_end(together, workers):
    body = "return {'rank': world.rank, 'ranks': world.workers, 'at': len(set(world.addresses))}"
    addresses = workers if workers > 1 else 0
    assert together(body, workers) == {"rank": 0, "ranks": workers, "at": addresses}


@pytest.mark.parametrize(
    ("fault", "seconds", "words"),
    [
        ("os._exit(7)", 30, "rank 1 of 2 ended with status 7"),
        ("os.abort()", 30, "rank 1 of 2 was ended by SIGABRT"),
        ("raise UserError('rank 1 is unhappy')", 30, "rank 1 of 2: rank 1 is unhappy"),
        ("1 / 0", 30, r"rank 1 of 2 failed \(ZeroDivisionError: division by zero\)"),
        ("time.sleep(60)", 2, r"no result of 2 process\(es\) after 2 s"),
    ],
)
def test_one_failure_ends_all_within_the_bound(together, fault, seconds, words):
    start = time.monotonic()
    with pytest.raises(UserError, match=words):
        together(f"if world.rank == 1: {fault}\n    time.sleep(60)", 2, seconds)
    assert time.monotonic() - start < 20


def test_a_failure_of_the_only_process_is_one_message(together, capfd):
    with pytest.raises(SystemExit):
        together("raise UserError('alone and unhappy')", 1)
    assert capfd.readouterr().err == "error: alone and unhappy\n"


def test_killed_it_leaves_no_process(tmp_path):
    line = program(tmp_path / "r.json", "torch_ddp", "ddp", replicas=[2], repeats=1_000_000)
    parent = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    own = psutil.Process(parent.pid)
    end = time.monotonic() + 60
    ranks = []
    while len(ranks) < 2:
        assert parent.poll() is None
        assert time.monotonic() < end
        time.sleep(0.2)
        ranks = [one for one in own.children() if one.cpu_times().user > 0.5]
    parent.kill()
    parent.wait()
    gone, alive = psutil.wait_procs(ranks, timeout=10)
    assert (len(gone), alive) == (2, [])


def test_a_result_that_contradicts_itself_is_not_written(tmp_path):
    made = all_reduce_result("torch-xla")
    made["groups"][1]["devices"] = ["cpu"]
    with pytest.raises(ValueError, match="not 2 device"):
        measurements.check_all_reduces(made)
    made["groups"][1] |= {"devices": ["cpu", "cpu"], "cases": []}
    with pytest.raises(ValueError, match="cases"):
        measurements.check_all_reduces(made)
    broken = tmp_path / "r.json"
    broken.write_text("{}")
    with pytest.raises(UserError, match=r"r\.json"):
        measurements.read(broken, measurements.check_all_reduces)


def test_the_plan_follows_the_experiments():
    runs = {name: expand(CONFIG, name) for name in CONFIG["experiments"]}
    found = measurement_plans.all_reduces(CONFIG, runs)
    assert list(found) == ["tensorflow-mirrored", "torch-xla"]
    (cell,) = CONFIG["experiments"]["strong_scaling"]["matrix"]
    assert found["torch-xla"]["replicas"] == cell["replicas"]
    assert found["torch-xla"]["backend"]["strategy"] == "spmd"
    assert (
        measurement_plans.all_reduces(CONFIG, {"tpu_fashion_conv": runs["tpu_fashion_conv"]}) == {}
    )
    mixed = CONFIG["experiments"]["strong_scaling"] | {
        "matrix": [
            {"backend": "torch-xla", "replicas": n, "global_batch": 100 * n * n} for n in (1, 2, 4)
        ]
    }
    config = {**CONFIG, "experiments": {"mixed": mixed}}
    with pytest.raises(UserError, match=r"experiments\.mixed: the figure 'scaling' needs"):
        measurement_plans.all_reduces(config, {"mixed": expand(config, "mixed")})
