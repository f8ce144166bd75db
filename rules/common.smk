# What several rules share: the plan of this call, made from the config, and what happens around its jobs.
#
# What a job is asked: a program reads one JSON document, see `paragone.base.typed_json`, of two parts. `params.job` has what
# decides its result, as `document` makes it: another one is another job. `params.files` has where it reads and writes,
# and what it may use, as `files` makes it: Snakemake compares no params that depend on input, output or threads.
#
# What a job says: QUIET keeps it in the log, SHOWN shows it, too, and PROGRESS all but stderr. RESUMED is of jobs that
# continue: it appends to the log, and a full disk of logs does not cost the result.

import io
import os
import shutil
import sys
import time
from argparse import ArgumentParser
from contextlib import redirect_stderr, suppress

sys.path.insert(0, str(PROJECT / "scripts"))

import msgspec
from paragone.base.atomic_files import canonical
from paragone.base.errors import UserError, message_of
from paragone.base.locks import hold_results
from paragone.base.processes import mend_shell
from paragone.config.decode import with_expanded_paths
from paragone.config.read import merged, read
from paragone.plan.code import code_of, content_of
from paragone.plan.exhibits import FIGURES, PUBLISHED, TABLES
from paragone.plan.plan import AGAIN, RECORD, Plan
from snakemake.cli import parse_args
from snakemake.resources import Resources
from snakemake_interface_executor_plugins.settings import DeploymentMethod

START = time.time()
mend_shell()
try:
    DEFAULTS = read(PROJECT / "config.yaml")  # before Snakemake does, in one message
except UserError as error:
    raise WorkflowError(f"config: {error}") from None


configfile: PROJECT / "config.yaml"


try:
    for path in workflow.configfiles:
        read(Path(path))  # Snakemake takes what `read` refuses
    if DEFAULTS.keys() - config.keys():  # where this is a module, `config` may hold changes only
        config.update(merged(DEFAULTS, config))
    methods = workflow.deployment_settings.deployment_method
    PLAN = Plan(config, PROJECT, by_conda=DeploymentMethod.CONDA in methods)
    # Snakemake has read this path as it is written in a config, or in the module's `pathvars`.
    results = with_expanded_paths(workflow.pathvars.get("results"), "pathvars.results")
except Exception as error:
    raise WorkflowError(f"config: {message_of(error)}") from None
for notice in PLAN.notices if workflow.is_main_process else ():
    print(f"notice: {notice}", file=sys.stderr)

# The `prefix` of a module moves its results, and neither the checkout's files nor the user's.
PLACES = workflow.modifier.path_modifier
RESULTS = Path(PLACES.replace_prefix(results))
PLAN.config.pathvars.results = workflow.pathvars.items["results"] = str(RESULTS)
PLACES.prefix = None
if PLACES.modifies_prefixes or PLACES.replace_prefix("<results>") != "<results>":
    raise WorkflowError(
        "module: replace_prefix, or a prefix around it: write pathvars: results=... here"
    )
# What Snakemake knows of files, by which it sees what has changed, and a copy of it for results that are copied alone.
METADATA, COPIED = Path(".snakemake/metadata"), RESULTS / "metadata.tar.gz"
if workflow.is_main_process and COPIED.exists() and not any(METADATA.glob("*")):
    with suppress(OSError, EOFError):  # of a damaged copy
        shutil.unpack_archive(COPIED, METADATA, filter="data")
    # Without it, Snakemake takes them for those of an old release.
    Path(".snakemake/incomplete").mkdir(exist_ok=True)

RUN = "python {params.files[0]:q}/{params.code[0]:q} <(printf '[%s, %s]' {params.job:q} {params.files[1]:q})"
QUIET = f"{RUN} >{{log:q}} 2>&1"
SHOWN = f"{RUN} 2>&1 | tee {{log:q}}"
PROGRESS = f"{RUN} 2>{{log:q}} | tee -a {{log:q}}"
RESUMED = f"{RUN} 2>>{{log:q}} | {{{{ tee -a {{log:q}} || true; }}}}"


