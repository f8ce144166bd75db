"""The workflow on a real Slurm of two nodes: its jobs, what they ask for, how they fail and resume."""

import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import yaml
from cluster.slurm import CPUS, GPUS, NODES, PARTITION, Cluster, missing
from workspace import ROOT, Checkout, config_of, job_stats

from paragone.config.expand import expand
from paragone.records import record
from paragone.records.run_record import RunRecord

pytestmark = pytest.mark.full

# The profile has the rest: memory, times and nodes of one's own.
SUBMIT = ("--workflow-profile", "profiles/slurm", "--default-resources")
SUBMIT += (f"slurm_partition={PARTITION}", "slurm_account=anybody")
SECONDS = 600  # of one call of snakemake, on a busy machine
EXPERIMENT = "tpu_fashion_conv"
TWO_WORKERS = ["tensorflow-multiworker", "torch-ddp"]
PRODUCTS = "results/tables/device_matmul/matmul.parquet"
REQUIRED = "PARAGONE_SLURM_REQUIRED"  # set by .ci/run, which installs Slurm


@dataclass(frozen=True)
class Submitted:
    """A finished call: its checkout, what snakemake printed, its records, and the jobs of Slurm."""

    checkout: Checkout
    output: str
    records: dict[str, RunRecord]
    jobs: list[dict[str, str]]

    def jobs_of(self, rule: str) -> list[dict[str, str]]:
        """The jobs of a rule; their comment is rule_<name>, with _wildcards_<...> if it has any."""
        names = [job["Comment"].partition("_wildcards_")[0] for job in self.jobs]
        return [job for job, name in zip(self.jobs, names, strict=True) if name == f"rule_{rule}"]

    def train_job(self, backend: str) -> dict[str, str]:
        """The job that trained a backend."""
        (job,) = [job for job in self.jobs_of("train") if f".{backend}." in job["Comment"]]
        return job


def fit_profile(made: Checkout) -> None:
    """Edit profiles/slurm for the cluster, as a user would."""
    path = made / "profiles/slurm/profile.yaml"
    profile = yaml.safe_load(path.read_text())
    profile["default-resources"] |= {"mem_mb": 1500, "runtime": 30}
    profile["set-threads"] = dict.fromkeys(profile["set-threads"], CPUS)
    for resources in profile["set-resources"].values():
        resources |= {"mem_mb": 5000, "runtime": 30}
    profile |= {"slurm-status-command": "squeue", "latency-wait": 5}
    profile |= {"slurm-init-seconds-before-status-checks": 1}
    path.write_text(yaml.safe_dump(profile))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A running cluster; gone when the tests of this file have ended."""
    lacking = missing()
    if lacking and not os.environ.get(REQUIRED):
        pytest.skip(
            f"a Slurm cluster needs Debian's {' and '.join(lacking)}: apt-get install "
            f"--no-install-recommends {' '.join(lacking)} ({REQUIRED} makes this a failure)"
        )
    assert not lacking
    made = Cluster()
    # As Ctrl-C does it: pytest then ends its fixtures, and no job outlives a test that ran out of time.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        made.start()
        yield made
    finally:
        made.stop()
        signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="module")
def submitted(cluster, fashion, tmp_path_factory) -> Submitted:
    """One call: runs of PyTorch, of a backend on GPUs, of two workers; and matrix products."""
    made = Checkout(tmp_path_factory.mktemp("submitted"))
    fit_profile(made)
    made.config["data"]["folder"] = str(fashion.folder)
    gpu = {"device": "gpu", "label": "TensorFlow on GPUs"}
    backends = made.config["backends"]
    backends["tensorflow-gpu"] = backends["tensorflow-mirrored"] | gpu
    made.only(EXPERIMENT, ["torch"], epochs=2, steps_per_epoch=4)
    block = made.config["experiments"][EXPERIMENT]
    (one_replica,) = block["matrix"]
    two_replicas = {**one_replica, "backend": [*TWO_WORKERS, "tensorflow-gpu"], "replicas": 2}
    block["matrix"].append(two_replicas)
    made.configure()
    paths = records_of(made)
    printed = made.snakemake(*paths, PRODUCTS, *SUBMIT, timeout=SECONDS, **cluster.variables)
    records = [record.read(made / path) for path in paths]
    by_backend = {each.spec.backend.name: each for each in records}
    jobs = [job for job in cluster.jobs() if "Comment" in job]  # not those of other tests
    return Submitted(made, printed, by_backend, jobs)


def records_of(made: Checkout) -> list[str]:
    """The records that a checkout's config asks for."""
    return [
        f"results/runs/{spec.name}/record.json"
        for spec in expand(config_of(made.config), EXPERIMENT)
    ]


