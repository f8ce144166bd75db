# All-reduce: what it costs to add up a gradient over the replicas of a backend.
#
# in:  the `scaling` block of the config; backends and replicas of the experiments with its figure
# out: <results>/allreduce/{backend}.json                       every timed run of one backend
#      <results>/tables/scaling_model/allreduce.parquet, .csv   one row a timed run


rule allreduce:
    input:
        code=lambda wildcards: sources(
            "scripts/allreduce.py",
            f"paragone.microbenchmarks.all_reduces.{ALLREDUCE[wildcards.backend]['backend']['engine']}",
        ),
        schema="rules/schemas/allreduce.schema.json",
    output:
        result="<results>/allreduce/{backend}.json",
    log:
        "<results>/logs/allreduce/{backend}.log",
    conda:
        lambda wildcards: (
            f"../envs/{config['backends'][wildcards.backend]['environment']}.yaml"
        )
    threads: lambda wildcards: workflow.cores
    resources:
        machine=100,
        gpu=lambda wildcards: gpus(
            ALLREDUCE[wildcards.backend]["backend"],
            max(ALLREDUCE[wildcards.backend]["replicas"]),
        ),
    params:
        backend=lambda wildcards: json.dumps(ALLREDUCE[wildcards.backend]["backend"]),
        replicas=lambda wildcards: ALLREDUCE[wildcards.backend]["replicas"],
        bytes=config["scaling"]["allreduce"]["bytes"],
        repeats=config["scaling"]["allreduce"]["repeats"],
    message:
        "Timing all-reduces of {wildcards.backend}"
    shell:
        r"""
        python {input.code[0]:q} \
            --backend {params.backend:q} \
            --replicas {params.replicas} \
            --bytes {params.bytes} \
            --repeats {params.repeats} \
            --threads {threads} \
            --output {output.result:q} \
            2>{log:q} | tee -a {log:q}
        """


rule tabulate_allreduce:
    input:
        code=sources("scripts/tabulate_allreduce.py"),
        schema="rules/schemas/allreduce.schema.json",
        results=collect("<results>/allreduce/{backend}.json", backend=list(ALLREDUCE)),
    output:
        csv="<results>/tables/scaling_model/allreduce.csv",
        parquet="<results>/tables/scaling_model/allreduce.parquet",
    log:
        "<results>/logs/tables/scaling_model/allreduce.log",
    priority: 1
    conda:
        "../envs/workflow.yaml"
    message:
        "Collecting all-reduces"
    shell:
        r"""
        python {input.code[0]:q} \
            --results {input.results:q} \
            --output {output.csv:q} {output.parquet:q} \
            >{log:q} 2>&1
        """
