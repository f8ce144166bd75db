# Conformity: each way of training that a plugin brings, tried as the project tries its own.
#
#   snakemake --cores 2 conform --configfile mine.yaml
#
# in:  data, parity reports and probes of its workloads
# out: a table on the terminal, <results>/conform.csv
#      <results>/conform/{way}.json   what became of the short runs of a workload on a backend
#
# A plugin that fails is a result: the table says so.

from paragone.config.trials import trials

TRIALS = trials(config, RUNS)


rule try_way:
    input:
        schema=project("rules/schemas/record.schema.json"),
        manifest=lambda wildcards: manifest_of(TRIALS[wildcards.way]),
        weights=lambda wildcards: pretrained_of(TRIALS[wildcards.way]),
        first_steps=lambda wildcards: reference_of(TRIALS[wildcards.way]),
    output:
        "<results>/conform/{way}.json",
    log:
        "<results>/logs/conform/{way}.log",
    conda:
        lambda wildcards: environment(TRIALS[wildcards.way].backend["name"])
    threads: lambda wildcards: workflow.cores
    resources:
        machine=100,
        gpu=lambda wildcards: gpus(TRIALS[wildcards.way].backend, TRIALS[wildcards.way].replicas),
    params:
        code=lambda wildcards: engine_code("try_way.py", TRIALS[wildcards.way], "launch", "train"),
        spec=lambda wildcards: TRIALS[wildcards.way].to_json(),
        data_folder=config["data"]["folder"],
        weights=lambda _, input: [f"--weights={path}" for path in input.weights],
        first_steps=lambda _, input: [f"--first-steps={path}" for path in input.first_steps],
    message:
        "Trying {wildcards.way}"
    shell:
        r"""
        python {params.code[0]:q} \
            --spec {params.spec:q} \
            --manifest {input.manifest:q} \
            --data-folder {params.data_folder:q} \
            {params.weights:q} \
            {params.first_steps:q} \
            --threads {threads} \
            --output {output:q} \
            >{log:q} 2>&1
        """


rule conform:
    input:
        trials=[f"<results>/conform/{way}.json" for way in TRIALS],
        parity=sorted(
            {f"<results>/parity/{spec.workload['name']}.json" for spec in TRIALS.values()}
        ),
    output:
        csv="<results>/conform.csv",
    log:
        "<results>/logs/conform.log",
    conda:
        "../envs/workflow.yaml"
    params:
        code=code_of("conform.py"),
        parity=f"{config['pathvars']['results']}/parity",
    message:
        "Judging what plugins bring"
    shell:
        r"""
        python {params.code[0]:q} \
            --trials {input.trials:q} \
            --parity {params.parity:q} \
            --csv {output.csv:q} \
            2>&1 | tee {log:q}
        """
