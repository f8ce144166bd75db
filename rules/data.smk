# Data: find and check the raw files, then turn them into arrays, once per data set; published
# weights likewise, once per model.
#
# The files and arrays are stored in `data.folder`, which checkouts and frameworks share. They are no
# outputs: Snakemake deletes outputs before a job, and here a job often finds all done.

# Mirrors are only where to look: another place with the same files must rerun nothing, so they are no params.
MIRRORS = ";".join([*config["data"]["mirrors"], os.environ.get("PARAGONE_MIRRORS", "")])

if "PARAGONE_MIRRORS" in os.environ:  # jobs elsewhere read the workflow again

    envvars:
        "PARAGONE_MIRRORS",


rule fetch:
    input:
        # Another content is another data set: `state` has the program look. What is missing is an error of
        # the program, unless a stand-in is asked for.
        files=lambda wildcards: PLAN.data_files(wildcards.dataset),
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
        asked=lambda wildcards: PLAN.asked_of_dataset(wildcards.dataset),
        state=lambda wildcards: PLAN.state_of_data(wildcards.dataset),
    message:
        "Looking for {wildcards.dataset}"
    shell:
        r"""
        PARAGONE_MIRRORS={resources.mirrors:q} python {params.code[0]:q} \
            @<(printf '%s\n' {params.asked:q}) \
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
        code=lambda wildcards: PLAN.code_of_data("serialize.py", wildcards.dataset),
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


use rule fetch as pretrained with:
    input:
        [],
    output:
        source="<results>/weights/{model}.json",
    log:
        "<results>/logs/weights/{model}.log",
    wildcard_constraints:
        model="[a-z0-9-]+",
    priority: 0  # as any other job: data come first
    params:
        code=PLAN.code("fetch.py"),
        asked=lambda wildcards: PLAN.asked_of_weights(wildcards.model),
        state="",
    message:
        "Looking for the weights of {wildcards.model}"