def test_every_job_went_through_slurm_and_ended_well(submitted):
    stats = job_stats(submitted.output)
    assert {name: len(submitted.jobs_of(name)) for name in stats} == stats
    assert stats["train"] == 4
    assert {job["JobState"] for job in submitted.jobs} == {"COMPLETED"}
    asked = {(job["Partition"], job["TimeLimit"]) for job in submitted.jobs}
    assert asked == {(PARTITION, "00:30:00")}
    assert (submitted.checkout / PRODUCTS).is_file()
    assert submitted.train_job("torch")["NumNodes"] == "1"
    assert submitted.records["torch"].status == "completed"
    # Timed jobs have their nodes alone.
    timed = [*submitted.jobs_of("train"), *submitted.jobs_of("measure_products")]
    assert len(timed) == 5
    for job in submitted.jobs:
        assert job["OverSubscribe"] == ("NO" if job in timed else "OK"), job


@pytest.mark.parametrize("backend", TWO_WORKERS)
def test_two_workers_train_on_two_nodes(submitted, cluster, backend):
    job = submitted.train_job(backend)
    assert (job["NumNodes"], job["NumTasks"]) == ("2", "2")
    made = submitted.records[backend]
    assert made.status == "completed"
    assert [process.rank for process in made.processes] == [0, 1]
    # Both nodes are this host, and only their daemons know which of them started a rank.
    for node in NODES:
        log = (cluster.state / f"slurmd-{node}.log").read_text()
        assert f"launch task StepId={job['JobId']}.0 " in log


def test_run_on_gpus_gets_them_and_is_started_once(submitted):
    """The cluster's GPUs are fake: the run is granted them, and then finds none that computes."""
    job = submitted.train_job("tensorflow-gpu")
    assert job["TresPerJob"] == f"gres:gpu:{GPUS}"
    assert (job["NumNodes"], job["NumTasks"]) == ("1", "1")
    assert submitted.records["tensorflow-gpu"].status == "unavailable"
    (log,) = submitted.checkout.folder.glob("results/logs/runs/*.tensorflow-gpu.*.log")
    assert log.read_text().count("] unavailable: ") == 1
    assert "TresPerJob" not in submitted.train_job("torch")


def test_message_of_a_failed_job_names_its_log(submitted, cluster):
    made = submitted.checkout
    made.only(EXPERIMENT, ["torch"], steps_per_epoch=1000)
    options = {"status": 1, "timeout": SECONDS, **cluster.variables}
    printed = made.snakemake(*records_of(made), *SUBMIT, **options)
    assert "error: workloads.fashion-conv: 1000 step(s) of 100 examples do not fit" in printed
    job = cluster.jobs()[-1]
    assert job["JobState"] == "FAILED"
    assert f"SLURM-job '{job['JobId']}' failed, SLURM status is: 'FAILED'" in printed
    named = re.search(rf"/\S*/results/logs/slurm/rule_train/\S*/{job['JobId']}\.log", printed)
    assert named, printed
    assert "rule train" in (made / named[0]).read_text()


# Who shares a GPU with whom, as Slurm numbers them: on the cluster's GPUs, which are fake.

PROGRAM = """
import json, os, sys
from pathlib import Path
from paragone.workers.rendezvous import Rendezvous
world = Rendezvous(Path(sys.argv[1]), 2, timeout=30).join()
print(json.dumps([world.rank, world.local_rank, world.local_workers]))
"""
OTHERS_HIDDEN = (
    "export CUDA_VISIBLE_DEVICES=0; "  # what a cgroup that constrains devices makes of any number
)


@pytest.mark.parametrize(
    ("option", "first", "expected"),
    [
        ("--gpus-per-task=1", "", [[0, 0, 1], [1, 0, 1]]),
        ("--gpus-per-task=1", OTHERS_HIDDEN, [[0, 0, 1], [1, 0, 1]]),
        ("--gpus=2", "", [[0, 0, 2], [1, 1, 2]]),  # both see the same GPUs, and take one each
    ],
    ids=["own", "hidden", "shared"],
)
def test_a_task_knows_with_whom_it_shares_a_gpu(cluster, tmp_path, option, first, expected):
    """Rank, local rank and local workers of each of two tasks on one node."""
    (tmp_path / "join.py").write_text(PROGRAM)
    join = f"PYTHONPATH={ROOT / 'scripts'} {sys.executable} {tmp_path / 'join.py'} {tmp_path}"
    line = ["srun", f"--partition={PARTITION}", "--nodes=1", "--ntasks=2", option]
    done = cluster.call(*line, "bash", "-c", first + join)
    assert done.returncode == 0, done.stderr
    assert sorted(json.loads(text) for text in done.stdout.splitlines()) == expected
