# Data: find and check the raw files, then turn them into arrays, once per data set; published
# weights likewise, once per model.
#
# in:  the `data` block of the config; mirrors, the network, or neither
# out: <results>/data/{dataset}/source.json    which files, from where, their checksums
#      <results>/data/{dataset}/manifest.json  the arrays' shapes, checksums and edition
#      <results>/weights/{model}.json          the published weights of a model, or that there are none
#
# The files and arrays are stored in `data.folder`, which checkouts and frameworks share. They are no
# outputs: Snakemake deletes outputs before a job, and here a job often finds all done.

# Mirrors are only where to look: another place with the same files must rerun nothing, so they are
# no params. The program reads them from its environment.
os.environ["PARAGONE_MIRRORS"] = ";".join(
    dict.fromkeys(
        [
            *config["data"]["mirrors"],
            *os.environ.get("PARAGONE_MIRRORS", "").split(";"),
        ]
    )
)


envvars:
    "PARAGONE_MIRRORS",


rule fetch:
    input:
        code=code_inputs("fetch.py"),
    output:
        source="<results>/data/{dataset}/source.json",
    log:
        "<results>/logs/data/{dataset}/fetch.log",
    conda:
        "../envs/tensorflow.yaml"
    params:
        # What shapes the data, and nothing more: a change of it fetches anew.
        settings=lambda wildcards: json.dumps(
            {
                **{k: v for k, v in config["data"].items() if k != "pretrained"},
                "mirrors": [],
                "editions": {
                    wildcards.dataset: config["data"]["editions"].get(wildcards.dataset, {})
                },
            },
            sort_keys=True,
        ),
    message:
        "Looking for {wildcards.dataset}"
    shell:
        r"""
        python {input.code[0]:q} \
            --dataset {wildcards.dataset:q} \
            --config-data {params.settings:q} \
            --output {output.source:q} \
            2>&1 | tee {log:q}
        """


rule serialize:
    input:
        code=code_inputs("serialize.py"),
        source="<results>/data/{dataset}/source.json",
    output:
        manifest="<results>/data/{dataset}/manifest.json",
    log:
        "<results>/logs/data/{dataset}/serialize.log",
    conda:
        "../envs/tensorflow.yaml"
    params:
        folder=config["data"]["folder"],
    message:
        "Serializing {wildcards.dataset}"
    shell:
        r"""
        python {input.code[0]:q} \
            --source {input.source:q} \
            --folder {params.folder:q} \
            --output {output.manifest:q} \
            >{log:q} 2>&1
        """


rule pretrained:
    input:
        code=code_inputs("fetch.py"),
    output:
        weights="<results>/weights/{model}.json",
    log:
        "<results>/logs/weights/{model}.log",
    wildcard_constraints:
        model="[a-z0-9-]+",
    conda:
        "../envs/tensorflow.yaml"
    params:
        settings=lambda wildcards: json.dumps(
            {
                **{key: config["data"][key] for key in ("folder", "source")},
                "pretrained": {
                    wildcards.model: config["data"]["pretrained"].get(wildcards.model, {})
                },
            },
            sort_keys=True,
        ),
    message:
        "Looking for the weights of {wildcards.model}"
    shell:
        r"""
        python {input.code[0]:q} \
            --model {wildcards.model:q} \
            --config-data {params.settings:q} \
            --output {output.weights:q} \
            2>&1 | tee {log:q}
        """
