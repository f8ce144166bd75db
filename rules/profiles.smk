# Profiles, on request: why is a way as fast as it is? The costliest operations of a step, by the framework's own
# profiler. Of each cell the run of the first seed; nothing of a run's record is read or written.
#
#   snakemake profiles       then `snakemake all`, which shows them on the page
#
# in:  <results>/data/{dataset}/manifest.json, and the arrays it names
#      <results>/weights/{model}.json       where a workload starts from published weights
# out: <results>/profiles/{run}.json

from paragone.config.profilers import loaded_for


rule profile_steps:
    input:
        schema=project("rules/schemas/profile.schema.json"),
        manifest=lambda wildcards: manifest_of(RUNS[wildcards.run]),
        weights=lambda wildcards: pretrained_of(RUNS[wildcards.run]),
    output:
        "<results>/profiles/{run}.json",
    log:
        "<results>/logs/profiles/{run}.log",
    conda:
        lambda wildcards: environment(RUNS[wildcards.run].backend["name"])
    threads: lambda wildcards: workflow.cores
    resources:
        machine=100,
        gpu=lambda wildcards: gpus(RUNS[wildcards.run].backend, RUNS[wildcards.run].replicas),
    params:
        code=lambda wildcards: engine_code(
            "profile_steps.py",
            RUNS[wildcards.run],
            *loaded_for(RUNS[wildcards.run].backend["engine"]),
        ),
        spec=lambda wildcards: RUNS[wildcards.run].to_json(),
        data_folder=config["data"]["folder"],
        weights=lambda _, input: [f"--weights={path}" for path in input.weights],
    message:
        "Profiling {wildcards.run}"
    shell:
        r"""
        python {params.code[0]:q} \
            --spec {params.spec:q} \
            --manifest {input.manifest:q} \
            --data-folder {params.data_folder:q} \
            {params.weights:q} \
            --threads {threads} \
            --output {output:q} \
            2>{log:q} | tee -a {log:q}
        """


rule profiles:
    input:
        profiles_of_cells(),
