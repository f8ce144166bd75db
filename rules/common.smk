# Functions that several rules share: the config, checked; the runs it asks for; the files they need.

import csv
import json
import sys

sys.path.insert(0, f"{workflow.basedir}/scripts")

from paragone.config.all_reduce_plan import FIGURE as SCALING_FIGURE
from paragone.config.all_reduce_plan import plan as allreduce_plan
from paragone.config.validate import validate
from paragone.base.errors import UserError
from paragone.config.product_plan import plan as matmul_plan
from paragone.config.expand import expand, probe, with_reference
from paragone.config.code_inputs import sources

try:
    validate(config)
    EXPERIMENTS = {name: expand(config, name) for name in config["experiments"]}
    MATMUL = matmul_plan(config)
    ALLREDUCE = allreduce_plan(config, EXPERIMENTS)
except UserError as error:
    raise WorkflowError(f"config: {error}") from None

RUNS = {spec.name: spec for specs in EXPERIMENTS.values() for spec in specs}
SCALING = [
    name
    for name, block in config["experiments"].items()
    if SCALING_FIGURE in block["figures"]
]
COMPARED = [name for name, block in config["experiments"].items() if block["published"]]


def engine_sources(program, spec, *programs):
    """The program, others that it starts, and the engine and models of a specification."""
    return sources(program, *programs, f"paragone.engines.{spec.backend['engine']}")


def pretrained_of(spec):
    """The description of the published weights that a specification starts from, if it does."""
    wanted = spec.workload["initializer"] == "imagenet"
    return (
        [f"<results>/weights/{spec.workload['model']['name']}.json"] if wanted else []
    )


def environment(spec):
    """The environment file of a specification's backend."""
    backends = with_reference(config)["backends"]
    return f"../envs/{backends[spec.backend['name']]['environment']}.yaml"


def gpus(backend, replicas=1):
    """How many GPUs a backend needs; None, which Snakemake leaves out, if none."""
    return replicas if backend["device"] == "gpu" else None


def several(workers):
    """The number of workers if there are several, else None, likewise."""
    return workers if workers > 1 else None


def probe_spec(wildcards):
    """What a backend, or the reference, computes for the parity gate of a workload."""
    return probe(config, wildcards.workload, wildcards.backend)


def records_of(wildcards):
    """The records of an experiment."""
    runs = EXPERIMENTS[wildcards.experiment]
    return [f"<results>/runs/{spec.name}/record.json" for spec in runs]


def predictions_of(wildcards):
    """The sample predictions of an experiment."""
    runs = EXPERIMENTS[wildcards.experiment]
    return [f"<results>/runs/{spec.name}/predictions.npz" for spec in runs]


def workloads_of(wildcards):
    """The names of an experiment's workloads, sorted."""
    return sorted({spec.workload["name"] for spec in EXPERIMENTS[wildcards.experiment]})


def parity_of(wildcards):
    """The parity reports of an experiment's workloads."""
    return [f"<results>/parity/{name}.json" for name in workloads_of(wildcards)]


def manifests_of(wildcards):
    """The manifests of an experiment's data sets."""
    datasets = {spec.workload["dataset"] for spec in EXPERIMENTS[wildcards.experiment]}
    return [f"<results>/data/{dataset}/manifest.json" for dataset in sorted(datasets)]


def backends_of_workload(workload):
    """The backends that train a workload in some experiment, sorted."""
    specs = [spec for spec in RUNS.values() if spec.workload["name"] == workload]
    return sorted({spec.backend["name"] for spec in specs})


def backends_of(wildcards):
    """The backends of an experiment, in the config's order."""
    used = {spec.backend["name"] for spec in EXPERIMENTS[wildcards.experiment]}
    return [name for name in config["backends"] if name in used]


def palette(wildcards):
    """Colours of an experiment's backends, name=#rrggbb."""
    return [
        f"{name}={config['backends'][name]['color']}" for name in backends_of(wildcards)
    ]


def labels(wildcards):
    """Labels of an experiment's backends, name=label."""
    return [
        f"{name}={config['backends'][name]['label']}" for name in backends_of(wildcards)
    ]


def matmul_palette():
    """Colours of the backends that multiply matrices, name=#rrggbb."""
    return [f"{name}={config['backends'][name]['color']}" for name in MATMUL]


def matmul_labels():
    """Labels of the backends that multiply matrices, name=label."""
    return [f"{name}={config['backends'][name]['label']}" for name in MATMUL]


def scaling_palette():
    """Colours of the backends that are scaled, name=#rrggbb."""
    return [f"{name}={config['backends'][name]['color']}" for name in ALLREDUCE]


def scaling_labels():
    """Labels of the backends that are scaled, name=label."""
    return [f"{name}={config['backends'][name]['label']}" for name in ALLREDUCE]


def title(wildcards):
    """The title of an experiment."""
    return config["experiments"][wildcards.experiment]["title"]


def published_of(wildcards):
    """Whose published rows an experiment is compared with; empty for none."""
    return config["experiments"][wildcards.experiment]["published"]


def printed_by_epoch():
    """The experiments whose sources print several epochs."""
    with open(workflow.source_path("../published/published.csv"), newline="") as file:
        rows = [row for row in csv.DictReader(file) if ", epoch " in row["condition"]]
    return {row["experiment"] for row in rows}


def in_formats(kind, names, suffixes):
    """The files of these figures or tables, each in every format."""
    return [
        f"<results>/{kind}/{name}.{suffix}" for name in names for suffix in suffixes
    ]


def figures_of_all():
    """Every figure of every experiment, of the matrix products, accelerators and cost model."""
    names = ["device_matmul/matmul", "accelerator_reference/accelerators"]
    if SCALING:
        names += ["scaling_model/scaling_model", "scaling_model/beyond"]
    names += [
        f"{name}/{figure}"
        for name, block in config["experiments"].items()
        for figure in block["figures"]
    ]
    return in_formats("figures", names, ("svg", "pdf", "png"))


def tables_of_all():
    """Every table."""
    by_epoch = printed_by_epoch()
    names = [
        f"{name}/comparison"
        for name in [*COMPARED, "device_matmul", "accelerator_reference"]
    ]
    names += [f"{name}/differences" for name in config["experiments"]]
    names += [
        f"{name}/epochs"
        for name in COMPARED
        if config["experiments"][name]["published"] in by_epoch
    ]
    names += [f"{name}/scaling" for name in SCALING]
    if SCALING:
        names += ["scaling_model/steps", "scaling_model/published"]
    return [
        "<results>/tables/runs.csv",
        "<results>/tables/runs.parquet",
        "<results>/tables/epochs.csv",
        "<results>/tables/device_matmul/matmul.csv",
        "<results>/tables/device_matmul/peaks.json",
        *in_formats("tables", names, ("csv", "md", "tex")),
    ]
