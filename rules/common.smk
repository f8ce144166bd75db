# What several rules share: the config, checked; the runs it asks for; the files that belong to them.

import json
import os
import time

from paragone.base import plugins
from paragone.base.locks import Held, Lock
from paragone.config.code_files import code_of
from paragone.config.datasets import block_of, data_modules, data_paths, state_of_files
from paragone.config.expand import expand, first_steps, probes_of, with_reference
from paragone.config.loaders import loaded_modules
from paragone.config.measurement_plans import products, squares
from paragone.config.narrow import narrow
from paragone.config.own_files import check_named, rows
from paragone.config.questions import questions
from paragone.config.schedule import schedule
from paragone.config.validate import validate
from paragone.records import sweep

try:
    if DEFAULTS.keys() - config.keys():  # where this is a module, `config` may hold changes only
        fill(config, DEFAULTS)
    plugins.use(config["plugins"], drawing=bool(config["records_only"]))
    validate(config)
    LEFT_OUT = narrow(config)
    EXPERIMENTS = {name: expand(config, name) for name in config["experiments"]}
    if not config["records_only"]:
        check_named(spec for specs in EXPERIMENTS.values() for spec in specs)
    PRODUCTS = products(config)
except UserError as error:
    raise WorkflowError(f"config: {error}") from None

for sentence in LEFT_OUT if workflow.is_main_process else ():
    print(f"notice: left out: {sentence}", file=sys.stderr)
START = time.time()
RUNS = {spec.name: spec for specs in EXPERIMENTS.values() for spec in specs}
# What has a folder of figures and tables: experiments, and what is measured beside them.
SECTIONS = {
    **config["experiments"],
    "device_matmul": config["matmul"],
    "accelerator_reference": config["accelerator_reference"],
}


wildcard_constraints:
    dataset="(tfds/)?[a-z0-9_]+",
    experiment="|".join(SECTIONS),
    workload="[a-z0-9-]+",
    backend="[a-z0-9-]+",


def project(path):
    """A file of this checkout, as seen from the working directory."""
    return os.path.relpath(PROJECT / path)


def engine_code(program, spec, *modules):
    """See `code_of`: a program that also loads engine, models and loader of a specification by name."""
    return code_of(program, *modules, *loaded_modules(spec))


def pretrained_of(spec):
    """The description of the published weights that a specification starts from, if it does."""
    wanted = spec.workload["initializer"] == "imagenet"
    return [f"<results>/weights/{spec.workload['model']['name']}.json"] if wanted else []


def manifest_of(spec):
    """The manifest of a specification's data set."""
    return f"<results>/data/{spec.workload['dataset']}/manifest.json"


def block_of_dataset(wildcards):
    """The block of a data set."""
    return block_of(config, wildcards.dataset, "datasets")


def environment(backend):
    """The environment file of a backend, or of the parity gate's reference."""
    name = with_reference(config)["backends"][backend]["environment"]
    return plugins.environment(name) or f"../envs/{name}.yaml"


def gpus(backend, replicas=1):
    """How many GPUs a backend needs; None, which Snakemake leaves out, if none."""
    return replicas if backend["device"] == "gpu" else None


def several(workers):
    """The number of workers if there are several, else None, likewise."""
    return workers if workers > 1 else None


def records(runs):
    """The records of runs, by their names."""
    return [f"<results>/runs/{run}/record.json" for run in runs]


def runs_of(experiment):
    """The names of the runs of an experiment."""
    if isinstance(config["records_only"], dict):
        return config["records_only"][experiment]
    return [spec.name for spec in EXPERIMENTS[experiment]]


def reading(wildcards):
    """The priority of what only reads results.

    Nothing runs beside a timed run, and figures are drawn two at a time: they wait for the last run, unless
    they are to be watched. `snakemake all so_far` draws those of an experiment as soon as its runs are done.
    """
    watched = any("so_far" in str(target) for target in workflow.dag_settings.targets)
    return 1 if watched else -1_000_000


def records_of(wildcards):
    """The records of an experiment."""
    return records(runs_of(wildcards.experiment))


def all_records(_):
    """The records of all experiments, each once."""
    return list(dict.fromkeys(path for name in EXPERIMENTS for path in records(runs_of(name))))


def parity_of(wildcards):
    """The parity reports of an experiment's workloads."""
    names = {spec.workload["name"] for spec in EXPERIMENTS[wildcards.experiment]}
    return [f"<results>/parity/{name}.json" for name in sorted(names)]


def manifests_of(wildcards):
    """The manifests of an experiment's data sets."""
    return manifests_of_experiment(wildcards.experiment)


def manifests_of_experiment(experiment):
    """The same, by its name; from records alone those that are there."""
    found = sorted({manifest_of(spec) for spec in EXPERIMENTS[experiment]})
    return present(found) if config["records_only"] else found


def probes(backend):
    """What a backend, or the reference, computes for the parity gate of each of its workloads."""
    return probes_of(config, backend, RUNS.values())


def reference_of(run):
    """What the first steps of a run are compared with, if anything."""
    spec = EXPECTED[run.name]
    return [f"<results>/parity/first_steps/{spec.name}.npz"] if spec else []


def backends_of_workload(workload):
    """The backends that train a workload in some experiment, sorted."""
    specs = [spec for spec in RUNS.values() if spec.workload["name"] == workload]
    return sorted({spec.backend["name"] for spec in specs})


def present(paths):
    """Those of some results that exist."""
    results = config["pathvars"]["results"]
    return [path for path in paths if Path(path.replace("<results>", results)).exists()]


def hold_results():
    """Keep every other call that would write the same results out, until this process ends."""
    global HELD
    folder = Path(config["pathvars"]["results"])
    try:
        HELD = Lock(folder / ".lock")
    except Held as held:
        raise WorkflowError(
            f"{folder.resolve()}: {held} writes these results; wait for it or end it"
        ) from None
    except OSError as error:
        raise WorkflowError(
            f"{folder.resolve() / '.lock'}: {error.strerror}; name results that you can write to, on a "
            "file system with locks"
        ) from None
    # Beside a trainer that lives on, others would be timed.
    for lock in (folder / "runs").glob("*/checkpoints/lock") if workflow.local_exec else ():
        try:
            Lock(lock).release()
        except Held as held:
            raise WorkflowError(
                f"{lock.parent}: {held} still trains, left by an interrupted snakemake; wait for it or end it"
            ) from None


def follow_runs():
    """Print how far all runs are, now and each time one ends, if any is to be trained."""
    asked = [
        job.wildcards.run for job in workflow.dag.needrun_jobs() if job.rule.name.endswith("train")
    ]
    if asked:
        folder = Path(config["pathvars"]["results"]) / "runs"
        sweep.watch(asked, folder, lambda line: print(f"[all runs] {line}", flush=True))


def show_answers():
    """Print the answers that this call wrote, and where the page is, at the end of what it prints."""
    results = Path(config["pathvars"]["results"])
    answers, page = results / "answers.md", results / "index.html"
    if answers.exists() and answers.stat().st_mtime >= START:
        print("", answers.read_text(encoding="utf-8"), sep="\n")
        if page.exists() and page.stat().st_mtime >= START:
            print(f"All of it, with figures, tables and runs: {page}")
