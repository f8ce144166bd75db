"""Profiles are made on request alone: of which runs, each by itself."""

import re

import pytest
import snakemake_server
from plan import Plan
from workspace import Checkout, environment

PLAN = Plan()


def first_seeds(specs) -> set[str]:
    return {spec.name for spec in specs if spec.seed == PLAN.config["seed"]}


def printed(made: Checkout, *arguments: str) -> str:
    """What a dry run of `profiles` prints of its jobs."""
    line = ["profiles", "--cores", "2", "--dry-run", *arguments]
    done = snakemake_server.call(line, made.folder, environment())
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_of_each_cell_the_run_of_the_first_seed_is_profiled_and_nothing_trained(checkout):
    made = checkout()
    text = printed(made)
    runs = re.findall(r"Profiling (\S+)", text)
    assert len(runs) == len({*runs})
    assert {*runs} == first_seeds(PLAN.runs.values())
    jobs = made.jobs("profiles", "--cores", "2")
    datasets = {spec.workload["dataset"] for spec in PLAN.runs.values()}
    assert jobs == {
        "profiles": 1,
        "profile_steps": len(runs),
        "fetch": len(datasets),
        "serialize": len(datasets),
        "pretrained": 1,
    }


def test_nothing_runs_beside_a_profile(checkout):
    made = checkout()
    show = "rules.profile_steps.rule.message = 'Asking for {resources.machine}'"
    (made / "resources.smk").write_text(f'include: "Snakefile"\n\n\n{show}\n')
    text = printed(made, "--snakefile", "resources.smk", "--config", "only=[one_device]")
    asked = re.findall(r"Asking for (\d+)", text)
    assert asked == ["100"] * len(first_seeds(PLAN.experiments["one_device"]))


@pytest.mark.parametrize(
    ("option", "of"),
    [
        ("only=[one_device]", lambda: PLAN.experiments["one_device"]),
        ("frameworks=[jax]", lambda: PLAN.trained_by("jax")),
    ],
)
def test_a_part_of_the_config_is_a_part_of_the_profiles(checkout, option, of):
    runs = re.findall(r"Profiling (\S+)", printed(checkout(), "--config", option))
    assert {*runs} == first_seeds(of())
