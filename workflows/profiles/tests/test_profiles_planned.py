"""The jobs of the workflow: profiles of which runs, each alone on the machine."""

import re

import pytest
from plan import Plan
from workspace import Checkout, snakemake

PLAN = Plan()
SNAKEFILE = "workflows/profiles/Snakefile"


def first_seeds(specs) -> set[str]:
    return {spec.name for spec in specs if spec.seed == PLAN.config["seed"]}


def printed(made: Checkout, *arguments: str, snakefile: str = SNAKEFILE) -> str:
    """What a dry run prints of its jobs."""
    line = ["--snakefile", snakefile, "--cores", "2", "--dry-run", *arguments]
    return snakemake(line, made.folder)


def test_the_run_of_the_first_seed_of_each_cell_is_profiled_alone_and_nothing_trained(checkout):
    made = checkout()
    show = "rules.profile_steps.rule.message = 'Profiling {wildcards.run} {resources.machine}'"
    (made / "shown.smk").write_text(f'include: "{SNAKEFILE}"\n\n\n{show}\n')
    runs = re.findall(r"Profiling (\S+) 100\n", printed(made, "profiles", snakefile="shown.smk"))
    assert len(runs) == len({*runs})
    assert {*runs} == first_seeds(PLAN.runs.values())
    jobs = made.jobs("--snakefile", SNAKEFILE, "--cores", "2")
    datasets = {spec.workload.dataset for spec in PLAN.runs.values()}
    assert jobs == {
        "profiles": 1,
        "profile_steps": len(runs),
        "fetch": len(datasets),
        "serialize": len(datasets),
        "pretrained": 1,
    }


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
