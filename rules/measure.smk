# Measurements beside training: matrix products.


rule measure_products:
    output:
        result="<results>/matmul/{backend}.json",
    log:
        "<results>/logs/matmul/{backend}.log",
    priority: lambda wildcards: -PLAN.turns[wildcards.backend]
    conda:
        lambda wildcards: PLAN.environment(wildcards.backend)
    threads: lambda wildcards: workflow.cores
    resources:
        machine=100,
        gpu=lambda wildcards: PLAN.products[wildcards.backend].gpus(),
    params:
        code=PLAN.code("measure_products.py", "measuring"),
        job=lambda wildcards: document(
            backend=PLAN.products[wildcards.backend],
            squares=PLAN.squares(wildcards.backend),
            **{key: config["matmul"][key] for key in ("products", "precisions", "repeats")},
        ),
        files=lambda wildcards, input, output, threads: files_with(input, output, threads=threads),
    message:
        "Multiplying matrices on {wildcards.backend}"
    shell:
        PROGRESS
