"""`make gpu`: what it calls, by a stand-in for Snakemake and the suite, is what its presets ask for."""

import copy
import re
from pathlib import Path

import pytest
import yaml
from plan import Plan
from snakemake.utils import update_config
from workspace import DEFAULTS, ROOT, call, environment, jobs, preset

# In the place of Snakemake: what it was called with. In one call it fails.
STAND_IN = """#!/bin/sh
echo "$@" >>calls
case "$*" in *"gpu_nanogpt] "*) exit 1 ;; esac
"""
LOST = "gpu_nanogpt"


def calls(folder: Path, **variables: str) -> tuple[list[str], str]:
    """The calls of Snakemake, the one that is made beside the suite first, and the list of parts."""
    (folder / "bin").mkdir()
    for name, text in (("snakemake", STAND_IN), ("pytest", "#!/bin/sh\n")):
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    (folder / "tests").symlink_to(ROOT / "tests")
    path = f"{folder / 'bin'}:{environment()['PATH']}"
    done = call(["bash", ROOT / "benchmarks/gpu.sh"], cwd=folder, PATH=path, **variables)
    assert done.returncode == 1, done.stderr
    return (folder / "calls").read_text().splitlines(), done.stdout


def asked_by(line: str) -> list[str]:
    """The experiments of a call."""
    return re.findall(r"only=\[(.*?)\]", line)[0].split(",")


@pytest.mark.parametrize("kind", ["gpu", "cpu"])
def test_parts_are_those_of_the_preset_in_its_order_and_a_lost_one_is_left_out(tmp_path, kind):
    (ahead, *parts), text = calls(tmp_path, PARAGONE_ACCELERATOR=kind)
    whole = asked_by(ahead)
    assert whole == preset("gpu")["only"][: len(whole)]
    for number, line in enumerate(parts):
        part, before = whole[number], whole[:number]
        assert asked_by(line) == [*(name for name in before if name != LOST), part]
        assert ("first_answer" in line) == (part == "one_device")
    assert f"{LOST}: failed" in text
    assert text.count(": done") == len(whole)  # all parts but one, and the suite
    config = copy.deepcopy(DEFAULTS)
    for path in re.findall(r"\S+\.yaml", ahead):
        update_config(config, yaml.safe_load((ROOT / path).read_text()))
    plan = Plan(config=config | {"only": whole})
    assert re.findall(r"parity/([a-z0-9-]+)/reference", ahead) == plan.workloads
    assert {spec.backend.device for spec in plan.runs.values()} == {kind}


def test_a_part_that_no_time_is_left_for_is_cut(tmp_path):
    lines, text = calls(tmp_path, LIMIT="0")
    assert text.count("cut by its limit") == 1 + len(asked_by(lines[0]))
    paths = re.sub(r"(?<= )(workflows|presets|benchmarks)/", rf"{ROOT}/\1/", f" {lines[0]}")
    assert jobs(paths.split(), tmp_path)["first_steps"]  # Snakemake takes the call
