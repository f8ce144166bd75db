# Measurements beside training: matrix products, and all-reduces over the replicas of a backend.
#
# in:  the `matmul` and `scaling` blocks of the config; backends and replicas of the experiments that
#      have the figure `scaling`
# out: <results>/matmul/{backend}.json      every timed product of one backend
#      <results>/allreduce/{backend}.json   every timed all-reduce of one backend


rule measure_products:
    input:
        schema=project("rules/schemas/matmul.schema.json"),
    output:
        result="<results>/matmul/{backend}.json",
    log:
        "<results>/logs/matmul/{backend}.log",
    priority: 1  # every experiment's tables need the peaks
    conda:
        lambda wildcards: environment(wildcards.backend)
    threads: lambda wildcards: workflow.cores
    resources:
        machine=100,
        gpu=lambda wildcards: gpus(PRODUCTS[wildcards.backend]),
    params:
        code=lambda wildcards: code_of(
            "measure_products.py",
            f"paragone.microbenchmarks.products.{PRODUCTS[wildcards.backend]['engine']}",
        ),
        backend=lambda wildcards: json.dumps(PRODUCTS[wildcards.backend]),
        products=[",".join(map(str, shape)) for shape in config["matmul"]["products"]],
        squares=lambda wildcards: squares(config, PRODUCTS[wildcards.backend]),
        precisions=config["matmul"]["precisions"],
        repeats=config["matmul"]["repeats"],
    message:
        "Multiplying matrices on {wildcards.backend}"
    shell:
        r"""
        python {params.code[0]:q} \
            --backend {params.backend:q} \
            --products {params.products:q} \
            --squares {params.squares:q} \
            --precisions {params.precisions:q} \
            --repeats {params.repeats} \
            --threads {threads} \
            --output {output.result:q} \
            2>{log:q} | tee -a {log:q}
        """


rule measure_all_reduces:
    input:
        schema=project("rules/schemas/allreduce.schema.json"),
    output:
        result="<results>/allreduce/{backend}.json",
    log:
        "<results>/logs/allreduce/{backend}.log",
    conda:
        lambda wildcards: environment(wildcards.backend)
    threads: lambda wildcards: workflow.cores
    resources:
        machine=100,
        gpu=lambda wildcards: gpus(
            ALL_REDUCES[wildcards.backend]["backend"],
            max(ALL_REDUCES[wildcards.backend]["replicas"]),
        ),
    params:
        code=lambda wildcards: code_of(
            "measure_all_reduces.py",
            f"paragone.microbenchmarks.all_reduces.{ALL_REDUCES[wildcards.backend]['backend']['engine']}",
        ),
        backend=lambda wildcards: json.dumps(ALL_REDUCES[wildcards.backend]["backend"]),
        replicas=lambda wildcards: ALL_REDUCES[wildcards.backend]["replicas"],
        bytes=config["scaling"]["allreduce"]["bytes"],
        repeats=config["scaling"]["allreduce"]["repeats"],
    message:
        "Timing all-reduces of {wildcards.backend}"
    shell:
        r"""
        python {params.code[0]:q} \
            --backend {params.backend:q} \
            --replicas {params.replicas} \
            --bytes {params.bytes} \
            --repeats {params.repeats} \
            --threads {threads} \
            --output {output.result:q} \
            2>{log:q} | tee -a {log:q}
        """
