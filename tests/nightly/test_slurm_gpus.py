"""More of the real Slurm: contests, and who shares a GPU with whom."""

import json
import sys
from pathlib import Path

import pytest
from cluster.slurm import CPUS, PARTITION
from cluster.test_jobs import (  # noqa: F401 - fixtures, too
    EXPERIMENT,
    SECONDS,
    SUBMIT,
    cluster,
    fit_profile,
)
from workspace import ROOT, config_of

from paragone.config.expand import expand, timed_in_turn
from paragone.records import record


def test_variants_take_turns_on_one_node(fashion, checkout, cluster):  # noqa: F811
    made = checkout()
    fit_profile(made)
    made.config["data"]["folder"] = str(fashion.folder)
    made.config["contest"] |= {"rounds": 2, "window_seconds": 0.3}
    made.only(EXPERIMENT, ["torch", "torch-compile"], contests=1)
    config = config_of(made.config)
    (question,) = timed_in_turn(config, EXPERIMENT, expand(config, EXPERIMENT))
    path = f"results/contests/{question.name}/record.json"
    made.snakemake(path, *SUBMIT, timeout=SECONDS, **cluster.variables)
    (contest,) = record.read_contests(made / path).contests
    assert [each.status for each in contest.contestants] == ["completed"] * 2
    assert (contest.together, len(contest.windows)) == (True, 4)
    job = cluster.jobs()[-1]
    assert (job["NumNodes"], job["OverSubscribe"], job["NumCPUs"]) == ("1", "NO", str(CPUS))


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


def numbered(cluster, folder: Path, *options: str, first: str = "") -> list[list[int]]:  # noqa: F811
    """Rank, local rank and local workers of each of two tasks on one node."""
    folder.mkdir()
    (folder / "join.py").write_text(PROGRAM)
    join = f"PYTHONPATH={ROOT / 'scripts'} {sys.executable} {folder / 'join.py'} {folder}"
    line = ["srun", f"--partition={PARTITION}", "--nodes=1", "--ntasks=2", *options]
    done = cluster.call(*line, "bash", "-c", first + join)
    assert done.returncode == 0, done.stderr
    return sorted(json.loads(text) for text in done.stdout.splitlines())


@pytest.mark.parametrize(
    ("option", "first", "expected"),
    [
        ("--gpus-per-task=1", "", [[0, 0, 1], [1, 0, 1]]),
        ("--gpus-per-task=1", OTHERS_HIDDEN, [[0, 0, 1], [1, 0, 1]]),
        ("--gpus=2", "", [[0, 0, 2], [1, 1, 2]]),  # both see the same GPUs, and take one each
    ],
    ids=["own", "hidden", "shared"],
)
def test_a_task_knows_with_whom_it_shares_a_gpu(cluster, tmp_path, option, first, expected):  # noqa: F811
    assert numbered(cluster, tmp_path / "meeting", option, first=first) == expected
