"""Who shares a GPU with whom, as Slurm numbers them: on the cluster's GPUs, which are fake."""

import json
import sys
from pathlib import Path

import pytest
from cluster.slurm import PARTITION
from workspace import ROOT

pytestmark = pytest.mark.full

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


def numbered(cluster, folder: Path, *options: str, first: str = "") -> list[list[int]]:
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
def test_a_task_knows_with_whom_it_shares_a_gpu(cluster, tmp_path, option, first, expected):
    assert numbered(cluster, tmp_path / "meeting", option, first=first) == expected
