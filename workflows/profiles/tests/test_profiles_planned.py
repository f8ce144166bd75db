"""The jobs of the workflow: profiles of which runs, each alone on the machine."""

import os
import re

from own_folder import plug_in
from plan import Plan
from workspace import ROOT, job_stats, jobs, snakemake, write_files

PLAN = Plan()
SHOWN = """
include: "workflows/profiles/Snakefile"


rules.profile_steps.rule.message = "Profiling {wildcards.run} {resources.machine}"
"""


def test_the_run_of_the_first_seed_of_each_cell_is_profiled_alone_and_nothing_trained(checkout):
    made = checkout()
    (made / "shown.smk").write_text(SHOWN)
    for specs, options in (
        (PLAN.runs.values(), []),
        (PLAN.experiments["one_device"], ["--config", "only=[one_device]"]),
    ):
        line = ["profiles", "--snakefile", "shown.smk", "--cores", "2", *options]
        printed = snakemake([*line, "--dry-run"], made.folder)
        runs = re.findall(r"Profiling (\S+) 100\n", printed)
        assert sorted(runs) == sorted(spec.name for spec in specs if spec.seed == PLAN.config.seed)
        assert "train" not in job_stats(printed)


def test_a_variant_in_other_versions_waits_for_its_environment(checkout):
    made = checkout()
    made.only("one_device", ["torch"])
    (row,) = made.config["experiments"]["one_device"]["matrix"]
    row["versions"] = [{}, {"numpy": "2.4.5"}, {"numpy": "2.4.6"}]
    made.configure()
    asked = jobs(["--snakefile", "workflows/profiles/Snakefile", "--cores", "2"], made.folder)
    assert (asked["profile_steps"], asked["environment"]) == (3, 2)


def test_a_plugins_environment_is_made_by_conda_for_its_profile(checkout):
    made = checkout()
    plug_in(made, "my-torch")
    made.config["backends"]["my-torch"]["environment"] = "mine"
    write_files(made / "my_plugin/envs", {"mine.yaml": (made / "envs/torch.yaml").read_text()})
    made.only("one_device", ["my-torch"])
    line = ["--snakefile", "workflows/profiles/Snakefile", "--cores", "2", "--dry-run"]
    conda = f"{ROOT / 'tests/pipeline/conda/bin'}{os.pathsep}{os.environ['PATH']}"
    printed = snakemake([*line, "--software-deployment-method", "conda"], made.folder, PATH=conda)
    assert "Conda environment my_plugin/envs/mine.yaml will be created." in printed
