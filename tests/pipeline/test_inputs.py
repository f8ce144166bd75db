"""The code and the schemas that each job declares; braces in a config, and a mistake in it."""

import re
import shlex
from collections import Counter
from dataclasses import dataclass

import pytest
import yaml
from plan import Plan
from workspace import ROOT, Checkout, dry_run, refused_by_workflow, snakemake

from paragone.config.code_files import code_files

BRACES = "{results} in {braces}, {0} and }{"
# A message is the one thing of a dry run that shows all inputs of a job, and single parameters; `code` is the
# files here, in place of their digest.
SHOW_INPUTS = """
import os, sys

sys.path.insert(0, "scripts")
from paragone.config import code_files

code_files.code_of = lambda *names: list(map(os.path.relpath, code_files.code_files(*names)))


include: "Snakefile"


for each in workflow.rules:
    code = "{params.code}" if "code" in each.params.keys() else "nothing"
    each.message = f"{{rule}} runs {code} reads {{input}}"
"""
FOLDERS = {"plot": "figures", "tabulate": "tables"}
SCHEMAS = {"collect_runs": {"rules/schemas/compliance.csv"}}


@dataclass(frozen=True)
class Job:
    """One job of the dry run; `words`: those of its first command."""

    rule: str
    code: set[str]
    inputs: set[str]
    words: list[str]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory) -> list[Job]:
    """All jobs of the smoke preset, where titles and a label hold what Snakemake would format."""
    made = Checkout(tmp_path_factory.mktemp("inputs") / "checkout")
    (made / "inputs.smk").write_text(SHOW_INPUTS)
    titles = {name: {"title": BRACES} for name in made.config["experiments"]}
    others = {name: {"title": BRACES} for name in ("matmul", "accelerator_reference")}
    braces = {"experiments": titles, "backends": {"torch": {"label": BRACES}}, **others}
    (made / "braces.yaml").write_text(yaml.safe_dump(braces))
    line = ["all", "--snakefile", "inputs.smk", "--configfile", "presets/smoke.yaml"]
    line += ["braces.yaml", "--cores", "2", "--dry-run", "--printshellcmds"]
    printed = snakemake(line, made.folder)
    shown = r"Job \d+: (\S+) runs (.*) reads (.*)\n(?:Reason: .*\n)?Shell command: ((?:.*\n)+?)\n"
    planned = [
        Job(rule, {*code.split()}, {*inputs.split()}, shlex.split(command.partition(">")[0]))
        for rule, code, inputs, command in re.findall(shown, printed.replace("\\\n", " "))
        if rule != "all"
    ]
    assert Counter(job.rule for job in planned) | {"all": 1} == Plan("smoke").jobs()
    return planned


def loaded_by_name(job: Job) -> list[str]:
    """The modules that a job's program loads by name."""
    kind, _, name = job.rule.partition("_")
    if kind in FOLDERS:
        return [f"paragone.reporting.{FOLDERS[kind]}.{name}"]
    engine = re.search(r'"engine": ?"(\w+)"', " ".join(job.words))
    if not engine:
        return []
    folder = "microbenchmarks.products" if job.rule == "measure_products" else "engines"
    return [*["train"] * (job.rule == "train"), f"paragone.{folder}.{engine[1]}"]


def test_code_decides_and_schemas_are_inputs(jobs):
    for job in jobs:
        program = next(word for word in job.words if word.startswith("scripts/"))
        files = code_files(program.removeprefix("scripts/"), *loaded_by_name(job))
        assert {str(path.relative_to(ROOT)) for path in files} <= job.code, job.rule
        assert SCHEMAS.get(job.rule, set()) <= job.inputs, job.rule


def test_braces_in_titles_and_labels_are_text(jobs):
    """Snakemake formats categories, messages and shell commands; what people write stays as it is."""
    for job in jobs:
        if job.rule.partition("_")[0] in FOLDERS:
            assert f"torch={BRACES}" in job.words
            assert BRACES in job.words


def test_mistake_in_the_config_is_one_message(checkout):
    """Which mistakes there are: tests/unit/test_config.py."""
    made = checkout()
    for old, new, words in (
        ("seed: 0 ", "sede: 0 ", ["config: config:", "'sede'", "seed"]),
        ("backends:\n", "backends: [\n", ["config.yaml", "line"]),
    ):
        with made.edited("config.yaml", lambda text: text.replace(old, new, 1)):  # noqa: B023
            printed = dry_run(["all", "--cores", "2"], made.folder, status=1)
        refused_by_workflow(printed, *words)
        assert not (made / "results").exists()
