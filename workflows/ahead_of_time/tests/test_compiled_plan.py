"""What the block `ahead_of_time` asks for, what is wrong in it, and the jobs that follow."""

import copy

import pytest
import yaml
from workspace import CONFIG, ROOT, jobs

from ahead_of_time.plan import plan_of
from paragone.base.errors import UserError

FOLDER = ROOT / "workflows/ahead_of_time"
BLOCK = yaml.safe_load((FOLDER / "config.yaml").read_text())["ahead_of_time"]


def config_of(**row: object) -> dict:
    """The config with one published row, of fashion-cnn on the TPU of the sources."""
    usual = {"workload": "fashion-cnn", "backend": "jax", "target": "tpu-v2-8"}
    block = copy.deepcopy(BLOCK) | {"published": [usual | row], "scaling": [], "measured": []}
    return CONFIG | {"ahead_of_time": block}


def test_a_step_is_exported_once_for_all_targets_of_as_many_devices():
    plan = plan_of(config_of(target=["tpu-v2-8", "tpu-v3-8", "v100-1"], global_batch=[1024, 2048]))
    assert len(plan.published) == 6
    found = {(spec.replicas, spec.global_batch) for spec in plan.steps.values()}
    assert found == {(8, 1024), (8, 2048), (1, 1024), (1, 2048)}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"workload": "none"}, r"published\[0\]\.workload"),
        ({"backend": "none"}, r"published\[0\]\.backend"),
        ({"target": "none"}, r"published\[0\]\.target: there is no 'none'; known are tpu-v2-8"),
        ({"backend": "torch"}, "steps of engine 'torch' cannot be exported"),
        ({"global_batch": 1001}, "1001 does not divide over 8"),
        ({"batch": 8}, "unknown field `batch`"),
    ],
)
def test_what_is_wrong_is_one_message_that_names_the_key(row, words):
    with pytest.raises(UserError, match=words):
        plan_of(config_of(**row))


def test_jobs_of_the_default(tmp_path):
    found = jobs(["--snakefile", FOLDER / "Snakefile", "--cores", "2"], tmp_path)
    plan = plan_of(CONFIG | {"ahead_of_time": BLOCK})
    assert found["compile_step"] == len({*plan.published, *plan.scaling})
    assert found["measure_step"] == len(plan.measured)
