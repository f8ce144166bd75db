"""The jobs of the workflow: profiles of which runs, each alone on the machine."""

import re

from plan import Plan
from workspace import Checkout, snakemake

PLAN = Plan()
SNAKEFILE = "workflows/profiles/Snakefile"


def first_seeds(specs) -> set[str]:
    return {spec.name for spec in specs if spec.seed == PLAN.config.seed}


def printed(made: Checkout, *arguments: str, snakefile: str = SNAKEFILE) -> str:
    line = ["--snakefile", snakefile, "--cores", "2", "--dry-run", *arguments]
    return snakemake(line, made.folder)


def test_the_run_of_the_first_seed_of_each_cell_is_profiled_alone_and_nothing_trained(checkout):
    made = checkout()
    show = "rules.profile_steps.rule.message = 'Profiling {wildcards.run} {resources.machine}'"
    (made / "shown.smk").write_text(f'include: "{SNAKEFILE}"\n\n\n{show}\n')
    runs = re.findall(r"Profiling (\S+) 100\n", printed(made, "profiles", snakefile="shown.smk"))
    assert len(runs) == len({*runs})
    assert {*runs} == first_seeds(PLAN.runs.values())
    assert "train" not in made.jobs("--snakefile", SNAKEFILE, "--cores", "2")


def test_a_part_of_the_config_is_a_part_of_the_profiles(checkout):
    runs = re.findall(r"Profiling (\S+)", printed(checkout(), "--config", "only=[one_device]"))
    assert {*runs} == first_seeds(PLAN.experiments["one_device"])
