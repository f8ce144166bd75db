"""The inputs that each job declares, tables and schemas, and the code that decides its result."""

import re
import shlex
from dataclasses import dataclass

import pytest
import snakemake_server
from plan import Plan
from workspace import ROOT, Checkout, environment

from paragone.config.code_files import code_files
from paragone.reporting.inputs import FILES

PRESET = "smoke"
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
SCHEMAS = {
    "train": {"record.schema.json"},
    "collect": {"record.schema.json", "compliance.csv"},
    "measure_products": {"matmul.schema.json"},
    "collect_products": {"matmul.schema.json"},
}


@dataclass(frozen=True)
class Job:
    """One job of the dry run."""

    rule: str
    code: set[str]
    inputs: set[str]
    command: str

    @property
    def words(self) -> list[str]:
        """The words of its first command."""
        return shlex.split(self.command.replace("\\\n", " ").partition(">")[0])

    def named(self, option: str) -> list[str]:
        """The values of an option."""
        words = self.words
        if f"--{option}" not in words:
            return []
        rest = words[words.index(f"--{option}") + 1 :]
        ends = [at for at, word in enumerate(rest) if word.startswith("--")]
        return rest[: ends[0]] if ends else rest


@pytest.fixture(scope="module")
def jobs(tmp_path_factory) -> list[Job]:
    made = Checkout(tmp_path_factory.mktemp("inputs") / "checkout")
    (made / "inputs.smk").write_text(SHOW_INPUTS)
    line = ["all", "--snakefile", "inputs.smk", "--configfile", f"presets/{PRESET}.yaml"]
    line += ["--cores", "2", "--dry-run", "--printshellcmds"]
    done = snakemake_server.call(line, made.folder, environment())
    assert done.returncode == 0, done.stdout
    shown = r"Job \d+: (\S+) runs (.*) reads (.*)\n(?:Reason: .*\n)?Shell command: ((?:.*\n)+?)\n"
    found = [
        Job(rule, set(code.split()), set(inputs.split()), command)
        for rule, code, inputs, command in re.findall(shown, done.stdout)
        if rule != "all"
    ]
    expected = Plan(PRESET).jobs()
    del expected["all"]
    assert {rule: sum(job.rule == rule for job in found) for rule in expected} == expected
    return found


def test_the_files_that_a_figure_or_table_reads_are_its_inputs(jobs):
    """One that reads another file ends with a message that names its option."""
    for job in jobs:
        if job.rule.partition("_")[0] in FOLDERS:
            given = {option for option in (*FILES, "published") if job.named(option)}
            files = {file for option in given - {"published"} for file in job.named(option)}
            files |= {"published/published.csv"} if "published" in given else set()
            assert files
            assert files <= job.inputs, job.rule


def loaded_by_name(job: Job) -> list[str]:
    """The modules that a job's program loads by name."""
    kind, _, name = job.rule.partition("_")
    if kind in FOLDERS:
        return [f"paragone.reporting.{FOLDERS[kind]}.{name}"]
    engine = re.search(r'"engine": ?"(\w+)"', job.command)
    if not engine:
        return []
    folders = {
        "measure_products": "microbenchmarks.products",
    }
    own = [f"paragone.{folders.get(job.rule, 'engines')}.{engine[1]}"]
    return ["train", *own] if job.rule == "train" else own


def test_code_decides_and_schemas_are_inputs(jobs):
    for job in jobs:
        program = job.words[1].removeprefix("scripts/")
        code = {str(path.relative_to(ROOT)) for path in code_files(program, *loaded_by_name(job))}
        assert code <= job.code, job.rule
        needed = {f"rules/schemas/{name}" for name in SCHEMAS.get(job.rule, ())}
        assert needed <= job.inputs, job.rule
