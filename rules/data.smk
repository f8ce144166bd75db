# Data: find and check the raw files, then turn them into arrays, once per data set; published weights, once per model.
#
# The files and arrays are stored in `data.folder`, which checkouts and frameworks share. They are no
# outputs: Snakemake deletes outputs before a job, and here a job often finds all done.

# Mirrors are only where to look: another place with the same files must rerun nothing, so they are no params.
MIRRORS = ";".join([*config["data"]["mirrors"], os.environ.get("PARAGONE_MIRRORS", "")])

if "PARAGONE_MIRRORS" in os.environ:  # jobs elsewhere read the workflow again

    envvars:
        "PARAGONE_MIRRORS",


rule fetch:
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
        code=lambda wildcards: PLAN.code_of_data("fetch.py", wildcards.dataset),
        job=lambda wildcards: document(
            dataset=wildcards.dataset,
            # The user's files are no input, which has a time: another content is another `state`.
            block={key: v for key, v in PLAN.dataset(wildcards.dataset).items() if key != "path"},
            data={key: config["data"][key] for key in ("folder", "source")},
            state=PLAN.state_of_data(wildcards.dataset),
        ),
        files=lambda wildcards, input, output: files_with(
            input, output, path=PLAN.dataset(wildcards.dataset).get("path")
        ),
    message:
        "Looking for {wildcards.dataset}"
    shell:
        f"PARAGONE_MIRRORS={{resources.mirrors:q}} {SHOWN}"


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
    params:
        code=lambda wildcards: PLAN.code_of_data("serialize.py", wildcards.dataset),
        job=lambda _: document(folder=config["data"]["folder"]),
        # Another experiment with another model is no reason to serialize, and train, again.
        files=lambda wildcards, input, output: files_with(
            input, output, models=PLAN.models_on(wildcards.dataset)
        ),
    message:
        "Serializing {wildcards.dataset}"
    shell:
        SHOWN


use rule fetch as pretrained with:
    output:
        source="<results>/weights/{model}.json",
    log:
        "<results>/logs/weights/{model}.log",
    wildcard_constraints:
        model="[a-z0-9-]+",
    priority: 0  # as any other job: data come first
    params:
        code=lambda wildcards: code_of("fetch.py", "data", wildcards.model),
        job=lambda wildcards: document(
            model=wildcards.model,
            data={key: config["data"][key] for key in ("folder", "source", "pretrained")},
        ),
        files=files,
    message:
        "Looking for the weights of {wildcards.model}"
