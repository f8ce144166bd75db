# Data: find and check the raw files, then turn them into arrays, once per data set; published
# weights likewise, once per model.
#
# in:  the blocks `data` and `datasets` of the config; the user's files; mirrors, the network, or neither
# out: <results>/data/{dataset}/source.json    which files, from where, their checksums
#      <results>/data/{dataset}/manifest.json  the arrays' shapes, checksums and edition
#      <results>/weights/{model}.json          the published weights of a model, or that there are none
#
# The files and arrays are stored in `data.folder`, which checkouts and frameworks share. They are no
# outputs: Snakemake deletes outputs before a job, and here a job often finds all done.

from paragone.config.datasets import data_modules, data_paths, state_of_files

# Mirrors are only where to look: another place with the same files must rerun nothing, so they are no params.
MIRRORS = ";".join([*config["data"]["mirrors"], os.environ.get("PARAGONE_MIRRORS", "")])

if "PARAGONE_MIRRORS" in os.environ:  # jobs elsewhere read the workflow again

    envvars:
        "PARAGONE_MIRRORS",


# What decides where data are looked for, and nothing more: a change of it fetches anew.
DATA_SETTINGS = {key: config["data"][key] for key in ("folder", "source", "lock")}


rule fetch:
    input:
        # Another content is another data set: `state` has the program look, and the lock file notices. What
        # is missing is an error of the program, unless a stand-in is asked for.
        files=lambda wildcards: (
            []
            if config["data"]["source"] == "synthetic"
            else data_paths(PLAN.dataset(wildcards.dataset))
        ),
    output:
        source="<results>/data/{dataset}/source.json",
    log:
        "<results>/logs/data/{dataset}/fetch.log",
    priority: 3  # probes and runs wait for data, and a data set keeps one core busy: begin with them
    conda:
        "../envs/tensorflow.yaml"
    resources:
        mirrors=MIRRORS,
    params:
        code=lambda wildcards: PLAN.code(
            "fetch.py", None, *data_modules(PLAN.dataset(wildcards.dataset))
        ),
        block=lambda wildcards: json.dumps(PLAN.dataset(wildcards.dataset), sort_keys=True),
        settings=json.dumps(DATA_SETTINGS, sort_keys=True),
        state=lambda wildcards: state_of_files(PLAN.dataset(wildcards.dataset)),
    message:
        "Looking for {wildcards.dataset}"
    shell:
        r"""
        PARAGONE_MIRRORS={resources.mirrors:q} python {params.code[0]:q} \
            --dataset {wildcards.dataset:q} \
            @<(printf '%s\n' --block {params.block:q} --config-data {params.settings:q}) \
            --output {output.source:q} \
            2>&1 | tee {log:q}
        """


rule serialize:
    input:
        source="<results>/data/{dataset}/source.json",
    output:
        manifest="<results>/data/{dataset}/manifest.json",
    log:
        "<results>/logs/data/{dataset}/serialize.log",
    priority: 2
    conda:
        "../envs/tensorflow.yaml"
    resources:
        # No params: another experiment with another model is no reason to serialize, and train, again.
        models=lambda wildcards: " ".join(PLAN.models_on(wildcards.dataset)),
    params:
        code=lambda wildcards: PLAN.code(
            "serialize.py", None, *data_modules(PLAN.dataset(wildcards.dataset))
        ),
        folder=config["data"]["folder"],
    message:
        "Serializing {wildcards.dataset}"
    shell:
        r"""
        python {params.code[0]:q} \
            --source {input.source:q} \
            --folder {params.folder:q} \
            --models {resources.models} \
            --output {output.manifest:q} \
            2>&1 | tee {log:q}
        """


rule pretrained:
    output:
        weights="<results>/weights/{model}.json",
    log:
        "<results>/logs/weights/{model}.log",
    wildcard_constraints:
        model="[a-z0-9-]+",
    conda:
        "../envs/tensorflow.yaml"
    resources:
        mirrors=MIRRORS,
    params:
        code=PLAN.code("fetch.py"),
        settings=lambda wildcards: PLAN.pretrained(wildcards.model),
    message:
        "Looking for the weights of {wildcards.model}"
    shell:
        r"""
        PARAGONE_MIRRORS={resources.mirrors:q} python {params.code[0]:q} \
            --model {wildcards.model:q} \
            @<(printf '%s\n' --config-data {params.settings:q}) \
            --output {output.weights:q} \
            2>&1 | tee {log:q}
        """
