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
        code=lambda wildcards: PLAN.code_of_products(wildcards.backend),
        backend=lambda wildcards: PLAN.products[wildcards.backend].to_json(),
        products=json.dumps(config["matmul"]["products"]),
        squares=lambda wildcards: PLAN.squares(wildcards.backend),
        precisions=config["matmul"]["precisions"],
        repeats=config["matmul"]["repeats"],
    message:
        "Multiplying matrices on {wildcards.backend}"
    shell:
        r"""
        python {params.code[0]:q} \
            @<(printf '%s\n' --backend {params.backend:q}) \
            --products {params.products:q} \
            --squares {params.squares:q} \
            --precisions {params.precisions:q} \
            --repeats {params.repeats} \
            --threads {threads} \
            --output {output.result:q} \
            2>{log:q} | tee -a {log:q}
        """