def keep_profile(arguments):
    """Let the command line change what it names of the profile's resources and threads, and no more.

    Snakemake takes such an option in the place of all that the profile has there, memory and times included.
    """
    parser = ArgumentParser(add_help=False)
    parser.add_argument("--default-resources", "--default-res", nargs="*", default=[])
    for option in ("--resources", "--set-resources", "--set-threads"):
        parser.add_argument(option, nargs="*")
    given, others = parser.parse_known_args(arguments)
    if not any(vars(given).values()):
        return
    with redirect_stderr(io.StringIO()):  # which repeats the name of the profile
        profile = parse_args(others)[1]
    settings = workflow.resource_settings
    settings.default_resources = Resources.parse(given.default_resources, allow_expressions=True)
    for kept, of_profile in (
        (settings.default_resources, profile.default_resources or Resources.default("full")),
        (settings.overwrite_threads, profile.set_threads),
        (workflow.global_resources, profile.resources),
        *(
            (settings.overwrite_resources.setdefault(rule, Resources()), resources)
            for rule, resources in profile.set_resources.items()
        ),
    ):
        for name, value in of_profile.items():
            kept.setdefault(name, value)


if workflow.is_main_process:
    keep_profile(sys.argv[1:])


wildcard_constraints:
    dataset="(tfds/)?[a-z0-9_]+",
    experiment="|".join(PLAN.sections),
    workload="[a-z0-9-]+",
    backend="[a-z0-9.-]+",
    record=f"{RECORD}|{AGAIN}",


onstart:
    global HELD  # a lock ends with its object
    check_submission()
    try:
        HELD = hold_results(RESULTS, trainers=workflow.local_exec)
    except UserError as error:
        raise WorkflowError(str(error)) from None
    # A clock was set back: a job must not read what is newer than its output.
    for path in RESULTS.rglob("*"):
        with suppress(OSError):  # of a file that is gone, or another user's
            if path.lstat().st_mtime > START:
                os.utime(path, (START - 1, START - 1), follow_symlinks=False)


onerror:
    end_call()


onsuccess:
    end_call()
    answers, page = RESULTS / "answers.md", RESULTS / "index.html"
    if answers.exists() and answers.stat().st_mtime >= START:
        print("", answers.read_text(encoding="utf-8"), sep="\n")
        print(f"All of it, with figures, tables and runs: {page}" if page.exists() else "")


def document(**values):
    """The part of a job's document that decides its result."""
    return canonical(msgspec.to_builtins(values))


def files(wildcards, input, output):
    """Where the project is, and the part of a job's document that reruns nothing: its named files."""
    return files_with(input, output)


def files_with(input, output, **values):
    """The same with other values."""
    return [PLAN.path(""), canonical({**input, **output, **values})]


def end_call():
    """Keep what Snakemake knows of the results with them, and print again what the jobs noticed."""
    with suppress(OSError):  # of a full disk
        made = shutil.make_archive(RESULTS / ".metadata", "gztar", METADATA)
        os.replace(made, COPIED)
    for notice in PLAN.notices_of_jobs(START):
        print(notice, file=sys.stderr)


def check_submission():
    """Raise `WorkflowError` where the profile leaves Slurm to guess what decides the times, or the bill."""
    if workflow.executor_plugin.name != "slurm":
        return
    remedy = "set it under default-resources in the workflow profile (profiles/slurm/profile.yaml)"
    submitted = [rule.resources for rule in workflow.rules if not workflow.is_local(rule)]
    if not all("slurm_partition" in resources for resources in submitted):
        raise WorkflowError(f"slurm: no slurm_partition; {remedy} to one that `sinfo` lists")
    free = workflow.executor_settings.no_account
    if not (free or all("slurm_account" in resources for resources in submitted)):
        raise WorkflowError(
            f"slurm: no slurm_account; {remedy}, or slurm-no-account: true where nobody is charged"
        )
    if shutil.which("sbatch") is None:
        raise WorkflowError("slurm: no sbatch on PATH; submit from a login node")
