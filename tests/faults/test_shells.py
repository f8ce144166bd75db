"""Shells, homes and checkouts as people have them: what is left in them reaches no framework."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from privileged import needs_root
from workspace import ROOT, UNREACHABLE, make_spec, succeed, train_command

pytestmark = pytest.mark.full

# Each stops or changes JAX, its libraries or Python where it is inherited.
LEFT = {"JAX_ENABLE_X64": "1", "XLA_FLAGS": "--no_such_flag", "PYTHONOPTIMIZE": "2"}
BENIGN = {"http_proxy": UNREACHABLE, "grpc_proxy": UNREACHABLE, "CUDA_VERSION": "12"}


def test_two_workers_are_started_without_what_is_left_in_a_shell(small, tmp_path):
    """In a home that is not there, behind a proxy, with a module of another JAX on the path."""
    (tmp_path / "jax.py").write_text("1 / 0\n")
    spec = make_spec("fashion-conv", "jax-multiprocess", 2, epochs=1, steps_per_epoch=2)
    line = train_command(spec, small, tmp_path / "run", "launch")
    path = f"{tmp_path}{os.pathsep}{ROOT / 'scripts'}"
    succeed(line, PYTHONPATH=path, HOME="/nonexistent", **LEFT | BENIGN)
    processes = json.loads((tmp_path / "run/record.json").read_text())["processes"]
    for process in processes:
        assert process["removed_variables"] == sorted([*LEFT, "PYTHONPATH"])
        assert process["variables"] == {}


def test_python_is_that_of_a_snakemake_called_by_its_path(tmp_path):
    """As in a crontab; one that is found, also through a link, leaves PATH as it is."""
    show = "import os; from paragone.base.processes import mend_shell; mend_shell(); "
    line = [sys.executable, "-c", f"{show}print(os.environ['PATH'])"]
    own = Path(sys.executable).parent
    (tmp_path / "snakemake").symlink_to(own / "snakemake")
    for path, expected in (
        ("/usr/bin:/bin", f"{own}:/usr/bin:/bin"),
        (f"{tmp_path}:/bin", f"{tmp_path}:/bin"),
        (f"/bin:{own}", f"/bin:{own}"),
    ):
        env = {"PATH": path, "PYTHONPATH": str(ROOT / "scripts")}
        assert subprocess.check_output(line, env=env, text=True).strip() == expected


def test_a_user_without_name_and_home_has_both_in_a_worker_and_keeps_the_choice_of_gpus():
    needs_root("starts a process of a user that the system does not know")
    show = "import json, os; from paragone.base.processes import environment; "
    become = "os.setgroups([]); os.setgid(54_321); os.setuid(54_321); "
    line = [sys.executable, "-c", f"{show}{become}print(json.dumps(environment()))"]
    shell = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "scripts")}
    shell |= {"CUDA_VISIBLE_DEVICES": "1", "TORCHDYNAMO_DISABLE": "1"}
    made = json.loads(subprocess.check_output(line, env=shell, text=True, cwd="/"))
    assert made["CUDA_VISIBLE_DEVICES"] == "1"
    assert "TORCHDYNAMO_DISABLE" not in made
    assert made["LOGNAME"] == "54321"
    assert made["HOME"] == "/tmp/paragone-54321"
    assert Path(made["HOME"]).stat().st_mode & 0o777 == 0o700
    Path(made["HOME"]).rmdir()


@pytest.mark.injects("texts of a config that would do harm in a shell")
def test_blocks_longer_than_an_argument_reach_the_programs_and_no_shell(checkout):
    """Nine thousand classes, a notice of the variables of the shell, and a home that nobody can make."""
    made = checkout()
    harm = made.folder / "harm"
    names = [f'Klasse {number}: "ü" & it\'s long' for number in range(8_999)]
    names.append(
        f"$(touch {harm}) `touch {harm}`; touch {harm} ' touch {harm} ' \" \\ & touch {harm}"
    )
    block = {"form": "arrays", "path": "many.npz", "held_out": 0.5, "classes": names}
    made.config["datasets"]["many"] = block
    made.configure()
    images, labels = np.zeros((18_000, 4, 4), np.uint8), np.tile(np.arange(9000), 2)
    np.savez(made / "many.npz", inputs=images, labels=labels)
    odd = {"KERAS_BACKEND": "torch", "HOME": "/proc/none"}
    printed = made.snakemake("results/data/many/manifest.json", "--cores", "1", **odd)
    manifest = json.loads((made / "results/data/many/manifest.json").read_text())
    assert manifest["class_names"] == names
    assert not harm.exists()
    assert printed.count("without these variables of the shell: KERAS_BACKEND; ") == 1
