# The config, the plan that it asks for, and what rules need of it.

import json
import os
import sys
from pathlib import Path

HERE = Path(workflow.current_basedir.get_path_or_uri(secret_free=True))
PROJECT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(PROJECT / "scripts")]

import msgspec

from ahead_of_time.plan import plan_of
from paragone.base import plugins
from paragone.base.errors import UserError
from paragone.config.numbers import numbers_of
from paragone.config.papers import with_papers
from paragone.plan.code import code_of, loaded_names


configfile: PROJECT / "config.yaml"
configfile: HERE / "config.yaml"


try:
    KNOWN = {name: paper for paper in with_papers(config, PROJECT) for name in paper.published}
    plugins.use(config["plugins"])
    PLAN = plan_of(config)
    CITED = {
        str(paper.folder): paper
        for row in PLAN.block.published
        for paper in [numbers_of(KNOWN, row.experiment, "ahead_of_time.published")]
    }
except UserError as error:
    raise WorkflowError(f"config: {error}") from None

RESULTS = "<results>/ahead_of_time"
TARGETS = {name: msgspec.json.encode(one).decode() for name, one in PLAN.block.targets.items()}
# The environment of each compiler.
COMPILERS = {"tpu": "jax-tpu", "cuda": "jax-cuda"}
FIGURES = {"published_bounds": PLAN.published, "compiled_scaling": PLAN.scaling}
TABLES = {
    "published_bounds": PLAN.published,
    "compiled": dict.fromkeys([*PLAN.published, *PLAN.scaling]),
}
FILES = {"figures": ("svg", "pdf", "png", "csv"), "tables": ("csv", "md", "json")}
# How all of them are titled, and how backends are shown.
ABOUT = json.dumps(
    {
        "title": PLAN.block.title,
        "systems": PLAN.systems,
        "labels": {name: block["label"] for name, block in config["backends"].items()},
        "palette": {name: block["color"] for name, block in config["backends"].items()},
    }
)
EXHIBITS = [("figures", name) for name in FIGURES] + [("tables", name) for name in TABLES]


def program(name, group, *specs):
    """See `code_of`: a program of this workflow."""
    path, code = code_of(f"workflows/ahead_of_time/{name}", group, *loaded_names(*specs))
    return [os.path.relpath(PROJECT / path), code]


def environment(wildcards):
    """The environment file of the backend of a step."""
    backend = config["backends"][PLAN.steps[wildcards.step].backend.name]
    return f"../../envs/{backend['environment']}.yaml"


def about(wildcards):
    """The options of a program that say what a step is."""
    example = msgspec.json.encode(PLAN.example(wildcards.step)).decode()
    return ["--spec", PLAN.steps[wildcards.step].to_json(), "--example", example]
